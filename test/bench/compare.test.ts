import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { measureApart } from '../../bench/apart.ts';
import type { Build } from '../../bench/build.ts';
import { compare, NotComparable, orderOf, type Side } from '../../bench/compare.ts';
import { compareTable } from '../../bench/compare-table.ts';
import type { Figure } from '../../bench/figures.ts';
import type { Measured } from '../../bench/scenario.ts';
import { SCENARIOS } from '../../bench/scenarios.ts';
import { ROOT } from '../../tools/root.mjs';

const measured = (...figures: readonly Figure[]): Measured => ({ conditions: ['quiet'], figures });

describe('the order of a comparison', () => {
  test('gives each build one turn a round, and the first one of a round by turns', () => {
    expect(
      orderOf(4)
        .map((side) => (side === 'former' ? 'A' : 'B'))
        .join(''),
    ).toBe('ABBAABBA');
    expect(orderOf(3)).toHaveLength(6);
  });

  test('leaves no difference between equal builds on a machine that becomes slower all the time', async () => {
    const { rows } = await compare(6, async (_, nth) => measured({ what: 'x', value: 100 + nth, unit: 'ms' }));
    const [row] = rows;
    expect(row?.former.median).toBe(row?.current.median);
    expect(row?.verdict).toBe('same');
  });
});

describe('a comparison', () => {
  test('has a row for each figure, with the samples of each build in the order of the rounds', async () => {
    const asked: Side[] = [];
    const { rows, order, conditions } = await compare(6, async (side, nth) => {
      asked.push(side);
      const value = side === 'former' ? 100 + nth : 200 + nth;
      return measured({ what: 'time', value, unit: 'ms', target: { atMost: 1 } }, { what: 'rate', value, unit: '/s' });
    });
    expect(asked).toEqual(order);
    expect(conditions).toEqual(['quiet']);
    expect(rows.map(({ what, verdict }) => [what, verdict])).toEqual([
      ['time', 'worse'],
      ['rate', 'better'],
    ]);
    expect(rows[0]?.former.samples).toEqual([100, 103, 104, 107, 108, 111]);
    expect(rows[0]?.current.samples).toEqual([201, 202, 205, 206, 209, 210]);
    expect(rows[0]?.ratio).toBeCloseTo(205.5 / 105.5, 10);
  });

  test('keeps figures of the same name apart by their places', async () => {
    const { rows } = await compare(1, async () => measured({ what: 'p99', value: 1, unit: 'ms' }, { what: 'p99', value: 2, unit: 'ms' }));
    expect(rows.map(({ current }) => current.median)).toEqual([1, 2]);
  });

  test('fails when a round measured something else', async () => {
    const failed = compare(1, async (side) => measured({ what: side, value: 1, unit: 'ms' }));
    await expect(failed).rejects.toThrow('"current" was not measured in every round');
  });

  test('is impossible when the other build cannot be measured at all, and says why in a line', async () => {
    const failed = compare(6, async (side) => {
      if (side === 'former') throw new Error('it has no actors/vip/allocator.ts\n    at resolve');
      return measured();
    });
    await expect(failed).rejects.toThrow(NotComparable);
    await expect(failed).rejects.toThrow(/^it has no actors\/vip\/allocator\.ts$/);
  });

  test.each([1, 2, 5])('fails when measurement %d fails: that is no matter of the other build', async (broken) => {
    const failed = compare(6, async (_, nth) => {
      if (nth === broken) throw new Error('the operator ended');
      return measured();
    });
    await expect(failed).rejects.not.toThrow(NotComparable);
    await expect(failed).rejects.toThrow('the operator ended');
  });
});

test('the table is aligned, has units and fits into 120 columns', async () => {
  const compared = await compare(6, async (side, nth) => {
    const factor = side === 'former' ? 1 : 1.5;
    return measured(
      { what: 'NotReady accepted -> assign received, first one after the start of everything', value: factor * (40 + nth), unit: 'ms' },
      { what: 'a small one', value: factor * 0.01234, unit: 's' },
      { what: 'as many as ever', value: 500, unit: '', target: { exactly: 500 } },
      { what: 'nearly as many', value: side === 'former' ? 12_345 : 12_346, unit: '/s' },
    );
  });
  const lines = compareTable({ scenario: 'one', ...compared, seconds: 61.2, load: [0.1, 0.2] }, 'b95c4c727d', 'this');
  expect(lines).toEqual([
    '',
    'one  (6 rounds of each in 61 s, load 0.1 -> 0.2)',
    '    quiet',
    '                                                          ----- b95c4c727d -----  -------- this --------',
    '                                                          median     [low, high]  median     [low, high]   ratio',
    '  NotReady accepted -> assign received, first one',
    '    after the start of everything                     ms    45.5        [40, 51]    68.3      [61.5, 75]    1.50  worse',
    '  a small one                                         s    0.012  [0.012, 0.012]   0.019  [0.019, 0.019]    1.50  worse',
    '  as many as ever                                            500      [500, 500]     500      [500, 500]    1.00  same',
    '  nearly as many                                      /s   12345  [12345, 12345]   12346  [12346, 12346]  1.0001  better',
  ]);
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
});

describe('two builds whose modules are measured', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'routedip-bench-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** An allocator that hands out numbers, and leaves its name in a file for each group that it is given. */
  function fakeBuild(name: string, modules: Readonly<Record<string, string>> = { 'actors/vip/allocator': ALLOCATOR }): Build {
    const sources = join(folder, name);
    const all = { 'machines/segment': 'export const parseGroup = (name, spec) => ({ name, spec });', ...modules };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(sources, path)), { recursive: true });
      writeFileSync(
        join(sources, `${path}.ts`),
        text.replace('LOG', JSON.stringify(join(folder, 'log'))).replace('NAME', JSON.stringify(name)),
      );
    }
    writeFileSync(join(sources, 'package.json'), '{"type":"module"}');
    return { name, sources, entry: join(sources, 'none.mjs'), nodeFlags: [] };
  }

  const ALLOCATOR = `
    import { appendFileSync } from 'node:fs';
    export class Allocator {
      last = 0;
      putGroup({ spec }) { appendFileSync(LOG, NAME + ' ' + spec.segment + '\\n'); }
      ask() { this.last += 1; }
      changed() { return [this.last]; }
      verdict() { return { kind: 'offered', address: String(this.last), group: 'bench' }; }
      take() {}
      figures() { return { allocated: BigInt(this.last) }; }
    }`;

  const allocation = SCENARIOS.find(({ name }) => name === 'allocation');
  const run = (rounds: number, builds: Readonly<Record<Side, Build>>) => {
    if (allocation === undefined) throw new Error('the scenario has another name');
    return compare(rounds, (side) => measureApart(allocation, { extent: 'quick', seed: 7, build: builds[side] }));
  };

  test('are each measured by their own modules, in processes of their own, by turns', async () => {
    const { rows } = await run(2, { former: fakeBuild('old'), current: fakeBuild('new') });
    const used = readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
    expect(used.filter((line) => line.includes('10.0.0.0/16')).map((line) => line.split(' ')[0])).toEqual(['old', 'new', 'new', 'old']);
    expect(rows).toHaveLength(6);
    for (const { former, current } of rows) {
      for (const value of [...former.samples, ...current.samples]) expect(value).toBeGreaterThanOrEqual(0);
      expect([former.samples.length, current.samples.length]).toEqual([2, 2]);
    }
  });

  test('are not compared when the other one has no such module, or one without what is asked of it', async () => {
    await expect(run(1, { former: fakeBuild('old', {}), current: fakeBuild('new') })).rejects.toThrow(
      new NotComparable('it has no actors/vip/allocator.ts'),
    );
    const other = fakeBuild('other', { 'actors/vip/allocator': 'export class Pool {}' });
    await expect(run(1, { former: other, current: fakeBuild('new') })).rejects.toThrow(/does not provide an export named 'Allocator'/);
  });
});

describe('the command', () => {
  const bench = (...args: readonly string[]) =>
    new Promise<{ code: number | null; stderr: string }>((resolve) => {
      const child = execFile(process.execPath, ['bench/main.ts', ...args], { cwd: ROOT }, (_, __, stderr) =>
        resolve({ code: child.exitCode, stderr }),
      );
    });

  test('ends with 2 and says so when there is no such commit, before it builds anything', async () => {
    const { code, stderr } = await bench('--against', 'no-such-commit', 'allocation');
    expect(stderr).toContain('bench: There is no commit "no-such-commit"');
    expect(stderr).not.toContain('setup:');
    expect(code).toBe(2);
  });

  test('ends with 2 on a command line that it cannot follow', async () => {
    const { code, stderr } = await bench('--rounds', '3');
    expect(stderr).toContain('--rounds goes with --against\nTry --help.');
    expect(code).toBe(2);
  });
});
