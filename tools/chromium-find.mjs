import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraryPath, unpackPackages } from './debian-unpack.mjs';
import { onPath } from './on-path.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];
/** The shell without windows needs fewest libraries. The font is for machines that have none: without any, pages have no text. */
const PACKAGES = {
  what: 'a private Chromium',
  packages: [
    ['chromium-headless-shell', 'chromium-common', 'fonts-dejavu-core'],
    ['chromium', 'chromium-common', 'fonts-dejavu-core'],
  ],
  programs: ['usr/lib/chromium/chromium-headless-shell', 'usr/lib/chromium/headless_shell', 'usr/lib/chromium/chromium'],
};

/**
 * Writes the script that starts the copy with the libraries and fonts that came with it.
 * @param {string} folder
 * @param {string} program
 */
const launcher = (folder, program) => {
  const file = join(folder, 'run');
  const fonts = join(folder, 'fonts.conf');
  const cache = join(folder, 'font-cache');
  mkdirSync(cache, { recursive: true });
  writeFileSync(
    fonts,
    `<?xml version="1.0"?>\n<fontconfig><dir>/usr/share/fonts</dir><dir>${join(folder, 'usr/share/fonts')}</dir><cachedir>${cache}</cachedir></fontconfig>\n`,
  );
  const script = `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(folder)}' FONTCONFIG_FILE='${fonts}' exec '${program}' "$@"\n`;
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return file;
};

/** @param {string} folder */
const unpacked = (folder) => {
  const program = PACKAGES.programs.map((path) => join(folder, path)).find((file) => existsSync(file));
  return program === undefined ? null : launcher(folder, program);
};

/**
 * The command that starts a Chromium: CHROMIUM_PATH, the one on PATH, else a copy unpacked from this distribution's packages into
 * `.cache/chromium` (nothing is installed on the system).
 *
 * @param {{ root?: string }} [options]
 * @returns {string}
 * @throws SetupError when there is none; the message says what to do
 */
export const findChromium = ({ root = ROOT } = {}) => {
  const folder = join(root, '.cache/chromium');
  const present = process.env.CHROMIUM_PATH || COMMANDS.map(onPath).find((file) => file !== undefined) || unpacked(folder);
  if (present) return present;
  const refused = unpackPackages(folder, PACKAGES);
  const copy = refused === null ? unpacked(folder) : null;
  if (copy !== null) return copy;
  throw new SetupError(
    `No Chromium found, and the pages are tested in one: CHROMIUM_PATH is not set, none of ${COMMANDS.join(', ')} is on PATH, and ${refused}.\n` +
      '  Install one (Debian: apt-get install chromium) or set CHROMIUM_PATH, and run this again.',
  );
};
