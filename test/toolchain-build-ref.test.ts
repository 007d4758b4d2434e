import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { builtRef } from '../tools/build-ref.ts';
import { keptFolder } from '../tools/kept-folder.ts';
import { SetupError } from '../tools/setup-error.mjs';

const HOUR_MS = 3_600_000;

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'routedip-kept-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const kept = (key: string, make: (draft: string) => void | Promise<void>) => keptFolder({ parent, key, keptMs: HOUR_MS, make });
const writing = (text: string) => (draft: string) => writeFileSync(join(draft, 'text'), text);
const textIn = (folder: string) => readFileSync(join(folder, 'text'), 'utf8');

describe('a kept folder', () => {
  test('is made once for a key', async () => {
    await kept('a', writing('first'));
    expect(textIn(await kept('a', writing('second')))).toBe('first');
    expect(textIn(await kept('b', writing('other')))).toBe('other');
  });

  test('is not there at all when making it failed, and is made by the next one who asks', async () => {
    const failed = kept('a', (draft) => {
      writeFileSync(join(draft, 'text'), 'half');
      throw new Error('the disk is full');
    });
    await expect(failed).rejects.toThrow('the disk is full');
    expect(readdirSync(parent)).toEqual([]);
    expect(textIn(await kept('a', writing('whole')))).toBe('whole');
  });

  test('is one and whole when two make it at the same time', async () => {
    const begun = Promise.withResolvers<void>();
    const slow = kept('a', async (draft) => {
      await begun.promise;
      writeFileSync(join(draft, 'text'), 'slow');
    });
    const fast = await kept('a', writing('fast'));
    begun.resolve();
    expect(await slow).toBe(fast);
    expect(textIn(fast)).toBe('fast');
    expect(readdirSync(parent)).toEqual(['a']);
  });

  test('goes when nobody has asked for it for long, and so does what a killed run left', async () => {
    const old = [await kept('old', writing('')), await kept('used', writing('')), mkdtempSync(join(parent, 'draft-'))];
    for (const folder of old) utimesSync(folder, 0, 0);
    await kept('used', () => expect.unreachable());
    expect(old.map((folder) => existsSync(folder))).toEqual([false, true, false]);
    expect(readdirSync(parent)).toEqual(['used']);
  });
});

test.each(['no-such-ref', '--all', 'HEAD:package.json'])('the build of %s is refused: it is no commit', async (ref) => {
  const refused = builtRef(ref);
  await expect(refused).rejects.toBeInstanceOf(SetupError);
  await expect(refused).rejects.toThrow(`no commit "${ref}"`);
});
