import type { Action, Domain, Droplet, Firewall, Prefix, ReservedIP } from './model.ts';
import { type Duration, durationSource, type Random, seededRandom } from './random.ts';

export interface CloudOptions {
  readonly actionMs: Duration;
  /** How long a firewall change stays in `pending_changes`, in milliseconds. */
  readonly firewallMs: number;
  readonly reservedIPQuota: number;
  readonly createsPerMinute: number;
  readonly regions: readonly string[];
  readonly seed: number;
  readonly now: () => number;
}

/** Everything the account owns. Functions of the other files change it; time passes in `bringToPresent` only. */
export interface Cloud {
  readonly now: () => number;
  readonly random: Random;
  readonly nextActionMs: () => number;
  readonly createsPerMinute: number;
  readonly regions: Set<string>;
  readonly droplets: Map<number, Droplet>;
  readonly reservedIPs: Map<string, ReservedIP>;
  readonly prefixes: Prefix[];
  /** Deleted addresses: stale reads still show them, and tests read their history. */
  readonly deletedIPs: ReservedIP[];
  readonly actions: Map<number, Action>;
  readonly pendingActions: Set<Action>;
  readonly firewalls: Map<string, Firewall>;
  /** Droplets on which no change of a firewall is applied, and what the API says of that. */
  readonly hanging: Map<number, 'waiting' | 'failed'>;
  readonly domains: Map<string, Domain>;
  /** Every tag that was ever made or borne. */
  readonly tags: Set<string>;
  /** Times of the creations of the last minute. */
  creations: number[];
  reservedIPQuota: number;
  firewallMs: number;
  readonly nextId: () => number;
}

export function createCloud(options: CloudOptions): Cloud {
  let lastId = 100_000 + (options.seed % 1000) * 1000;
  return {
    now: options.now,
    random: seededRandom(options.seed),
    nextActionMs: durationSource(options.actionMs, options.seed),
    createsPerMinute: options.createsPerMinute,
    regions: new Set(options.regions),
    droplets: new Map(),
    reservedIPs: new Map(),
    prefixes: [],
    deletedIPs: [],
    actions: new Map(),
    pendingActions: new Set(),
    firewalls: new Map(),
    hanging: new Map(),
    domains: new Map(),
    tags: new Set(),
    creations: [],
    reservedIPQuota: options.reservedIPQuota,
    firewallMs: options.firewallMs,
    nextId: () => {
      lastId += 1;
      return lastId;
    },
  };
}
