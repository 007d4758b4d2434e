import type { Command } from 'commander';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ProbeOptions } from '../../../actors/ports/account-probe.ts';
import { parseCommandLine } from '../../../adapters/cli/options.ts';
import { addProbe } from '../../../adapters/cli/probe.ts';

/** What it is asked for, or what is said instead. */
function asked(...argv: readonly string[]): ProbeOptions | string {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const taken: ProbeOptions[] = [];
  const add = (program: Command) => addProbe(program, (options) => void taken.push(options));
  expect(parseCommandLine(['probe', ...argv], {}, '0.0.0', add)).toBeNull();
  return taken[0] ?? `${process.exitCode}: ${said.mock.calls.join()}`;
}

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

describe('routedip-operator probe', () => {
  test('only reads unless it is told otherwise', () => {
    expect(asked()).toEqual({ json: false, reads: 30, write: false, yes: false, state: 'routedip-probe.json', wait: 120_000 });
  });

  test('takes two Droplets and a zone to write', () => {
    const flags = [
      '--write',
      '--droplets',
      '12,34',
      '--zone',
      'example.com',
      '--firewall',
      'web',
      '--yes',
      '--wait',
      '30s',
      '--state',
      's',
    ];
    const options = { write: true, droplets: [12, 34], zone: 'example.com', firewall: 'web', yes: true, wait: 30_000, state: 's' };
    expect(asked(...flags)).toMatchObject(options);
  });

  test.each([
    { argv: ['--write'], says: 'needs --droplets and --zone' },
    { argv: ['--write', '--zone', 'x.example'], says: 'needs --droplets' },
    { argv: ['--droplets', '1,2'], says: 'no meaning without' },
    { argv: ['--write', '--droplets', '1,1', '--zone', 'x'], says: 'not the ids of two Droplets' },
    { argv: ['--write', '--droplets', '1', '--zone', 'x'], says: 'not the ids of two Droplets' },
    { argv: ['--write', '--droplets', '01,1', '--zone', 'x'], says: 'not the ids of two Droplets' },
    { argv: ['--write', '--droplets', '0,1', '--zone', 'x'], says: 'not the ids of two Droplets' },
    { argv: ['--write', '--droplets', '1,2,3', '--zone', 'x'], says: 'not the ids of two Droplets' },
    { argv: ['--reads', '0'], says: 'not a number from 1 to 150' },
    { argv: ['--reads', '151'], says: 'not a number from 1 to 150' },
    { argv: ['--wait', 'long'], says: 'is no duration' },
    { argv: ['--clean', 'f', '--write', '--droplets', '1,2', '--zone', 'x'], says: 'cannot be used with' },
    { argv: ['--token', 'x'], says: 'unknown option' },
  ])('ends with 2 for $argv', ({ argv, says }) => {
    expect(asked(...argv)).toMatch(/^2: /);
    expect(asked(...argv)).toContain(says);
  });
});
