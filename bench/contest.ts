import { measureApart } from './apart.ts';
import type { Args } from './args.ts';
import { type Build, buildHere, buildOf, describeHere } from './build.ts';
import { type Compared, compare, NotComparable, type Side } from './compare.ts';
import { compareTable } from './compare-table.ts';
import { describeMachine, machine, textOf } from './machine.ts';
import { FEWEST_ROUNDS, intervalOf } from './spread.ts';

/** What came of one scenario. */
type Outcome = Compared | NotCompared;

interface NotCompared {
  readonly scenario: string;
  /** `notComparable`: the other build cannot be measured by it. `broken`: that it was not measured is a defect. */
  readonly kind: 'notComparable' | 'broken';
  readonly why: string;
}

/** Measures this folder and another commit by turns, and prints how they compare. Answers the exit code. @throws SetupError when there is no build */
export async function contest(args: Args, { ref, rounds }: NonNullable<Args['against']>): Promise<number> {
  const { extent, seed, scenarios } = args;
  // That one first: it may not exist.
  const former = await buildOf(ref);
  const builds: Readonly<Record<Side, Build>> = { former, current: await buildHere() };
  const described = describeHere();
  const say = (text: string): void => (args.json ? undefined : console.log(text));
  say(`${describeMachine(machine())}${extent === 'quick' ? ', QUICK: not to be quoted' : ''}`);
  for (const line of legend({ described, former: former.name, ref, rounds, seed })) say(line);
  const outcomes: Outcome[] = [];
  for (const scenario of scenarios) {
    const outcome = await outcomeOf(scenario.name, rounds, (side, nth) => {
      progress(`${scenario.name}: measurement ${nth + 1} of ${2 * rounds}, ${builds[side].name}`);
      return measureApart(scenario, { extent, seed, build: builds[side] });
    });
    progress('');
    outcomes.push(outcome);
    say(linesOf(outcome, former.name).join('\n'));
  }
  const results = outcomes.filter((one): one is Compared => !('kind' in one));
  const notCompared = outcomes.filter((one): one is NotCompared => 'kind' in one);
  if (args.json) {
    const setting = { machine: machine(), former: { ...former, ref }, current: { ...builds.current, described }, extent, seed, rounds };
    console.log(JSON.stringify({ ...setting, interval: intervalOf(rounds), results, notCompared }));
  }
  say(`\n${summary(results, notCompared)}`);
  const isWorse = results.some(({ rows }) => rows.some(({ verdict }) => verdict === 'worse'));
  return notCompared.some(({ kind }) => kind === 'broken') || (args.check && isWorse) ? 1 : 0;
}

async function outcomeOf(scenario: string, rounds: number, measure: Parameters<typeof compare>[1]): Promise<Outcome> {
  try {
    return { scenario, ...(await compare(rounds, measure)) };
  } catch (error) {
    if (error instanceof NotComparable) return { scenario, kind: 'notComparable', why: error.message };
    console.error(`bench: ${scenario} could not be measured: ${textOf(error)}`);
    return { scenario, kind: 'broken', why: textOf(error) };
  }
}

function linesOf(outcome: Outcome, former: string): readonly string[] {
  if (!('kind' in outcome)) return compareTable(outcome, former, 'this');
  const { scenario, kind, why } = outcome;
  return [
    '',
    `${scenario}  ${kind === 'notComparable' ? `not comparable: ${former} cannot be measured by it: ${why}` : 'could not be measured'}`,
  ];
}

interface Setting {
  readonly described: string;
  readonly former: string;
  readonly ref: string;
  readonly rounds: number;
  readonly seed: number;
}

function legend({ described, former, ref, rounds, seed }: Setting): readonly string[] {
  const { from, coverage } = intervalOf(rounds);
  const bounds = from === 1 ? 'smallest and largest' : `${from}. smallest and ${from}. largest`;
  return [
    `this is ${described}, against ${former}${former.startsWith(ref) ? '' : ` (${ref})`}; both compiled and started as in their images; seed ${seed}`,
    `[low, high] are the ${bounds} of ${rounds} rounds: ${(100 * coverage).toFixed(0)} % sure to hold the median; ratio is this / ${former}`,
    ...(rounds < FEWEST_ROUNDS ? [`fewer than ${FEWEST_ROUNDS} rounds decide nothing: no verdicts`] : []),
  ];
}

function summary(results: readonly Compared[], notCompared: readonly NotCompared[]): string {
  const verdicts = results.flatMap(({ rows }) => rows.map(({ verdict }) => verdict));
  const count = (wanted: string): number => verdicts.filter((verdict) => verdict === wanted).length;
  const counts = ['worse', 'better', 'same', 'too few', 'unknown'].filter((one) => count(one) > 0).map((one) => `${count(one)} ${one}`);
  return [...counts, ...notCompared.map(({ scenario }) => `${scenario} not compared`)].join(', ');
}

/** One line that the next one replaces, for who looks on. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\x1b[K`);
}
