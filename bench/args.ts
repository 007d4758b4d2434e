import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Scenario } from './scenario.ts';

export interface Args {
  readonly scenarios: readonly Scenario[];
  readonly json: boolean;
  readonly quick: boolean;
  readonly entry?: string;
  /** Exit 1 when a target is missed. */
  readonly check: boolean;
}

/** The command line cannot be followed: exit 2. */
export class UsageError extends Error {}

export const help = (scenarios: readonly Scenario[]): string => `Usage: npm run bench -- [options] [scenario...]

Measures the operator as a process of its own on real Redis, against the simulated Kubernetes and DigitalOcean APIs over HTTP.
Run it on a machine that does nothing else: the load before and after is printed with every scenario.

Scenarios (all of them unless some are named; a part of a name will do):
${scenarios.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n')}

  --json          one JSON object instead of the table
  --quick         fewer repetitions and shorter waits, to try the bench itself; its figures are not to be quoted
  --entry <file>  measure the operator of another entry point, e.g. node_modules/.bin/routedip-operator of an installed package
  --check         exit 1 when a target is missed
  --help          this text`;

/** Null when help was asked for. @throws UsageError */
export function parse(argv: readonly string[], scenarios: readonly Scenario[]): Args | null {
  const { values, positionals } = read(argv);
  if (values.help) return null;
  const chosen = positionals.map((part) => {
    const found = scenarios.filter(({ name }) => name.includes(part));
    if (found.length === 0) throw new UsageError(`there is no scenario "${part}": ${scenarios.map(({ name }) => name).join(', ')}`);
    return found;
  });
  const wanted = new Set(positionals.length === 0 ? scenarios : chosen.flat());
  const { json, quick, check, entry } = values;
  return {
    scenarios: scenarios.filter((one) => wanted.has(one)),
    json,
    quick,
    check,
    ...(entry !== undefined && { entry: resolve(entry) }),
  };
}

function read(argv: readonly string[]) {
  try {
    const flag = { type: 'boolean', default: false } as const;
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { json: flag, quick: flag, check: flag, help: flag, entry: { type: 'string' } },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
