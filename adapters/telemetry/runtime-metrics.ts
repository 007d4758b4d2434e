import { STORE_FAULTS } from '../../actors/ports/records.ts';
import { Gauge, type Registry } from './prom-client.ts';

type QueueCounts = Readonly<Record<string, number>>;

/** The caches of one kind of object. */
export interface CacheSync {
  readonly kind: string;
  /** All of the caches hold a complete list, and their watches work. */
  readonly synced: boolean;
  /** When the least recently updated cache was last known to be in sync, ms since the epoch; null for never. */
  readonly syncedAt: number | null;
}

/** Sources that are read at each scrape. */
export interface RuntimeSources {
  readonly version: string;
  /** Jobs by queue, then by state. If it throws, its series are omitted from that scrape. */
  readonly queues: () => Promise<Readonly<Record<string, QueueCounts>>>;
  /** Whether this process leads, and under which term; term 0 for none. */
  readonly leadership: () => { readonly leading: boolean; readonly term: number };
  /** Whether this process only observes. */
  readonly observes: boolean;
  /** Whether this process continues in memory because its store is unavailable. */
  readonly isStoreAway: () => boolean;
  /** Configuration faults of its store, by name. */
  readonly storeFaults: () => readonly string[];
  readonly caches: () => readonly CacheSync[];
  /** Objects whose current generation is not served; none while another process leads. */
  readonly unserved: () => readonly { readonly kind: string; readonly reason: string; readonly count: number }[];
  /** By provider: accounts whose last read failed. */
  readonly unreadAccounts: () => ReadonlyMap<string, number>;
  /** Cells whose turns fail repeatedly, by reason. */
  readonly failing: () => Readonly<Record<string, number>>;
}

/** Registers the runtime metrics: build, leadership, caches and pending work. */
export function runtimeMetrics(registry: Registry, sources: RuntimeSources): void {
  const { version, queues, observes, isStoreAway, storeFaults, caches } = sources;
  // An observing process must not hide a missing leader.
  const leadership = observes ? () => ({ leading: false, term: 0 }) : sources.leadership;
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  const labelNames = ['version', 'node'] as const;
  const build = new Gauge({ name: 'routedip_build_info', help: '1, with what this is.', labelNames, registers });
  build.set({ version, node: process.version }, 1);
  gauge('routedip_leader', '1 while this process decides and acts.', () => (leadership().leading ? 1 : 0));
  gauge('routedip_term', 'Term under which this process decides; 0 while it does not.', () => leadership().term);
  gauge('routedip_observe_only', '1 where this process only observes: it decides, and changes nothing.', () => (observes ? 1 : 0));
  gauge('routedip_store_away', '1 while this process goes on in memory because Redis is away.', () => (isStoreAway() ? 1 : 0));
  registerStoreFaults(registry, storeFaults);
  registerQueues(registry, queues);
  registerCaches(registry, caches);
  registerStanding(registry, sources);
}

type Standing = Pick<RuntimeSources, 'unserved' | 'unreadAccounts' | 'failing'>;

function registerStanding(registry: Registry, { unserved, unreadAccounts, failing }: Standing): void {
  const registers = [registry];
  new Gauge({
    name: 'routedip_objects_unserved',
    help: 'Objects that have not been served for 10 seconds as they are now, by what they wait for.',
    labelNames: ['kind', 'reason'] as const,
    registers,
    collect() {
      this.reset();
      for (const { kind, reason, count } of unserved()) this.set({ kind, reason }, count);
    },
  });
  new Gauge({
    name: 'routedip_providers_unread',
    help: 'Accounts of a provider whose addresses could not be read when that was last tried.',
    labelNames: ['provider'] as const,
    registers,
    collect() {
      this.reset();
      for (const [provider, count] of unreadAccounts()) this.set({ provider }, count);
    },
  });
  new Gauge({
    name: 'routedip_cells_failing',
    help: 'Cells that are tried at a slow pace since their turns fail, by what fails.',
    labelNames: ['reason'] as const,
    registers,
    collect() {
      for (const [reason, count] of Object.entries(failing())) this.set({ reason }, count);
    },
  });
}

function registerStoreFaults(registry: Registry, faults: RuntimeSources['storeFaults']): void {
  new Gauge({
    name: 'routedip_store_fault',
    help: '1 for what is wrong with the way in which Redis is set up, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
    collect() {
      const now = faults();
      for (const reason of STORE_FAULTS) this.set({ reason }, now.includes(reason) ? 1 : 0);
    },
  });
}

function registerQueues(registry: Registry, queues: RuntimeSources['queues']): void {
  new Gauge({
    name: 'routedip_queue_jobs',
    help: 'Jobs in a queue, by state.',
    labelNames: ['queue', 'state'] as const,
    registers: [registry],
    async collect() {
      // Without Redis there is no current value, and no series is better than a stale one. /readyz says what is wrong.
      const counts = await queues().catch(() => ({}));
      this.reset();
      for (const [queue, states] of Object.entries(counts)) {
        for (const [state, jobs] of Object.entries(states)) this.set({ queue, state }, jobs);
      }
    },
  });
}

function registerCaches(registry: Registry, caches: RuntimeSources['caches']): void {
  const gauge = (name: string, help: string, read: (cache: CacheSync) => number | null): void => {
    new Gauge({
      name,
      help,
      labelNames: ['kind'] as const,
      registers: [registry],
      collect() {
        this.reset();
        for (const cache of caches()) {
          const value = read(cache);
          if (value !== null) this.set({ kind: cache.kind }, value);
        }
      },
    });
  };
  gauge('routedip_cache_synced', '1 while the caches of a kind are complete and their watches work.', ({ synced }) => (synced ? 1 : 0));
  gauge('routedip_cache_last_sync_timestamp_seconds', 'When the caches of a kind were last known to be up to date.', ({ syncedAt }) =>
    syncedAt === null ? null : syncedAt / 1000,
  );
}
