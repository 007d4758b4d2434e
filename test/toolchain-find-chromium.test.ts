import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { findChromium } from '../tools/chromium-find.mjs';

let root: string;
let bin: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'routedip-chromium-'));
  bin = join(root, 'bin');
  mkdirSync(bin);
  // Only what a test puts there: the machine's own browser and apt must not decide.
  vi.stubEnv('PATH', bin);
  vi.stubEnv('CHROMIUM_PATH', undefined);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const command = (file: string, script = 'exit 0'): string => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
};

describe('the Chromium that pages are tested in', () => {
  test('is the one that was asked for, else the one on PATH', () => {
    const onPath = command(join(bin, 'chromium'));
    expect(findChromium({ root })).toBe(onPath);
    vi.stubEnv('CHROMIUM_PATH', '/opt/browser');
    expect(findChromium({ root })).toBe('/opt/browser');
  });

  test('is else the private copy, started with the libraries and fonts that came with it', () => {
    const folder = join(root, '.cache/chromium');
    command(join(folder, 'usr/lib/chromium/chromium-headless-shell'), 'echo "$LD_LIBRARY_PATH|$FONTCONFIG_FILE|$1"');
    const libraries = join(folder, 'usr/lib/x86_64-linux-gnu');
    mkdirSync(libraries);
    writeFileSync(join(libraries, 'libnss3.so'), '');
    const said = execFileSync(findChromium({ root }), ['--version'], { encoding: 'utf8' });
    expect(said.trim()).toBe(`${libraries}|${join(folder, 'fonts.conf')}|--version`);
  });

  test('is asked for in one message when there is none', () => {
    expect(() => findChromium({ root })).toThrow(
      /none of chromium, .* is on PATH, and this is not a Debian[\s\S]*apt-get install chromium/,
    );
  });
});
