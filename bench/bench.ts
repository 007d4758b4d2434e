import { loadavg } from 'node:os';
import { measureApart } from './apart.ts';
import type { Args } from './args.ts';
import { buildAt, buildHere } from './build.ts';
import { isReached } from './figures.ts';
import { describeMachine, machine, textOf } from './machine.ts';
import type { Plan, Scenario } from './scenario.ts';
import { type Result, table } from './table.ts';

/** Measures one build, each scenario once, and prints every figure with its target. Answers the exit code. */
export async function bench({ scenarios, json, check, entry, ...rest }: Args): Promise<number> {
  const plan: Plan = { ...rest, build: entry === undefined ? await buildHere() : buildAt(entry) };
  const say = (text: string): void => (json ? undefined : console.log(text));
  say(`${describeMachine(machine())}${plan.extent === 'quick' ? ', QUICK: not to be quoted' : ''}`);
  const results: Result[] = [];
  const broken: { scenario: string; error: string }[] = [];
  for (const scenario of scenarios) {
    try {
      const result = await run(scenario, plan);
      results.push(result);
      say(table([result]).join('\n'));
    } catch (error) {
      broken.push({ scenario: scenario.name, error: textOf(error) });
      console.error(`bench: ${scenario.name} could not be measured: ${textOf(error)}`);
    }
  }
  const missed = results.flatMap(({ figures }) => figures).filter((figure) => isReached(figure) === false).length;
  if (json) console.log(JSON.stringify({ machine: { ...machine(), ...plan }, results: results.map(judged), broken }));
  say(`\n${missed === 0 ? 'no target missed' : `${missed} targets missed`}`);
  return broken.length > 0 || (check && missed > 0) ? 1 : 0;
}

async function run(scenario: Scenario, plan: Plan): Promise<Result> {
  const before = loadavg()[0] ?? 0;
  const startedAt = performance.now();
  const measured = await measureApart(scenario, plan);
  return { scenario: scenario.name, ...measured, seconds: (performance.now() - startedAt) / 1000, load: [before, loadavg()[0] ?? 0] };
}

const judged = (result: Result) => ({ ...result, figures: result.figures.map((figure) => ({ ...figure, reached: isReached(figure) })) });
