import { describe, expect, test } from 'vitest';
import { HELP, parse, UsageError } from '../../demo/args.ts';

describe('the command line of the demo', () => {
  test('has a default for everything', () => {
    expect(parse([])).toEqual({
      seed: 1,
      act: null,
      keep: false,
      watch: false,
      json: false,
      deadlineMs: 20_000,
      dashboardBindAddr: null,
      inspect: null,
      debug: null,
    });
  });

  test('takes what it offers', () => {
    const argv = [
      '--seed',
      '7',
      '--act',
      '3',
      '--keep',
      '--json',
      '--deadline=2.5',
      '--dashboard-bind-addr',
      '0.0.0.0:8081',
      '--inspect',
      '0.0.0.0:8082',
      '--debug',
      '9229',
    ];
    expect(parse(argv)).toEqual({
      seed: 7,
      act: 3,
      keep: true,
      watch: false,
      json: true,
      deadlineMs: 2500,
      dashboardBindAddr: '0.0.0.0:8081',
      inspect: '0.0.0.0:8082',
      debug: 9229,
    });
  });

  test('stays up while it watches', () => {
    expect(parse(['--watch', '--json'])).toMatchObject({ watch: true, keep: true });
  });

  test.each(['--help', '-h'])('%s asks for help and nothing else', (flag) => {
    expect(parse([flag])).toBeNull();
  });

  test('names every option in its help', () => {
    for (const option of ['--seed', '--act', '--keep', '--watch', '--json', '--deadline', '--dashboard-bind-addr', '--debug', '--help'])
      expect(HELP).toContain(option);
  });

  test.each([
    [['--sed', '2'], '--sed'],
    [['extra'], 'extra'],
    [['--seed'], '--seed'],
    [['--seed', 'x'], '--seed'],
    [['--seed', '1.5'], '--seed'],
    [['--act', '5'], '--act'],
    [['--act', ''], '--act'],
    [['--deadline', '0'], '--deadline'],
    [['--deadline', 'soon'], '--deadline'],
    [['--debug', '0'], '--debug'],
    [['--debug', 'soon'], '--debug'],
    [['--json'], '--keep'],
  ])('refuses %j and names %s', (argv, named) => {
    expect(() => parse(argv)).toThrow(UsageError);
    expect(() => parse(argv)).toThrow(named);
  });
});
