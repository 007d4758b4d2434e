import { type Failover, failOver, isAssign } from './drill.ts';
import { quantile } from './figures.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, RAISED_FLAGS, RAISED_TEXT, type World } from './world.ts';

const HANGING = 50;
const HANG_MS = 20_000;

/** Whether addresses whose provider calls hang are in the way of another one, of the same pool. */
export async function hanging(plan: Plan): Promise<Measured> {
  const usualCount = { full: 100, round: 30, quick: 10 }[plan.extent];
  const world = await openWorld(plan, { actionMs: 50 });
  try {
    const nodes = Array.from({ length: 2 * HANGING + 10 }, (_, index) => `node-${index + 1}`);
    for (const node of nodes) world.addNode(node, { labels: { pool: 'work' } });
    const [watched = '', ...others] = world.addresses(HANGING + 1, nodes);
    world.pool('ingress', { ips: [watched, ...others], match: { nodeLabel: 'pool=work' } });
    await world.start(RAISED_FLAGS);
    await world.until('all addresses are active', () => world.statuses.active().length === HANGING + 1);
    await repeat(world, watched, 5);
    const usual = await repeat(world, watched, usualCount);
    const since = world.cloud.calls.all().at(-1)?.n ?? 0;
    // Paths of the others only, so that the watched one stays as it was.
    world.cloud.faults.add({ kind: 'hang', ms: HANG_MS, match: { method: 'POST', path: `/(${others.join('|')})/actions$` } });
    for (const address of others) world.setReady(world.statuses.of(address)?.node ?? '', false);
    const hangingNow = () =>
      world.cloud.calls.select({ since, writes: true }).filter((call) => isAssign(call) && call.outcome === null).length;
    await world.until(`${HANGING} assigns hang`, () => hangingNow() === HANGING, 14_000);
    const during = await repeat(world, watched, usualCount, () => hangingNow() === HANGING);
    const usualP99 = quantile(usual.map(reaction), 0.99);
    const usualWhole = quantile(usual.map(whole), 0.99);
    return {
      conditions: [
        `${HANGING + 1} addresses of one pool; ${HANGING} of them wait for an assign that hangs ${HANG_MS / 1000} s (the operator gives up after its 15 s); the other one fails over again and again; actions of 50 ms`,
        RAISED_TEXT,
      ],
      figures: [
        { what: 'NotReady accepted -> assign received, usual p99', value: usualP99, unit: 'ms' },
        {
          what: `the same with ${HANGING} hanging, first one`,
          value: during.slice(0, 1).map(reaction)[0] ?? Number.NaN,
          unit: 'ms',
          target: { atMost: 2 * usualP99 },
        },
        {
          what: `the same with ${HANGING} hanging, p99`,
          value: quantile(during.map(reaction), 0.99),
          unit: 'ms',
          target: { atMost: 2 * usualP99 },
        },
        { what: 'NotReady accepted -> active in status, usual p99', value: usualWhole, unit: 'ms' },
        {
          what: `to active with ${HANGING} hanging, p99`,
          value: quantile(during.map(whole), 0.99),
          unit: 'ms',
          target: { atMost: 2 * usualWhole },
        },
        { what: 'failovers measured while all hung', value: during.length, unit: '', target: { atLeast: 1 } },
      ],
    };
  } finally {
    await world.close();
  }
}

const reaction = ({ acceptedAt, receivedAt }: Failover): number => receivedAt - acceptedAt;
const whole = ({ acceptedAt, activeAt }: Failover): number => activeAt - acceptedAt;

/** Failovers of one address, one after another, at most `count`, as long as `valid` holds from beginning to end. */
async function repeat(world: World, address: string, count: number, valid: () => boolean = () => true): Promise<readonly Failover[]> {
  const done: Failover[] = [];
  while (done.length < count) {
    const node = world.statuses.of(address)?.node ?? '';
    const failover = await failOver(world, { address, node });
    if (!valid()) break;
    done.push(failover);
  }
  return done;
}
