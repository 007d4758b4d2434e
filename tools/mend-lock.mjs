// npm leaves optional packages of other platforms out of the lock when the registry that served the install lacks them, and `npm ci` then
// refuses the lock on every machine. This adds an entry for each, so that npm knows of them and passes over those not for its platform.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './root.mjs';

/**
 * @typedef {{ version?: string, resolved?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean,
 *   os?: string[], cpu?: string[], libc?: string[], optionalDependencies?: Record<string, string> }} LockEntry
 * @typedef {{ packages: Record<string, LockEntry> }} Lock
 */

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];
/** @type {Readonly<Record<string, string>>} */
const LIBRARIES = { musl: 'musl', musleabihf: 'musl', gnu: 'glibc', gnueabihf: 'glibc' };

/**
 * The platform that a package's name tells, e.g. @biomejs/cli-linux-arm64-musl.
 * @param {string} name
 */
const platformOf = (name) => {
  const words = name.split(/[-/]/);
  const os = SYSTEMS.filter((each) => words.includes(each));
  const cpu = PROCESSORS.filter((each) => words.includes(each));
  const libc = words.flatMap((word) => LIBRARIES[word] ?? []);
  const some = (/** @type {string[]} */ found) => (found.length > 0 ? found : undefined);
  return { os: some(os), cpu: some(cpu), libc: some(libc) };
};

/**
 * Whether `name`, needed by the package at `path`, has an entry: beside it or in a folder above, as Node resolves it.
 * @param {Lock} lock
 * @param {string} path
 * @param {string} name
 */
const isResolved = (lock, path, name) => {
  for (let folder = path; ; folder = folder.slice(0, folder.lastIndexOf('node_modules/')).replace(/\/$/, '')) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (!folder.includes('node_modules/')) return lock.packages[`node_modules/${name}`] !== undefined;
  }
};

/**
 * @param {string} name
 * @param {string} version
 * @param {LockEntry} parent The package that wants it.
 * @returns {LockEntry}
 * @throws Error when the name tells no platform, or the version is a range: neither can be known from here
 */
const stub = (name, version, { dev, devOptional }) => {
  const platform = platformOf(name);
  if (!/^\d+\.\d+\.\d+/.test(version))
    throw new Error(`${name} is wanted as ${version}, not one version: run npm install where the registry serves it`);
  if (platform.os === undefined && platform.cpu === undefined) throw new Error(`the name ${name} tells no platform`);
  const { os, cpu, libc } = platform;
  // The order in which npm itself writes the fields, so that its next install changes nothing here.
  const fields = { version, cpu, dev, devOptional, libc, optional: true, os };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
};

/**
 * The entries that the lock lacks, by path.
 * @param {Lock} lock
 * @returns {Record<string, LockEntry>}
 */
export const missingEntries = (lock) => {
  const wanted = Object.entries(lock.packages).flatMap(([path, parent]) =>
    Object.entries(parent.optionalDependencies ?? {}).map(([name, version]) => ({ path, parent, name, version })),
  );
  const lacking = wanted.filter(({ path, name }) => !isResolved(lock, path, name));
  return Object.fromEntries(lacking.map(({ parent, name, version }) => [`node_modules/${name}`, stub(name, version, parent)]));
};

/**
 * The entries that name a registry: the lock must work with any.
 * @param {Lock} lock
 */
export const registryAddresses = (lock) =>
  Object.entries(lock.packages)
    .filter(([, { resolved }]) => resolved !== undefined && /^(https?|git)/.test(resolved))
    .map(([path]) => path);

/**
 * The lock with its missing entries, in npm's own order.
 * @param {Lock} lock
 * @returns {Lock}
 */
export const mended = (lock) => {
  const all = { ...lock.packages, ...missingEntries(lock) };
  const packages = Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b, 'en')));
  return { ...lock, packages };
};

const main = () => {
  const file = join(ROOT, 'package-lock.json');
  const text = readFileSync(file, 'utf8');
  /** @type {Lock} */
  const lock = JSON.parse(text);
  const addresses = registryAddresses(lock);
  if (addresses.length > 0)
    throw new Error(`the lock names a registry at ${addresses.join(', ')}: npm writes none with this project's .npmrc`);
  const missing = Object.keys(missingEntries(lock));
  if (missing.length === 0) return 0;
  if (process.argv.includes('--check')) {
    process.stderr.write(
      `package-lock.json lacks ${missing.length} optional packages of other platforms; node tools/mend-lock.mjs adds them:\n`,
    );
    for (const path of missing) process.stderr.write(`  ${path}\n`);
    return 1;
  }
  writeFileSync(file, `${JSON.stringify(mended(lock), null, 2)}\n`);
  process.stdout.write(`package-lock.json: ${missing.length} optional packages of other platforms added\n`);
  return 0;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main();
  } catch (error) {
    process.stderr.write(`mend-lock: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
