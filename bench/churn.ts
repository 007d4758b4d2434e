import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure } from './figures.ts';
import { cpuMs, memoryOf } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

/** Nodes and Pods. */
const SIZES = { full: [5_000, 50_000, 30_000], round: [1_000, 10_000, 10_000], quick: [500, 5_000, 5_000] } as const;
const BYTES = 4 * 1024;
const A_SECOND = 40;
const ADDRESSES = 10;

/** What it costs that Pods change all the time in a large cluster: such that decide nothing, since others on their nodes serve as well, and such that each decide about a
 *  node. */
export async function churn(plan: Plan): Promise<Measured> {
  const [nodes, pods, forMs] = SIZES[plan.extent];
  const world = await openWorld(plan);
  try {
    furnish(world, nodes, pods);
    const { pid } = await world.start();
    await world.until('all addresses are active', () => world.statuses.active().length === 2 * ADDRESSES, 300_000);
    await sleep(5_000);
    const { resident, peak } = memoryOf(pid);
    const during = async (what: string, name: (index: number) => string, target?: number): Promise<readonly Figure[]> => {
      const turns = await turnsOf(world);
      const { cpu, seconds } = await cpuDuring(world, pid, { forMs, name });
      const aSecond = ((await turnsOf(world)) - turns) / seconds;
      return [
        {
          what: `CPU of the operator, of one core, ${what}`,
          value: cpu * 100,
          unit: '%',
          ...(target !== undefined && { target: { atMost: target } }),
        },
        { what: `turns saved, ${what}`, value: aSecond, unit: '/s' },
      ];
    };
    const alone = nodes - 2 * ADDRESSES;
    return {
      conditions: [
        `${nodes} nodes, ${pods} Pods of ${BYTES} bytes; one pool that matches all of them, one that matches a Pod on each node; ${ADDRESSES} addresses each, default flags, dashboards off`,
        `${A_SECOND} Pods a second become ready or unready, for ${forMs / 1000} s`,
      ],
      figures: [
        ...(await during('nothing changes', () => '')),
        ...(await during('Pods change beside others on their nodes', (index) => `pod-${nodes + (index % (pods - nodes))}`, 40)),
        ...(await during('each change decides about a node', (index) => `pod-${2 * ADDRESSES + (index % alone)}`, 40)),
        { what: 'RSS before', value: resident / 1e6, unit: 'MB' },
        { what: 'highest RSS before', value: peak / 1e6, unit: 'MB' },
        { what: 'highest RSS', value: memoryOf(pid).peak / 1e6, unit: 'MB' },
      ],
    };
  } finally {
    await world.close();
  }
}

/** The first Pod of each node bears a label of its own. */
function furnish(world: World, nodes: number, pods: number): void {
  for (let index = 0; index < nodes; index += 1) world.addNode(`node-${index}`, { labels: { pool: 'work' }, bytes: BYTES });
  for (let index = 0; index < pods; index += 1) {
    const labels = { app: 'ingress', ...(index < nodes && { single: 'yes' }) };
    world.addPod(`pod-${index}`, { node: `node-${index % nodes}`, labels, bytes: BYTES });
  }
  const addresses = (from: number) =>
    world.addresses(
      ADDRESSES,
      Array.from({ length: ADDRESSES }, (_, index) => `node-${from + index}`),
    );
  world.pool('all', { ips: [...addresses(0)], match: { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' } });
  world.pool('single', { ips: [...addresses(ADDRESSES)], match: { nodeLabel: 'pool=work', podLabel: 'single=yes' } });
}

interface Changes {
  readonly forMs: number;
  /** Empty to change nothing. */
  readonly name: (index: number) => string;
}

async function turnsOf({ operator }: World): Promise<number> {
  const text = await (await fetch(`${operator.served.telemetry}/metrics`)).text();
  return Number(/^routedip_turns_total (\S+)$/m.exec(text)?.[1] ?? 0);
}

/** Of one core, and how long it was. */
async function cpuDuring({ kubernetes }: World, pid: number, { forMs, name }: Changes) {
  const before = cpuMs(pid);
  const startedAt = performance.now();
  for (let count = 0; performance.now() - startedAt < forMs; count += 1) {
    // Each Pod goes and comes back.
    const pod = name(Math.floor(count / 2));
    const conditions = [{ type: 'Ready', status: count % 2 === 0 ? 'False' : 'True' }];
    if (pod !== '')
      kubernetes.store.patch(
        { apiVersion: 'v1', kind: 'Pod', name: pod, namespace: 'default' },
        { status: { conditions } },
        { subresource: 'status' },
      );
    await sleep(Math.max(0, startedAt + ((count + 1) * 1000) / A_SECOND - performance.now()));
  }
  const tookMs = performance.now() - startedAt;
  return { cpu: (cpuMs(pid) - before) / tookMs, seconds: tookMs / 1000 };
}
