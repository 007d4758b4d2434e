import { seededRandom } from '../simulator/digitalocean/random.ts';
import { type DrillPlan, drill, type Failover, failOver } from './drill.ts';
import { distribution, type Figure } from './figures.ts';
import { cpuMs, residents } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, RAISED_FLAGS, RAISED_TEXT, type World } from './world.ts';

const WARM_UP = 20;
const EVERY_MS = { min: 50, max: 150 };
/** What 98 of 100 actions take, ms: half of them less than 1.9 s. */
const LOG_NORMAL = { p1: 600, p99: 6_000 };

/** From the failing node to the assign, and from the provider's last word to the status, for actions of up to a second. */
export async function latency(plan: Plan): Promise<Measured> {
  const failovers = { full: 500, round: 120, quick: 100 }[plan.extent];
  const world = await openWorld(plan, { actionMs: { min: 50, max: 1_000 } });
  try {
    await furnish(world, { addresses: 10, nodes: 25 });
    const cold = await failOver(world, holderOf(world));
    const { done, costs } = await costed(world, { failovers, everyMs: EVERY_MS, random: seededRandom(plan.seed) });
    return {
      conditions: [
        `${failovers} failovers of 10 addresses of one pool on 25 nodes, one every 50-150 ms, after ${WARM_UP} that do not count; actions of 50-1000 ms`,
        RAISED_TEXT,
      ],
      figures: [
        { what: 'NotReady accepted -> assign received, first one after the start', value: cold.receivedAt - cold.acceptedAt, unit: 'ms' },
        ...distribution('NotReady accepted -> assign received', done.map(reaction), { p50: 8, p99: 30 }),
        ...distribution('action finished -> active in status', done.map(telling), { p99: 300 }),
        ...distribution('action finished -> next read that shows it', done.map(noticing)),
        ...costs,
      ],
    };
  } finally {
    await world.close();
  }
}

/** The same for actions that take as long as those of a real provider: most of them two seconds, some of them very long. */
export async function latencyLogNormal(plan: Plan): Promise<Measured> {
  const failovers = { full: 300, round: 80, quick: 20 }[plan.extent];
  const world = await openWorld(plan, { actionMs: LOG_NORMAL });
  try {
    // Some 25 are under way at a time; the others wait for their turn.
    await furnish(world, { addresses: 60, nodes: 130 });
    const { done, costs } = await costed(world, { failovers, everyMs: EVERY_MS, random: seededRandom(plan.seed) });
    return {
      conditions: [
        `${failovers} failovers of 60 addresses of one pool on 130 nodes, one every 50-150 ms, after ${WARM_UP} that do not count`,
        `actions take log-normal time: 1 % less than 0.6 s, half of them less than 1.9 s, 1 % more than 6 s; seed ${plan.seed}`,
        RAISED_TEXT,
      ],
      figures: [
        ...distribution('NotReady accepted -> assign received', done.map(reaction)),
        ...distribution('action finished -> active in status', done.map(telling)),
        ...distribution('NotReady accepted -> active, action included', done.map(whole)),
        ...costs,
      ],
    };
  } finally {
    await world.close();
  }
}

/** The same for actions that take as long as a busy provider's. */
export async function slowActions(plan: Plan): Promise<Measured> {
  const world = await openWorld(plan, { actionMs: { min: 5_000, max: 10_000 } });
  try {
    await furnish(world, { addresses: 20, nodes: 45 });
    const done = await drill(world, { failovers: 20, everyMs: { min: 50, max: 50 }, random: seededRandom(plan.seed) });
    return {
      conditions: ['20 failovers of 20 addresses of one pool, one every 50 ms, all under way together; actions of 5-10 s', RAISED_TEXT],
      figures: [...distribution('action finished -> active in status', done.map(telling), { p99: 2_300 }), onceEach(done)],
    };
  } finally {
    await world.close();
  }
}

const reaction = ({ acceptedAt, receivedAt }: Failover): number => receivedAt - acceptedAt;
const noticing = ({ finishedAt, readAt }: Failover): number => readAt - finishedAt;
const telling = ({ finishedAt, activeAt }: Failover): number => activeAt - finishedAt;
const whole = ({ acceptedAt, activeAt }: Failover): number => activeAt - acceptedAt;

const onceEach = (done: readonly Failover[]): Figure => ({
  what: 'failovers with exactly one assign',
  value: done.filter(({ assigns }) => assigns === 1).length,
  unit: '',
  target: { exactly: done.length },
});

/** The failovers after those that do not count, with what they cost. */
async function costed(world: World, plan: DrillPlan): Promise<{ readonly done: readonly Failover[]; readonly costs: readonly Figure[] }> {
  const { pid } = world.operator;
  await drill(world, { ...plan, failovers: WARM_UP });
  const since = world.cloud.calls.all().at(-1)?.n ?? 0;
  const cpuBefore = cpuMs(pid);
  const done = await drill(world, plan);
  const cpu = cpuMs(pid) - cpuBefore;
  const calls = world.cloud.calls.select({ since });
  const writes = calls.filter(({ method }) => method !== 'GET').length;
  return {
    done,
    costs: [
      onceEach(done),
      { what: 'provider writes per failover', value: writes / done.length, unit: '', target: { exactly: 1 } },
      { what: 'provider reads per failover', value: (calls.length - writes) / done.length, unit: '' },
      { what: 'CPU of the operator per failover', value: cpu / done.length, unit: 'ms' },
      ...residents({ pid, redisPid: world.redisPid }),
    ],
  };
}

/** One pool whose addresses are active on the first nodes, with the operator running. */
async function furnish(world: World, { addresses, nodes }: { readonly addresses: number; readonly nodes: number }): Promise<void> {
  const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  for (const name of names) {
    world.addNode(name, { labels: { pool: 'work' } });
    world.addPod(`ingress-${name}`, { node: name, labels: { app: 'ingress' } });
  }
  const ips = world.addresses(addresses, names);
  world.pool('ingress', { ips: [...ips], match: { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' } });
  await world.start(RAISED_FLAGS);
  await world.until('all addresses are active', () => world.statuses.active().length === addresses);
}

function holderOf({ statuses }: World): { readonly address: string; readonly node: string } {
  const [first] = statuses.active();
  if (first === undefined) throw new Error('no address is active');
  return first;
}
