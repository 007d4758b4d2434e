import { availableParallelism, cpus, loadavg } from 'node:os';
import { allocation } from './allocation.ts';
import { type Args, help, parse, UsageError } from './args.ts';
import { backoff } from './backoff.ts';
import { isReached } from './figures.ts';
import { hanging } from './hanging.ts';
import { idle } from './idle.ts';
import { latency, slowActions } from './latency.ts';
import { mass, massOfPools } from './mass.ts';
import { memory } from './memory.ts';
import type { Plan, Scenario } from './scenario.ts';
import { services } from './services.ts';
import { type Result, table } from './table.ts';
import { transitions } from './transitions.ts';
import { turns } from './turns.ts';

const SCENARIOS: readonly Scenario[] = [
  { name: 'transitions', about: 'events a second that the chart of an address takes', measure: transitions },
  { name: 'turns', about: 'turns a second of the durable runtime on Redis and BullMQ', measure: turns },
  { name: 'latency', about: 'failovers: to the assign, to the status, and what they cost in calls', measure: latency },
  { name: 'slow-actions', about: 'failovers whose actions take 5-10 s', measure: slowActions },
  { name: 'hanging', about: 'a failover while 50 provider calls hang', measure: hanging },
  { name: 'backoff', about: 'tries after refusals, and the CPU between them', measure: backoff },
  { name: 'idle', about: 'provider calls for 1000 addresses with which all is well', measure: idle },
  { name: 'mass', about: '500 addresses that lose their nodes at once, within the limit of a token', measure: mass },
  { name: 'mass-pools', about: 'the same in five pools', measure: massOfPools },
  { name: 'allocation', about: 'what the VIP allocator takes to choose 10,000 addresses', measure: allocation },
  { name: 'services', about: '10,000 Services of type LoadBalancer that want an address at once, and single ones', measure: services },
  { name: 'memory', about: 'resident memory: empty, and with 1000 nodes and 5000 pods', measure: memory },
];

async function main(argv: readonly string[]): Promise<number> {
  try {
    const args = parse(argv, SCENARIOS);
    if (args !== null) return await bench(args);
    console.log(help(SCENARIOS));
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`bench: ${error.message}\nTry --help.`);
    return 2;
  }
}

async function bench({ scenarios, json, check, ...plan }: Args): Promise<number> {
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.versions.node, ...plan };
  const say = (text: string): void => (json ? undefined : console.log(text));
  say(
    `${machine.cores} cores of ${machine.cpu}, Node ${machine.node}, Redis with its append-only file${plan.quick ? ', QUICK: not to be quoted' : ''}`,
  );
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
  if (json) console.log(JSON.stringify({ machine, results: results.map(judged), broken }));
  say(`\n${missed === 0 ? 'no target missed' : `${missed} targets missed`}`);
  return broken.length > 0 || (check && missed > 0) ? 1 : 0;
}

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

async function run({ name, measure }: Scenario, plan: Plan): Promise<Result> {
  const before = loadavg()[0] ?? 0;
  const startedAt = performance.now();
  const measured = await measure(plan);
  return { scenario: name, ...measured, seconds: (performance.now() - startedAt) / 1000, load: [before, loadavg()[0] ?? 0] };
}

const judged = (result: Result) => ({ ...result, figures: result.figures.map((figure) => ({ ...figure, reached: isReached(figure) })) });

process.exitCode = await main(process.argv.slice(2));
