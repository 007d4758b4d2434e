import { describe, expect, test } from 'vitest';
import { help, parse, UsageError } from '../../bench/args.ts';
import { nodeFlagsIn } from '../../bench/build.ts';
import type { Scenario } from '../../bench/scenario.ts';
import { SCENARIOS } from '../../bench/scenarios.ts';

const scenarios: readonly Scenario[] = ['latency', 'latency-lognormal', 'memory'].map((name) => ({
  name,
  about: '',
  of: 'process',
  isCompared: name !== 'memory',
  measure: () => Promise.reject(new Error('not run here')),
}));
const chosen = (...argv: readonly string[]) => parse(argv, scenarios)?.scenarios.map(({ name }) => name);

describe('the command line of the bench', () => {
  test('runs everything unless scenarios are named, and then in the usual order', () => {
    expect(chosen()).toEqual(['latency', 'latency-lognormal', 'memory']);
    expect(chosen('memory', 'lognormal')).toEqual(['latency-lognormal', 'memory']);
  });

  test('takes a part of a name for all that have it, and a whole name for that one', () => {
    expect(chosen('lat')).toEqual(['latency', 'latency-lognormal']);
    expect(chosen('latency')).toEqual(['latency']);
  });

  test('compares what fits into a quarter of an hour unless scenarios are named', () => {
    expect(chosen('--against', 'HEAD')).toEqual(['latency', 'latency-lognormal']);
    expect(chosen('--against', 'HEAD', 'memory')).toEqual(['memory']);
  });

  test('compares six rounds, or as many as are asked for, of less than is quoted otherwise', () => {
    expect(parse(['--against', 'v1'], scenarios)).toMatchObject({ against: { ref: 'v1', rounds: 6 }, extent: 'round', seed: 7 });
    expect(parse(['--against', 'v1', '--rounds', '10', '--seed=0'], scenarios)).toMatchObject({ against: { rounds: 10 }, seed: 0 });
    expect(parse(['--against', 'v1', '--quick'], scenarios)).toMatchObject({ against: { rounds: 2 }, extent: 'quick' });
    expect(parse([], scenarios)).toMatchObject({ extent: 'full', seed: 7 });
    expect(parse([], scenarios)).not.toHaveProperty('against');
  });

  test.each([
    [['speed'], 'no scenario "speed"'],
    [['--fast'], '--fast'],
    [['--rounds', '6'], '--rounds goes with --against'],
    [['--against', 'HEAD', '--rounds', '0'], '--rounds takes a whole number from 1'],
    [['--against', 'HEAD', '--rounds', '2.5'], '"2.5"'],
    [['--against', 'HEAD', '--rounds', 'many'], '"many"'],
    [['--seed=-1'], '--seed takes a whole number from 0'],
    [['--seed', '4294967296'], '"4294967296"'],
    [['--against', 'HEAD', '--entry', 'package.json'], '--entry'],
    [['--against'], '--against'],
    [['--entry', 'no/such/file.mjs'], 'no/such/file.mjs'],
  ])('refuses %j', (argv, why) => {
    expect(() => parse(argv, scenarios)).toThrow(UsageError);
    expect(() => parse(argv, scenarios)).toThrow(why);
  });

  test('explains itself within the width of a terminal window', () => {
    expect(parse(['--help', '--rounds', 'x'], scenarios)).toBeNull();
    const lines = help(SCENARIOS).split('\n');
    for (const { name } of SCENARIOS) expect(lines.filter((line) => line.includes(` ${name} `))).toHaveLength(1);
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });
});

describe('the options of Node', () => {
  test('are those between node and the script, of the last stage', () => {
    const stages =
      'FROM a AS demo\nENTRYPOINT ["node", "--demo", "demo/main.ts"]\nFROM b\n# as root\nENTRYPOINT ["node", "--one", "--two=2", "/app/x.mjs"]\nCMD ["run"]\n';
    expect(nodeFlagsIn(stages)).toEqual(['--one', '--two=2']);
    expect(nodeFlagsIn('ENTRYPOINT ["node", "x.mjs"]')).toEqual([]);
  });

  test.each(['FROM a', 'FROM a\nENTRYPOINT node x.mjs', 'ENTRYPOINT ["/bin/sh"]'])('cannot be told of %j', (text) => {
    expect(() => nodeFlagsIn(text)).toThrow();
  });
});
