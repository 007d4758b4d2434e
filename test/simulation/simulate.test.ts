import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { Run } from '../../tools/simulate-run.ts';
import { TOPICS } from './generate.ts';

const TOOL = join(import.meta.dirname, '../../tools/simulate.ts');
const folder = mkdtempSync(join(tmpdir(), 'simulate-'));
afterAll(() => rmSync(folder, { recursive: true }));

const simulate = (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [TOOL, ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

describe('npm run simulate', () => {
  test('says what it can be asked for, and what histories may be about', async () => {
    const { code, stdout } = await simulate('--help');
    expect([code, stdout]).toEqual([0, expect.stringContaining('--domains WORDS  pools,names,routedips,services,virtualips')]);
    expect(TOPICS).toEqual(['pools', 'names', 'routed', 'vips', 'virtualIPs']);
  });

  test.each([
    ['--histories', 'many'],
    ['--histories', '0'],
    ['--workers', '-1'],
    ['--seed', '1e99'],
    ['--domains', 'pools,castles'],
    ['--colour', 'red'],
    ['--out', TOOL],
  ])('is not asked for %s %s', async (...args) => {
    const { code, stdout, stderr } = await simulate(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Try --help.');
  });

  test('plays the same histories, whoever plays them', async () => {
    const play = async (workers: number): Promise<string> => {
      const { code, stdout } = await simulate('--histories', '6', '--seed', '4', '--workers', `${workers}`, '--domains', 'names');
      expect(code).toBe(0);
      return /;(?<figures> .*)/.exec(stdout)?.groups?.figures ?? '';
    };
    const alone = await play(1);
    expect(alone).toMatch(/^ \d+ \(at most \d+\) steps and \d+ \(at most \d+\) faults in the middle one$/);
    expect(await play(2)).toBe(alone);
  });

  test('plays histories with an attacker when it is asked for them', async () => {
    const { code, stdout } = await simulate('--hostile', '--histories', '3', '--seed', '4', '--workers', '1', '--domains', 'names');
    expect([code, stdout]).toEqual([0, expect.stringContaining('about names, with an attacker')]);
  });
});

describe('a run', () => {
  const workerOf = (name: string, source: string): string => {
    const file = join(folder, `${name}.mjs`);
    writeFileSync(
      file,
      `import { writeFileSync } from 'node:fs';\nimport { parentPort, workerData } from 'node:worker_threads';\nconst tell = (what) => parentPort.postMessage(what);\n${source}`,
    );
    return file;
  };
  const out = join(folder, 'known.json');
  const args = { seed: 1, first: 0, workers: 2, topics: [], out, hangsAfterMs: 60_000, print: () => {} };

  test('writes down what broke a rule, one after the other', async () => {
    const worker = workerOf(
      'breaks',
      `for (let number = workerData.from; number < workerData.count; number += workerData.step) {
         tell({ kind: 'begins', number, history: { number } });
         tell({ kind: 'played', number, steps: 3, faults: 1 });
         if (number % 2 === 1) tell({ kind: 'broken', number, broken: ['spaced: too soon'], history: { number } });
       }`,
    );
    const run = new Run({ ...args, histories: 4, worker });
    await run.play();
    expect(run.found.map(({ number }) => number)).toEqual([1, 3]);
    expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual([1, 3].map((number) => ({ name: 'spaced: too soon', history: { number } })));
    expect([run.progress(), run.figures()]).toEqual([
      expect.stringContaining('seed 1: 4 of 4 histories, 2 broken'),
      '3 (at most 3) steps and 1 (at most 1) faults in the middle one',
    ]);
  });

  test('names a history that hangs, and goes on with the next one', async () => {
    const worker = workerOf(
      'hangs',
      `for (let number = workerData.from; number < workerData.count; number += workerData.step) {
         tell({ kind: 'begins', number, history: { number } });
         if (number === 2) for (;;);
         tell({ kind: 'played', number, steps: 1, faults: 0 });
       }`,
    );
    const run = new Run({ ...args, histories: 5, worker, workers: 1, out: null, hangsAfterMs: 1_000 });
    await run.play();
    expect(run.found).toEqual([{ number: 2, history: { number: 2 }, broken: ['hangs: it goes on for more than 1 s'] }]);
    expect(run.progress()).toContain('4 of 5 histories, 1 broken');
  });

  test('names a history that ends its thread, and goes on with the next one', async () => {
    const gone = join(folder, 'gone');
    const worker = workerOf(
      'throws',
      `process.on('exit', () => writeFileSync(${JSON.stringify(gone)}, ''));
       for (let number = workerData.from; number < workerData.count; number += workerData.step) {
         tell({ kind: 'begins', number, history: { number } });
         if (number === 2) Promise.reject(new Error('nobody waits for this'));
         await new Promise((resolve) => setImmediate(resolve));
         tell({ kind: 'played', number, steps: 1, faults: 0 });
       }`,
    );
    const run = new Run({ ...args, histories: 5, worker, workers: 1, out: null });
    // The error overtakes all messages when both are waiting.
    process.once('worker', (thread) => {
      thread.once('online', () => {
        while (!existsSync(gone));
      });
    });
    await run.play();
    const broken = [expect.stringMatching(/^ends its thread: Error: nobody waits for this\n/)];
    expect(run.found).toEqual([{ number: 2, history: { number: 2 }, broken }]);
    expect(run.progress()).toContain('4 of 5 histories, 1 broken');
  });

  test('ends when no thread can begin', async () => {
    const worker = workerOf('absent', `throw new Error('cannot begin');`);
    await expect(new Run({ ...args, histories: 5, worker }).play()).rejects.toThrow('cannot begin');
  });

  test('ends at once when it is told to', async () => {
    const worker = workerOf('waits', 'tell({ kind: "begins", number: 0, history: {} }); setInterval(() => {}, 1_000);');
    const run = new Run({ ...args, histories: 5, worker });
    const played = run.play();
    await run.end();
    await played;
    expect(run.progress()).toContain('0 of 5 histories, 0 broken');
  });
});
