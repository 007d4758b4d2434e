import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Extent, Scenario } from './scenario.ts';
import { FEWEST_ROUNDS } from './spread.ts';

export interface Args {
  readonly scenarios: readonly Scenario[];
  readonly json: boolean;
  readonly extent: Extent;
  readonly seed: number;
  /** Another entry point than that of this folder. */
  readonly entry?: string;
  /** Exit 1 when a target is missed, or a row of a comparison is worse. */
  readonly check: boolean;
  /** The build to compare with, if any. */
  readonly against?: { readonly ref: string; readonly rounds: number };
}

/** The command line cannot be followed: exit 2. */
export class UsageError extends Error {}

const ROUNDS = FEWEST_ROUNDS;
const QUICK_ROUNDS = 2;
const SEED = 7;
const BIGGEST_SEED = 0xffff_ffff;

export const help = (scenarios: readonly Scenario[]): string => `Usage: npm run bench -- [options] [scenario...]

Measures the operator, compiled and started as in its image, on real Redis, against the simulated Kubernetes and
DigitalOcean APIs over HTTP. Run it on a machine that does nothing else: the load before and after is printed with
every scenario.

Scenarios (all unless some are named; a part of a name selects all that contain it):
${scenarios.map(({ name, about, isCompared }) => `${isCompared ? '*' : ' '} ${name.padEnd(19)}${about}`).join('\n')}
* the default with --against

  --against <ref>  compare this folder, uncommitted changes included, with another commit
  --rounds <n>     with --against: how often each build is measured; ${ROUNDS} by default, ${QUICK_ROUNDS} with --quick
  --seed <n>       for everything random: which node fails when, how long provider actions take; ${SEED} by default
  --json           one JSON object instead of the table; with --against it holds every sample
  --quick          fewer repetitions and shorter waits, to try the bench itself; do not quote its figures
  --entry <file>   measure another entry point, e.g. node_modules/.bin/routedip-operator of an installed package
  --check          exit 1 when a target is missed or, with --against, when a row is worse
  --help           this text

How --against compares:
  Builds    The commit is checked out below .cache/, installed from its own lock file and compiled, once. Both builds
            run under the same Node with the options of their own image. The scenarios and the simulators are
            always this folder's. A scenario that the commit cannot run is reported as not comparable.
  Order     Each round measures both builds, in alternating order (A B, B A, A B, ...), each time in new processes
            and with the same seed. A machine that slows down or speeds up affects both alike. A round is shorter
            than a run without --against: quote absolute figures of those, and ratios of a comparison.
  Interval  [low, high] is a distribution-free confidence interval of the median, from order statistics: at least
            95 % from ${FEWEST_ROUNDS} rounds on. With ${FEWEST_ROUNDS} to 8 rounds it is the smallest and the largest sample; from 9 on it
            leaves out the outermost samples, so that a single outlier decides nothing.
  Verdict   "worse" or "better" only when the two intervals do not overlap, else "same". Of 1000 rows that compare
            a build with itself in ${FEWEST_ROUNDS} rounds, 2 get a wrong verdict by chance. Fewer than ${FEWEST_ROUNDS} rounds get none. The
            verdict does not say that a difference matters: its size is the ratio.

Exit code: 0 measured; 1 a scenario could not be measured, or --check found something; 2 wrong command line, no such
commit, or a build that fails.`;

/** Null when help was asked for. @throws UsageError */
export function parse(argv: readonly string[], scenarios: readonly Scenario[]): Args | null {
  const { values, positionals } = read(argv);
  if (values.help) return null;
  const { json, quick, check, entry, against } = values;
  if (against === undefined && values.rounds !== undefined) throw new UsageError('--rounds goes with --against');
  if (against !== undefined && entry !== undefined) throw new UsageError('--against compares with this folder: --entry has no place there');
  if (entry !== undefined && !existsSync(entry)) throw new UsageError(`there is no file ${entry}`);
  const chosen = chosenOf(positionals, scenarios);
  const usual = scenarios.filter(({ isCompared }) => against === undefined || isCompared);
  return {
    scenarios: positionals.length === 0 ? usual : scenarios.filter((one) => chosen.has(one)),
    json,
    check,
    extent: quick ? 'quick' : against === undefined ? 'full' : 'round',
    seed: numberOf('--seed', values.seed, { atLeast: 0, atMost: BIGGEST_SEED }) ?? SEED,
    ...(entry !== undefined && { entry: resolve(entry) }),
    ...(against !== undefined && { against: { ref: against, rounds: roundsOf(values.rounds, quick) } }),
  };
}

const roundsOf = (text: string | undefined, quick: boolean): number =>
  numberOf('--rounds', text, { atLeast: 1, atMost: 1_000 }) ?? (quick ? QUICK_ROUNDS : ROUNDS);

/** The scenario of that name, else all that have it in their name. */
function chosenOf(words: readonly string[], scenarios: readonly Scenario[]): ReadonlySet<Scenario> {
  const found = words.map((word) => {
    const exact = scenarios.filter(({ name }) => name === word);
    const matching = exact.length > 0 ? exact : scenarios.filter(({ name }) => name.includes(word));
    if (matching.length === 0) throw new UsageError(`there is no scenario "${word}": ${scenarios.map(({ name }) => name).join(', ')}`);
    return matching;
  });
  return new Set(found.flat());
}

function numberOf(option: string, text: string | undefined, { atLeast, atMost }: { readonly atLeast: number; readonly atMost: number }) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= atLeast && value <= atMost) return value;
  throw new UsageError(`${option} takes a whole number from ${atLeast} to ${atMost}, not "${text}"`);
}

function read(argv: readonly string[]) {
  try {
    const flag = { type: 'boolean', default: false } as const;
    const word = { type: 'string' } as const;
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { json: flag, quick: flag, check: flag, help: flag, entry: word, against: word, rounds: word, seed: word },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
