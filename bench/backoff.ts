import { setTimeout as sleep } from 'node:timers/promises';
import { isAssign } from './drill.ts';
import { cpuMs } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld } from './world.ts';

/** What the table of fast retries says of the first waits, ms. */
const TABLE = [1_000, 1_000, 5_000, 5_000];
const QUICK_TABLE = TABLE.slice(0, 3);

/** Whether a refused assign is tried again by the table, and what the operator does meanwhile. */
export async function backoff(plan: Plan): Promise<Measured> {
  const table = plan.extent === 'quick' ? QUICK_TABLE : TABLE;
  const world = await openWorld(plan, { actionMs: 50 });
  try {
    for (const node of ['node-1', 'node-2', 'node-3']) world.addNode(node, { labels: { pool: 'work' } });
    const [address = ''] = world.addresses(1, ['node-1']);
    world.pool('ingress', { ips: [address], match: { nodeLabel: 'pool=work' } });
    const { pid } = await world.start();
    await world.until('the address is active', () => world.statuses.active().length === 1);
    world.cloud.faults.add({ kind: 'pendingEvent', times: table.length });
    world.setReady('node-1', false);
    const assigns = () => world.cloud.calls.select({ writes: true }).filter(isAssign);
    // The last wait is the longest one: what the operator uses in it is what it always uses while it waits.
    await world.until('all refusals but the last came', () => assigns().length === table.length);
    await sleep(200);
    const [cpuBefore, before] = [cpuMs(pid), performance.now()];
    await sleep((table.at(-1) ?? 0) - 700);
    const cpu = (cpuMs(pid) - cpuBefore) / (performance.now() - before);
    await world.until('the address is active again', () => world.statuses.of(address)?.state === 'active');
    const at = assigns().map((call) => call.at);
    const late = table.map((wait, index) => (at[index + 1] ?? Number.NaN) - (at[index] ?? Number.NaN) - wait);
    return {
      conditions: [
        `${table.length} assigns refused with 422 "pending event"; by the table the waits are ${table.map((ms) => ms / 1000).join(', ')} s; default flags`,
      ],
      figures: [
        { what: 'tries', value: at.length, unit: '', target: { exactly: table.length + 1 } },
        { what: 'next try later than the table says, at most', value: Math.max(...late), unit: 'ms', target: { atMost: 200 } },
        {
          what: 'next try later than the table says, at least',
          value: Math.min(...late),
          unit: 'ms',
          target: { atLeast: 0 },
          better: 'less',
        },
        { what: 'CPU of the operator between tries, of one core', value: cpu * 100, unit: '%', target: { atMost: 5 } },
      ],
    };
  } finally {
    await world.close();
  }
}
