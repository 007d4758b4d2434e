import type { AddressContext } from '../../machines/address/context.ts';
import type {
  Address,
  Candidate,
  ErrorKind,
  JobFailure,
  NodeRef,
  ObservedAddress,
  ObservedNode,
  ObservedPod,
  ProviderID,
  Taint,
} from '../../machines/model/types.ts';
import { NO_CONTEST } from '../../machines/policy/contention.ts';
import type { Absence } from '../../machines/policy/recovery-grace.ts';
import type { Member } from '../../machines/pool/assignment.ts';
import type { ProviderFacts, ProviderRegistry } from '../../machines/spec/providers.ts';

export const PROVIDER = 'digitalocean';
export const PREFIX = 'digitalocean://';
export const POOL = 'pool/default/ingress';
/** When tests begin, ms since the epoch. */
export const START = Date.UTC(2026, 2, 1, 12);
export const SECOND = 1000;

export const A = '203.0.113.1' as Address;
export const B = '203.0.113.2' as Address;
export const C = '203.0.113.3' as Address;

export const providerIDOf = (name: string): ProviderID => `${PREFIX}${name}` as ProviderID;
export const refOf = (name: string): NodeRef => ({ name, providerID: providerIDOf(name) });

/** A Ready node that may hold an address; each method answers another one with that deviation. */
class NodeBuilder implements ObservedNode {
  readonly name: string;
  readonly uid: string;
  readonly labels: ObservedNode['labels'];
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly unschedulable: boolean;
  readonly providerID: string;
  readonly region: string;
  readonly createdAt: number;

  constructor(name: string, change: Partial<ObservedNode> = {}) {
    this.name = name;
    this.uid = change.uid ?? `uid-${name}`;
    this.labels = change.labels ?? { pool: 'work' };
    this.taints = change.taints ?? [];
    this.ready = change.ready ?? true;
    this.deleting = change.deleting ?? false;
    this.unschedulable = change.unschedulable ?? false;
    this.providerID = change.providerID ?? providerIDOf(name);
    this.region = change.region ?? 'nyc3';
    this.createdAt = change.createdAt ?? START;
  }

  #with(change: Partial<ObservedNode>): NodeBuilder {
    return new NodeBuilder(this.name, { ...this, ...change });
  }

  notReady(): NodeBuilder {
    return this.#with({ ready: false });
  }

  goingAway(): NodeBuilder {
    return this.#with({ deleting: true });
  }

  cordoned(): NodeBuilder {
    return this.#with({ unschedulable: true });
  }

  labelled(labels: ObservedNode['labels']): NodeBuilder {
    return this.#with({ labels });
  }

  tainted(...taints: readonly Taint[]): NodeBuilder {
    return this.#with({ taints });
  }

  in(region: string): NodeBuilder {
    return this.#with({ region });
  }

  withProviderID(providerID: string): NodeBuilder {
    return this.#with({ providerID });
  }

  get candidate(): Candidate {
    return { name: this.name, providerID: this.providerID as ProviderID, region: this.region, createdAt: this.createdAt };
  }
}

export const node = (name: string): NodeBuilder => new NodeBuilder(name);
export type { NodeBuilder };

/** An ingress pod that serves on node `a`. */
export const pod = (change: Partial<ObservedPod> = {}): ObservedPod => ({
  namespace: 'ingress',
  name: 'nginx',
  labels: { app: 'nginx' },
  nodeName: 'a',
  serving: true,
  ...change,
});

/** What the provider reports of an address, unlocked, on the node named, or on nothing. */
export const observed = (address: Address, on: string | null = null, change: Partial<ObservedAddress> = {}): ObservedAddress => ({
  address,
  region: 'nyc3',
  providerID: on === null ? null : providerIDOf(on),
  locked: false,
  ...change,
});

export const failure = (kind: ErrorKind, change: Partial<JobFailure> = {}): JobFailure => ({
  kind,
  message: `the provider answered ${kind}`,
  retryAfterMs: null,
  unknownOutcome: false,
  ...change,
});

/** A failure after which nobody knows whether the call took effect. */
export const cutOff = (change: Partial<JobFailure> = {}): JobFailure => failure('Unavailable', { unknownOutcome: true, ...change });

const FACTS: ProviderFacts = { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: PREFIX, missing: null };

/** DigitalOcean with addresses and DNS, Cloudflare with DNS only, both with credentials. */
export const registry = (change: Partial<ProviderFacts> = {}): ProviderRegistry => ({
  [PROVIDER]: { ...FACTS, ...change },
  cloudflare: { ...FACTS, addresses: false, providerIDPrefix: '' },
  addressesOnly: { ...FACTS, dns: false },
});

/** Address A of the test pool, known and attached to nothing, without a firewall. */
export const addressContextOf = (change: Partial<AddressContext> = {}): AddressContext => ({
  id: `${POOL}/ip/${A}`,
  pool: POOL,
  provider: PROVIDER,
  address: A,
  origin: 'Found',
  known: true,
  holder: null,
  region: 'nyc3',
  elected: null,
  eligible: false,
  spaced: false,
  assigned: null,
  previous: [],
  epoch: 0,
  inDoubtUntil: null,
  policy: { firewall: null, postAllow: false, ports: [] },
  claimed: [],
  perNode: null,
  failure: null,
  attempts: 0,
  coolOffUntil: null,
  resume: 'Unassigned',
  retiring: null,
  ...change,
});

/** Makes a value unchangeable in all depth: a decision that changes what it was given throws. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** A node that is not Ready since the start, and for whose machine the provider was asked. */
export const absentNode = (name: string, change: Partial<Absence> = {}): Absence => ({
  node: node(name).candidate,
  since: START,
  failing: true,
  askAt: null,
  asks: 1,
  ...change,
});

/** An address of a pool that waits for a node and is attached to nothing. */
export const member = (change: Partial<Member> = {}): Member => ({
  rank: 1,
  ready: true,
  holder: null,
  region: 'nyc3',
  node: null,
  stands: null,
  heard: true,
  confirmed: false,
  eligible: false,
  contest: NO_CONTEST,
  retiring: false,
  ...change,
});

/** An address that the provider confirmed on the node. */
export const serving = (name: string, change: Partial<Member> = {}): Member =>
  member({ ready: false, holder: providerIDOf(name), node: refOf(name), stands: refOf(name), confirmed: true, eligible: true, ...change });
