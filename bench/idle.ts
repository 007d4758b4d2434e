import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, RAISED_TEXT } from './world.ts';

const POOLS = 10;
const PER_POOL = 100;
/** So many times faster than by default everything that happens by the clock happens. */
const HASTE = 20;
const VERIFY_S = 300 / HASTE;
const RESYNC_S = 60 / HASTE;

/** What it costs to look after addresses with which all is well. */
export async function idle(plan: Plan): Promise<Measured> {
  const rounds = plan.extent === 'full' ? 3 : 1;
  const world = await openWorld(plan);
  try {
    for (let pool = 0; pool < POOLS; pool += 1) {
      const nodes = Array.from({ length: PER_POOL }, (_, index) => `node-${pool}-${index}`);
      for (const node of nodes) world.addNode(node, { labels: { pool: `p${pool}` } });
      world.pool(`pool-${pool}`, { ips: [...world.addresses(PER_POOL, nodes)], match: { nodeLabel: `pool=p${pool}` } });
    }
    const { pid } = await world.start([`--verify-interval=${VERIFY_S}s`, `--resync-interval=${RESYNC_S}s`]);
    await world.until('all addresses are active', () => world.statuses.active().length === POOLS * PER_POOL, 120_000);
    // The verification of the start is over, and the pools have settled.
    await sleep(VERIFY_S * 1000);
    const since = world.cloud.calls.all().at(-1)?.n ?? 0;
    const before = cpuMs(pid);
    await sleep(rounds * VERIFY_S * 1000);
    const calls = world.cloud.calls.select({ since });
    const cpu = (cpuMs(pid) - before) / (rounds * VERIFY_S * 1000);
    return {
      conditions: [
        `${POOLS * PER_POOL} addresses in ${POOLS} pools, each on its node; verification every ${VERIFY_S} s and resync every ${RESYNC_S} s instead of 300 and 60 s: ${rounds} times what happens in 5 minutes`,
        RAISED_TEXT.replace(' and for the operator', '; the operator keeps to 250 a minute'),
      ],
      figures: [
        { what: 'provider calls in 5 minutes', value: calls.length / rounds, unit: '', target: { atMost: 10 } },
        { what: 'writes among them', value: calls.filter(({ method }) => method !== 'GET').length, unit: '', target: { exactly: 0 } },
        { what: `CPU of the operator, of one core, everything ${HASTE} times as often`, value: cpu * 100, unit: '%' },
      ],
    };
  } finally {
    await world.close();
  }
}
