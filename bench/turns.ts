import { setTimeout as sleep } from 'node:timers/promises';
import { charts } from '../actors/controllers/chart-registry.ts';
import type { Log, Observer } from '../actors/ports/observers.ts';
import { DEFAULT_SETTINGS } from '../actors/ports/settings.ts';
import { Supervisor } from '../actors/supervisor.ts';
import { bullQueues } from '../adapters/bullmq/queues.ts';
import { memoryCluster } from '../adapters/memory/cluster.ts';
import { memoryDirectory } from '../adapters/memory/directory.ts';
import { memoryLease } from '../adapters/memory/leadership.ts';
import { memoryProvider } from '../adapters/memory/provider.ts';
import { patientClient } from '../adapters/redis/client.ts';
import { redisLink } from '../adapters/redis/link.ts';
import { redisStore } from '../adapters/redis/store.ts';
import { systemClock } from '../adapters/system/clock.ts';
import type { AddressContext } from '../machines/address/context.ts';
import { cellOf } from '../machines/model/actor-id.ts';
import { queryOf } from '../machines/model/matching.ts';
import type { Address, ProviderID } from '../machines/model/types.ts';
import { startRedis } from '../tools/redis.mjs';
import { type Facts, factSource, readyNode } from './facts.ts';
import type { Measured, Plan } from './scenario.ts';

const PROVIDER = 'digitalocean';
const PREFIX = 'digitalocean://';
const KEYS = '{bench}';
const POOLS = 60;
const NODES = 3;
/** A confirmation is looked for at once: what is measured is the runtime, not its wait for a provider. */
const SETTINGS = { ...DEFAULT_SETTINGS, pollSteps: [1], assignSteps: [1] };

/** How many turns a second the durable runtime takes on real Redis, when the provider and the cluster answer from memory at once. */
export async function turns({ extent }: Plan): Promise<Measured> {
  const forMs = { full: 10_000, round: 4_000, quick: 2_000 }[extent];
  // As it is shipped, with what its append-only file costs.
  const redis = await startRedis({ aof: true, extra: ['--appendfsync', 'everysec'] });
  const clock = systemClock();
  const link = redisLink({ url: redis.url, name: 'bench' });
  const queues = bullQueues({
    link: { redis: link.redis, call: (what, run) => link.call(what, run) },
    connectPatient: () => patientClient({ url: redis.url }),
    prefix: KEYS,
    clock,
  });
  const provider = memoryProvider(clock, { name: PROVIDER, providerIDPrefix: PREFIX });
  const pools = Array.from({ length: POOLS }, (_, index) => poolOf(index));
  for (const { address, nodes } of pools) {
    provider.cloud.addAddress(address as Address, 'nyc3', null);
    provider.cloud.addNode(...[...nodes.values()].map(({ providerID }) => providerID as ProviderID));
  }
  const cluster = factSource(pools, PROVIDER);
  const count = { turns: 0, failovers: 0 };
  const errors: string[] = [];
  const supervisor = new Supervisor({
    charts: charts(SETTINGS, () => 1),
    store: redisStore({ link, prefix: KEYS }),
    queues,
    clock,
    log: { ...quiet, error: (message, fields) => void errors.push(`${message} ${JSON.stringify(fields)}`) },
    probe: () => undefined,
    leadership: memoryLease(clock).contender('bench'),
    source: cluster,
    // It knows none of these pools: what is written to it goes nowhere.
    writer: memoryCluster({ queryOf }).process(),
    providers: memoryDirectory({
      [PROVIDER]: {
        facts: { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: PREFIX, missing: null },
        provider,
      },
    }),
    observers: [failAgain(count, pools, cluster.setReady)],
    settings: SETTINGS,
  });
  try {
    await supervisor.start();
    await sleep(forMs / 4);
    const before = { ...count };
    const startedAt = performance.now();
    await sleep(forMs);
    const seconds = (performance.now() - startedAt) / 1000;
    const journals = await Promise.all(
      pools.map(({ ref }) => link.redis.memory('USAGE', `${KEYS}:cell:pool/${ref.namespace}/${ref.name}:journal`)),
    );
    if (errors.length > 0) throw new Error(`the runtime logged errors: ${errors.slice(0, 3).join('; ')}`);
    return {
      conditions: [
        `${POOLS} cells with one address each that fails over for ever; one process, one Redis with its append-only file`,
        'a turn is one Lua write and the jobs of it; assignments are confirmed at the first look, 1 ms later',
      ],
      figures: [
        { what: 'durable turns', value: (count.turns - before.turns) / seconds, unit: '/s' },
        { what: 'failovers, each with its assign job and outcome', value: (count.failovers - before.failovers) / seconds, unit: '/s' },
        { what: 'a full journal of a cell in Redis, at most', value: Math.max(...journals.map((bytes) => bytes ?? 0)) / 1000, unit: 'kB' },
      ],
    };
  } finally {
    await supervisor.stop();
    await queues.close();
    await link.close();
    await redis.stop();
  }
}

const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function poolOf(index: number): Facts {
  const name = `pool-${index}`;
  const nodes = Array.from({ length: NODES }, (_, place) => readyNode(`${name}-${place}`, PREFIX));
  return {
    ref: { kind: 'FloatingIPPool', namespace: 'default', name, uid: `uid-${name}` },
    address: `203.0.${Math.floor(index / 250)}.${(index % 250) + 1}`,
    nodes: new Map(nodes.map((each) => [each.name, each])),
  };
}

/** Counts turns; as soon as an address is confirmed on a node, that node fails and the one before is ready again. */
function failAgain(
  count: { turns: number; failovers: number },
  pools: readonly Facts[],
  setReady: ReturnType<typeof factSource>['setReady'],
): Observer {
  const holders = new Map<string, string>();
  const byCell = new Map(pools.map((pool) => [`pool/${pool.ref.namespace}/${pool.ref.name}`, pool]));
  return {
    turnSaved: ({ transitions }) => {
      count.turns += 1;
      for (const { actor, chart, after } of transitions) {
        const pool = byCell.get(cellOf(actor));
        if (chart !== 'ip' || after === null || pool === undefined) continue;
        const { assigned, eligible } = after.snapshot.context as unknown as AddressContext;
        const former = holders.get(actor);
        if (assigned === null || !eligible || assigned.name === former) continue;
        holders.set(actor, assigned.name);
        count.failovers += 1;
        // After this turn: an observer only looks on.
        setImmediate(() => {
          if (former !== undefined) setReady(pool, former, true);
          setReady(pool, assigned.name, false);
        });
      }
    },
  };
}
