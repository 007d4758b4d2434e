import type { Address } from '../../machines/model/types.ts';
import type { AttackHappening, AttackSetup } from '../hostile/attacker.ts';
import type { APIHappening } from './domains/api.ts';
import type { FirewallHappening } from './domains/firewalls.ts';
import type { JobHappening, JobSetup } from './domains/jobs.ts';
import type { NameHappening } from './domains/names.ts';
import type { NodeHappening } from './domains/nodes.ts';
import type { PeopleHappening } from './domains/people.ts';
import type { PolicyHappening, PolicyRules } from './domains/policies.ts';
import type { PoolHappening, PoolSetup } from './domains/pools.ts';
import type { ProcessHappening } from './domains/processes.ts';
import type { ProviderHappening } from './domains/provider.ts';
import type { RoutedIPHappening, RoutedIPSetup } from './domains/routed-ips.ts';
import type { ServiceHappening, ServiceSetup } from './domains/services.ts';
import type { StoreHappening } from './domains/stores.ts';
import type { VipHappening, VipSetup } from './domains/vips.ts';
import type { VirtualIPHappening, VirtualIPSetup } from './domains/virtual-ips.ts';
import type { WatchHappening } from './domains/watches.ts';

/** What may happen, by domain. */
export interface Happenings {
  readonly nodes: NodeHappening;
  readonly people: PeopleHappening;
  readonly provider: ProviderHappening;
  readonly api: APIHappening;
  readonly watches: WatchHappening;
  readonly processes: ProcessHappening;
  readonly stores: StoreHappening;
  readonly pools: PoolHappening;
  readonly names: NameHappening;
  readonly routed: RoutedIPHappening;
  readonly policies: PolicyHappening;
  readonly services: ServiceHappening;
  readonly firewalls: FirewallHappening;
  readonly jobs: JobHappening;
  readonly vips: VipHappening;
  readonly virtualIPs: VirtualIPHappening;
  readonly attacker: AttackHappening;
}

export type DomainName = keyof Happenings;

interface StepIn<D extends DomainName> {
  /** Virtual ms since the step before. */
  readonly afterMs: number;
  readonly in: D;
  readonly what: Happenings[D];
}
export type Step = { [D in DomainName]: StepIn<D> }[DomainName];

export type Milliseconds = readonly [from: number, to: number];

/** A world as it is at first, and what happens in it. Plain data, so that it can be printed, shrunk and written down. */
export interface History {
  readonly seed: number;
  readonly nodes: number;
  /** Addresses that one node can hold. */
  readonly perNode: number;
  /** By address that is there at first: the node that holds it, or null. */
  readonly holders: readonly (number | null)[];
  /** How long the provider takes for an action, for a call, and for a change of a firewall. */
  readonly actionMs: Milliseconds;
  readonly callMs: Milliseconds;
  readonly firewallMs: Milliseconds;
  /** Another process comes soon after the last one has ended. */
  readonly restarts: boolean;
  /** Processes go on in memory while the store is away. */
  readonly away?: boolean;
  /** Edits by hand are looked for between two verifications. */
  readonly editLooks?: boolean;
  /** Pools take nothing off machines outside of the cluster; absent for anything. */
  readonly adopt?: 'unassigned' | undefined;
  /** How long what has happened last takes its effect before all is mended, ms; absent for no time. */
  readonly settlesMs?: number;
  /** How long all has to stay right in the end, virtual ms. */
  readonly restsMs?: number;
  readonly pools?: readonly PoolSetup[];
  /** There is a zone, and names in it. */
  readonly names?: boolean;
  readonly routed?: {
    /** A class, and an issuer with a Secret of its own. */
    readonly policies: readonly PolicyRules[];
    readonly services: readonly ServiceSetup[];
    readonly routed: readonly RoutedIPSetup[];
    /** The class has its addresses found, made, assigned and deleted by Jobs. */
    readonly jobs?: JobSetup;
  };
  /** How the API server serves Services, IPGroups and VirtualIPs; they are not served without it. */
  readonly api?: {
    readonly callMs: Milliseconds;
    readonly watchMs: Milliseconds;
    readonly wipesIngress: boolean;
  };
  readonly vips?: VipSetup;
  readonly virtualIPs?: VirtualIPSetup;
  /** There is somebody in a namespace of his own who wants what others have. */
  readonly attacker?: AttackSetup;
  readonly steps: readonly Step[];
}

// ---------------------------------------------------------------- what numbers stand for

export const nodeName = (index: number): string => `n${index}`;
/** Addresses that somebody else made. Those that are made on the way have lower numbers. */
export const addressOf = (index: number): Address => `203.0.113.${200 + index}` as Address;
/** Where names stand. */
export const ZONE = 'example.com';
export const NAMES = 2;
export const nameOf = (index: number): string => (index === 0 ? 'web' : 'www');
/** A Service of RoutedIPs. */
export const serviceName = (index: number): string => `s${index}`;
/** A Service of type LoadBalancer. */
export const lbName = (index: number): string => `s${index}`;
export const groupName = (index: number): string => `g${index}`;
export const ISSUER = 'own';
/** Two of the class, two of the issuer. */
export const FIREWALLS: readonly string[] = ['edge', 'spare', 'inner', 'outer'];
