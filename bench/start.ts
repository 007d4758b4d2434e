import { now } from '../demo/time.ts';
import { quantile } from './figures.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

const ADDRESSES = 2;

/** How long a process takes until it first asks the provider for something, and until it serves: after a restart, with the records of the former one. */
export async function start(plan: Plan): Promise<Measured> {
  const restarts = { full: 20, round: 5, quick: 3 }[plan.extent];
  const world = await openWorld(plan, { actionMs: { min: 1_000, max: 1_000 } });
  try {
    furnish(world);
    const [called, ready]: [number[], number[]] = [[], []];
    for (let index = 0; index <= restarts; index += 1) {
      const since = world.cloud.calls.all().at(-1)?.n ?? 0;
      const startedAt = now();
      const operator = await world.start();
      const readyAt = now();
      await world.until('it asks the provider for something', () => world.cloud.calls.select({ since }).length > 0);
      await world.until('all addresses are active', () => world.statuses.active().length === ADDRESSES);
      // The first one has no records.
      if (index > 0) {
        called.push((world.cloud.calls.select({ since })[0]?.at ?? Number.NaN) - startedAt);
        ready.push(readyAt - startedAt);
      }
      await operator.stop();
    }
    return {
      conditions: [
        `${restarts} restarts of an operator with one pool of ${ADDRESSES} given addresses, its records kept; default flags, dashboards off`,
      ],
      figures: [
        { what: 'process started -> first call to the provider, p50', value: quantile(called, 0.5), unit: 'ms', target: { atMost: 600 } },
        { what: 'process started -> first call to the provider, highest', value: Math.max(...called), unit: 'ms' },
        { what: 'process started -> ready, p50', value: quantile(ready, 0.5), unit: 'ms' },
      ],
    };
  } finally {
    await world.close();
  }
}

function furnish(world: World): void {
  const names = ['node-1', 'node-2', 'node-3'];
  for (const name of names) {
    world.addNode(name, { labels: { pool: 'work' } });
    world.addPod(`ingress-${name}`, { node: name, labels: { app: 'ingress' } });
  }
  const ips = world.addresses(ADDRESSES, names);
  world.pool('ingress', { ips: [...ips], match: { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' } });
}
