import { Redis } from 'ioredis';
import { now } from '../demo/time.ts';
import { failOver, isAssign } from './drill.ts';
import { type Figure, quantile } from './figures.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' } as const;
/** As long as an action of a real provider takes, ms. */
const ACTION_MS = 1_000;
const MANY = 20;

/** What goes wrong now and then, and how long it takes until it is right again: each in a world of its own. */
export async function recovery(plan: Plan): Promise<Measured> {
  const rounds = { full: 5, round: 1, quick: 1 }[plan.extent];
  const figures: Figure[] = [];
  for (const { what, unit = 'ms', atMost, addresses = 2, nodes, measure } of ROWS) {
    const values: number[] = [];
    for (let round = 0; round < rounds; round += 1) values.push(await inWorld(plan, { addresses, nodes: nodes ?? addresses + 2 }, measure));
    figures.push({ what, value: quantile(values, 0.5), unit, target: { atMost } });
  }
  return { conditions: [`the median of ${rounds}; actions of ${ACTION_MS} ms; default flags, dashboards off`], figures };
}

interface Stage {
  readonly world: World;
  readonly ips: readonly string[];
  /** The pool, with these addresses. */
  readonly list: (ips: readonly string[]) => void;
  readonly active: () => Promise<void>;
}

interface Row {
  readonly what: string;
  readonly unit?: Figure['unit'];
  readonly atMost: number;
  readonly addresses?: number;
  readonly nodes?: number;
  readonly measure: (stage: Stage) => Promise<number>;
}

const ROWS: readonly Row[] = [
  {
    what: 'calls to the provider for a new pool of two given addresses',
    unit: '',
    atMost: 8,
    measure: async ({ world, ips, list, active }) => {
      await world.start();
      const since = lastCall(world);
      list(ips);
      await active();
      return world.cloud.calls.select({ since }).length;
    },
  },
  {
    what: `${MANY} addresses of a new pool: all active`,
    atMost: 1_600,
    addresses: MANY,
    measure: async ({ world, ips, list, active }) => {
      await world.start();
      const since = now();
      list(ips);
      await active();
      return now() - since;
    },
  },
  {
    what: 'calls to the provider for a failover',
    unit: '',
    atMost: 3,
    measure: async (stage) => (await failedOver(stage)).calls,
  },
  {
    what: 'commands to Redis for a failover',
    unit: '',
    atMost: 40,
    measure: async (stage) => (await failedOver(stage)).commands,
  },
  {
    what: 'a single 500 for an assign: from that answer to active',
    atMost: 5_000,
    measure: async ({ world, ips, list, active }) => {
      await world.start();
      const since = lastCall(world);
      world.cloud.faults.add({ kind: 'status', code: 500, match: { method: 'POST', path: '/actions$' }, times: 1 });
      list(ips);
      await world.until('an assign is answered by 500', () => world.cloud.calls.select({ since }).some(isAssign));
      const failedAt = now();
      await active();
      return now() - failedAt;
    },
  },
  {
    what: 'an address moved by hand to a node outside: put right',
    atMost: 60_000,
    measure: async ({ world, ips, list, active }) => {
      await world.start();
      list(ips);
      await active();
      const [address = ''] = ips;
      const outside = world.cloud.addDroplet({ name: 'outside', region: 'nyc3' });
      world.cloud.moveReservedIP(address, outside.id);
      const movedAt = now();
      const isBack = (): boolean => ![outside.id, null, undefined].includes(world.cloud.state.reservedIPs.get(address)?.dropletId);
      await world.until('it is on a node again', isBack, 400_000);
      return now() - movedAt;
    },
  },
  {
    what: 'an address replaced in spec.ips with no spare node: the new one active',
    atMost: 10_000,
    nodes: 2,
    measure: async ({ world, ips, list, active }) => {
      await world.start();
      list(ips);
      await active();
      const [kept = ''] = ips;
      const [fresh = ''] = world.addresses(1);
      list([kept, fresh]);
      const replacedAt = now();
      // One that never is counts as long as it was waited for.
      await world.until('the new one is active', () => world.statuses.of(fresh)?.state === 'active', 60_000).catch(() => undefined);
      return now() - replacedAt;
    },
  },
  {
    what: 'SIGKILL of a lone leader in its first assign: until all is active by the next process',
    atMost: 19_000,
    measure: async ({ world, ips, list, active }) => {
      const operator = await world.start();
      const since = lastCall(world);
      list(ips);
      await world.until('an assign is sent', () => world.cloud.calls.select({ since }).some(isAssign));
      operator.kill();
      const killedAt = now();
      await world.start();
      await active();
      return now() - killedAt;
    },
  },
];

async function inWorld(
  plan: Plan,
  { addresses, nodes }: { readonly addresses: number; readonly nodes: number },
  measure: Row['measure'],
): Promise<number> {
  const world = await openWorld(plan, { actionMs: { min: ACTION_MS, max: ACTION_MS } });
  try {
    for (let index = 1; index <= nodes; index += 1) {
      world.addNode(`node-${index}`, { labels: { pool: 'work' } });
      world.addPod(`ingress-${index}`, { node: `node-${index}`, labels: { app: 'ingress' } });
    }
    const match = { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' };
    let wanted: readonly string[] = [];
    const list = (ips: readonly string[]): void => {
      if (wanted.length === 0) world.pool(POOL.name, { ips: [...ips], match });
      else world.kubernetes.store.patch(POOL, { spec: { ips: [...ips] } });
      wanted = ips;
    };
    const isActive = (ip: string): boolean => world.statuses.of(ip)?.state === 'active';
    const active = () => world.until('all addresses are active', () => wanted.every(isActive), 400_000);
    return await measure({ world, ips: world.addresses(addresses), list, active });
  } finally {
    await world.close();
  }
}

const lastCall = ({ cloud }: World): number => cloud.calls.all().at(-1)?.n ?? 0;

/** One failover, with nothing else going on. */
async function failedOver({ world, ips, list, active }: Stage): Promise<{ readonly calls: number; readonly commands: number }> {
  await world.start();
  list(ips);
  await active();
  const redis = new Redis(world.redisUrl);
  const monitor = await redis.monitor();
  try {
    let commands = 0;
    monitor.on('monitor', (_time: string, _args: readonly string[], source: string) => {
      // What runs within a script is not sent.
      if (source !== 'lua') commands += 1;
    });
    const [address = ''] = ips;
    const since = lastCall(world);
    await failOver(world, { address, node: world.statuses.of(address)?.node ?? '' });
    return { calls: world.cloud.calls.select({ since }).length, commands };
  } finally {
    monitor.disconnect();
    redis.disconnect();
  }
}
