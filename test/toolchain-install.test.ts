import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { installDependencies, staleness } from '../tools/install.mjs';
import { mended, missingEntries, registryAddresses } from '../tools/mend-lock.mjs';

const LOCK = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
    'node_modules/for-another-platform': { version: '2.0.0', optional: true },
  },
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'routedip-install-'));
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(LOCK));
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const installed = (packages: object): void => {
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
};

/** An npm that does what `source` says. */
const npmThat = (source: string): void => {
  const file = join(root, 'npm-cli.js');
  writeFileSync(file, source);
  vi.stubEnv('npm_execpath', file);
  vi.stubEnv('npm_node_execpath', process.execPath);
};

describe('the dependencies', () => {
  test('are stale without node_modules, and with a package missing or of another version', () => {
    expect(staleness(root)).toBe('node_modules is missing');
    installed({});
    expect(staleness(root)).toBe('node_modules/a is missing');
    installed({ 'node_modules/a': { version: '1.0.0', integrity: 'sha512-b' } });
    expect(staleness(root)).toBe('node_modules/a is not the version of package-lock.json');
  });

  test('are complete without the packages for other platforms', () => {
    installed({ 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } });
    expect(staleness(root)).toBeNull();
  });

  test('are left alone when they are complete', () => {
    installed({ 'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' } });
    npmThat('process.exit(1)');
    expect(() => installDependencies(root)).not.toThrow();
  });

  test.each([
    ['npm error code ENOSPC: no space left on device, write', 'The disk is full'],
    ['npm error code EAI_AGAIN getaddrinfo', 'The network did not answer'],
    ['npm error code EACCES: permission denied, mkdir', 'The folder cannot be written'],
    ['npm error something else', 'npm ci by hand'],
  ])('that cannot be installed (%s) are told with npm’s words, the place and what to do', (words, advice) => {
    npmThat(`console.error(${JSON.stringify(words)}); process.exit(1)`);
    expect(() => installDependencies(root)).toThrow(words);
    expect(() => installDependencies(root)).toThrow(root);
    expect(() => installDependencies(root)).toThrow(advice);
  });

  test('that npm reports as installed while one is still missing are not taken for complete', () => {
    npmThat('process.exit(0)');
    expect(() => installDependencies(root)).toThrow('yet node_modules is missing');
  });
});

describe('the lock', () => {
  const lock = {
    packages: {
      '': {},
      'node_modules/tool': {
        dev: true,
        optionalDependencies: { '@tool/linux-x64': '3.1.0', '@tool/darwin-arm64': '3.1.0', '@tool/linux-arm64-musl': '3.1.0' },
      },
      'node_modules/@tool/linux-x64': { version: '3.1.0' },
    },
  };

  test('gets an entry for each optional package of another platform that npm left out, and then needs none', () => {
    expect(missingEntries(lock)).toEqual({
      'node_modules/@tool/darwin-arm64': { version: '3.1.0', cpu: ['arm64'], dev: true, optional: true, os: ['darwin'] },
      'node_modules/@tool/linux-arm64-musl': { version: '3.1.0', cpu: ['arm64'], dev: true, libc: ['musl'], optional: true, os: ['linux'] },
    });
    const once = mended(lock);
    expect(missingEntries(once)).toEqual({});
    expect(mended(once)).toEqual(once);
  });

  test('finds a package that is installed below the one that wants it', () => {
    const nested = {
      packages: {
        'node_modules/a/node_modules/b': { optionalDependencies: { 'c-linux-x64': '1.0.0' } },
        'node_modules/a/node_modules/c-linux-x64': {},
      },
    };
    expect(missingEntries(nested)).toEqual({});
  });

  test('is not mended by guessing', () => {
    expect(() => missingEntries({ packages: { a: { optionalDependencies: { 'b-linux-x64': '^1.0.0' } } } })).toThrow('not one version');
    expect(() => missingEntries({ packages: { a: { optionalDependencies: { 'b-extra': '1.0.0' } } } })).toThrow('tells no platform');
  });

  test('names no registry', () => {
    const named = {
      packages: { 'node_modules/a': { resolved: 'https://registry.example/a.tgz' }, 'node_modules/node24': { resolved: 'tools/node24' } },
    };
    expect(registryAddresses(named)).toEqual(['node_modules/a']);
  });
});
