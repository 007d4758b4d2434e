import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser of this machine, without anything that would reach out to the internet by itself.
 *  @throws Error that says what to install when there is none: the page is not shown to work without having been looked at */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

function chromiumPath(): string {
  const { CHROMIUM_PATH, PATH = '' } = process.env;
  const candidates = CHROMIUM_PATH ? [CHROMIUM_PATH] : PATH.split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = [...candidates, '/usr/bin/chromium'].find(isThere);
  if (!found) throw new Error('The page is tested in Chromium, and there is none: apt-get install chromium, or set CHROMIUM_PATH.');
  return found;
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
