import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../demo/time.ts';
import type { Call } from '../simulator/digitalocean/call-log.ts';
import { isAssign } from './drill.ts';
import { distribution, type Figure, quantile } from './figures.ts';
import { cpuMs, residents } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

const ADDRESSES = 500;
/** Assigns and their confirmations, in all. */
const CALLS = 600;
/** The limit of a token, and one at which a run takes seconds. */
const REAL = { perMinute: 250, perHour: 5_000 };
const SCALED = { perMinute: 2_500, perHour: 50_000 };
const LONGEST_MS = 600_000;

/** All nodes that hold an address of one pool fail at once, with as many spare ones. */
export const mass = (plan: Plan): Promise<Measured> => massFailure(plan, 1);

/** The same with the addresses in five pools, each with nodes of its own. */
export const massOfPools = (plan: Plan): Promise<Measured> => massFailure(plan, 5);

async function massFailure(plan: Plan, pools: number): Promise<Measured> {
  const rateLimit = plan.extent === 'full' ? REAL : SCALED;
  const world = await openWorld(plan, { rateLimit, actionMs: { min: 5_000, max: 10_000 } });
  try {
    const holders = furnish(world, pools);
    const { pid } = await world.start([`--rate-limit-per-minute=${rateLimit.perMinute}`, `--rate-limit-per-hour=${rateLimit.perHour}`]);
    await world.until('all addresses are active', () => world.statuses.active().length === ADDRESSES, 120_000);
    // What the start has cost is to count in no window any more.
    await sleep(plan.extent === 'full' ? 80_000 : 16_000);
    const since = world.cloud.calls.all().at(-1)?.n ?? 0;
    const cpuBefore = cpuMs(pid);
    const begunAt = now();
    for (const node of holders.values()) world.setReady(node, false);
    const acceptedMs = now() - begunAt;
    await world.until('all addresses are active elsewhere', () => moved(world, holders) === ADDRESSES, LONGEST_MS);
    const doneMs = now() - begunAt;
    const cpu = (cpuMs(pid) - cpuBefore) / doneMs;
    return {
      conditions: [
        `${ADDRESSES} addresses in ${pools} pool${pools === 1 ? '' : 's'}, each on its node, ${ADDRESSES} spare nodes; all holders fail within ${acceptedMs.toFixed(0)} ms; actions of 5-10 s`,
        `${rateLimit.perMinute} calls a minute and ${rateLimit.perHour} an hour at the simulator and for the operator, nothing of them used at the beginning`,
      ],
      figures: [
        ...figures(world.cloud.calls.select({ since }), { begunAt, doneMs, cpu, perMinute: rateLimit.perMinute, pools, holders }),
        ...residents({ pid, redisPid: world.redisPid }),
      ],
    };
  } finally {
    await world.close();
  }
}

/** Answers who holds each address. */
function furnish(world: World, pools: number): ReadonlyMap<string, string> {
  const each = ADDRESSES / pools;
  const holders = new Map<string, string>();
  for (let pool = 0; pool < pools; pool += 1) {
    const names = (kind: string) => Array.from({ length: each }, (_, index) => `${kind}-${pool}-${index}`);
    const [held, spare] = [names('node'), names('spare')];
    for (const node of [...held, ...spare]) world.addNode(node, { labels: { pool: `p${pool}` } });
    const ips = world.addresses(each, held);
    for (const [index, ip] of ips.entries()) holders.set(ip, held[index] ?? '');
    world.pool(`pool-${pool}`, { ips: [...ips], match: { nodeLabel: `pool=p${pool}` } });
  }
  return holders;
}

const moved = ({ statuses }: World, holders: ReadonlyMap<string, string>): number =>
  statuses.active().filter(({ address, node }) => node !== holders.get(address)).length;

interface Run {
  readonly begunAt: number;
  readonly doneMs: number;
  readonly cpu: number;
  readonly perMinute: number;
  readonly pools: number;
  readonly holders: ReadonlyMap<string, string>;
}

function figures(calls: readonly Call[], { begunAt, doneMs, cpu, perMinute, pools, holders }: Run): readonly Figure[] {
  const refused = calls.filter(({ status }) => status === 429);
  const assigns = calls.filter((call) => isAssign(call) && call.status !== 429);
  const reads = calls.filter(({ method, status }) => method === 'GET' && status !== 429);
  const lists = reads.filter(({ path }) => path.startsWith('/v2/reserved_ips?'));
  const idealMs = (CALLS / perMinute) * 60_000;
  const firsts = new Map<string, number>();
  for (const { path, at } of assigns) if (!firsts.has(addressOf(path))) firsts.set(addressOf(path), at - begunAt);
  return [
    { what: 'all addresses active on other nodes, after', value: doneMs / 1000, unit: 's', target: { atMost: (1.15 * idealMs) / 1000 } },
    {
      what: 'so many times what its calls need at that rate',
      value: doneMs / ((calls.length / perMinute) * 60_000),
      unit: '',
      target: { atMost: 1.15 },
    },
    { what: 'provider calls in all', value: calls.length, unit: '', target: { atMost: CALLS } },
    { what: 'assigns', value: assigns.length, unit: '', target: { exactly: ADDRESSES } },
    { what: 'addresses that were assigned more than once', value: assigns.length - firsts.size, unit: '', target: { exactly: 0 } },
    { what: 'pages of lists', value: lists.length, unit: '' },
    { what: 'other reads', value: reads.length - lists.length, unit: '' },
    { what: 'calls refused with 429', value: refused.length, unit: '', target: { exactly: 0 } },
    { what: 'NotReady of all -> 200th address assigned', value: quantile([...firsts.values()], 200 / ADDRESSES), unit: 'ms' },
    ...distribution('NotReady of all -> an address assigned', [...firsts.values()]),
    ...(pools > 1 ? [fairness(firsts, pools, holders)] : []),
    { what: 'CPU of the operator, of one core', value: cpu * 100, unit: '%' },
  ];
}

const addressOf = (path: string): string => path.split('/')[3] ?? '';

/** When half of all addresses were assigned: how many of the pool that was served least. */
function fairness(firsts: ReadonlyMap<string, number>, pools: number, holders: ReadonlyMap<string, string>): Figure {
  const half = [...firsts].toSorted(([, a], [, b]) => a - b).slice(0, ADDRESSES / 2);
  const served = Array.from({ length: pools }, (_, pool) => half.filter(([ip]) => holders.get(ip)?.startsWith(`node-${pool}-`)).length);
  return {
    what: `of the first ${ADDRESSES / 2} assigns, those of the pool served least (even: ${ADDRESSES / 2 / pools})`,
    value: Math.min(...served),
    unit: '',
    better: 'more',
  };
}
