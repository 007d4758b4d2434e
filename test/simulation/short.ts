import type { APIHappening } from './domains/api.ts';
import type { FirewallHappening } from './domains/firewalls.ts';
import type { JobHappening, JobSetup } from './domains/jobs.ts';
import type { NameHappening } from './domains/names.ts';
import type { NodeHappening } from './domains/nodes.ts';
import type { PeopleHappening } from './domains/people.ts';
import type { PolicyHappening, PolicyRules } from './domains/policies.ts';
import type { PoolHappening, PoolRules } from './domains/pools.ts';
import type { ProcessHappening } from './domains/processes.ts';
import type { ProviderHappening } from './domains/provider.ts';
import type { RoutedIPHappening, RoutedIPSetup } from './domains/routed-ips.ts';
import type { ServiceHappening, ServiceSetup } from './domains/services.ts';
import type { StoreHappening } from './domains/stores.ts';
import type { VipHappening, VipSetup } from './domains/vips.ts';
import type { VirtualIPHappening, VirtualIPSetup } from './domains/virtual-ips.ts';
import type { WatchHappening } from './domains/watches.ts';
import type { DomainName, History, Step } from './history.ts';

/** Histories about one thing, written down by hand: what happens names no domain where its kind tells it. */
interface Short<What> {
  readonly seed: number;
  readonly steps: readonly { readonly afterMs: number; readonly what: What }[];
}

type Milliseconds = readonly [from: number, to: number];
type Anywhere = NodeHappening | PeopleHappening | ProviderHappening | ProcessHappening | StoreHappening | WatchHappening;

export type ShortPoolHappening = Anywhere | PoolHappening | NameHappening;

/** Pools, and the names under which they are published. */
export interface ShortPools extends Short<ShortPoolHappening> {
  readonly nodes: number;
  /** By pool: the addresses that it lists at first. */
  readonly pools: readonly (readonly number[])[];
  readonly holders: History['holders'];
  readonly coolOffSeconds: number;
  readonly actionMs: Milliseconds;
  readonly callMs: Milliseconds;
  /** By pool. */
  readonly rules?: readonly PoolRules[];
  /** By pool: how many addresses more than it lists it wants at first. */
  readonly extra?: readonly number[];
  /** By pool. There are names where this is given. */
  readonly names?: readonly (number | null)[];
}

export type ShortRoutedHappening =
  | Anywhere
  | RoutedIPHappening
  | PolicyHappening
  | ServiceHappening
  | FirewallHappening
  | JobHappening
  /** The pool beside them is to have these, and is gone without any. */
  | { readonly kind: 'list'; readonly addresses: readonly number[] };

/** RoutedIPs, and a pool beside them. */
export interface ShortRouted extends Short<ShortRoutedHappening> {
  readonly nodes: number;
  readonly perNode: number;
  readonly policies: readonly PolicyRules[];
  readonly services: readonly ServiceSetup[];
  readonly routed: readonly RoutedIPSetup[];
  /** Addresses of the pool; none for no pool. */
  readonly pool: readonly number[];
  readonly holders: History['holders'];
  readonly restarts: boolean;
  readonly actionMs: Milliseconds;
  readonly callMs: Milliseconds;
  readonly firewallMs: Milliseconds;
  readonly restsMs?: number;
  /** The class is driven by Jobs. */
  readonly jobs?: JobSetup;
}

interface ShortAPI {
  readonly wipesIngress: boolean;
  readonly callMs: Milliseconds;
  readonly watchMs: Milliseconds;
}

type AnywhereInServices = ProcessHappening | StoreHappening | APIHappening;

export type ShortVipHappening = VipHappening | AnywhereInServices;
export interface ShortVips extends Short<ShortVipHappening>, ShortAPI, VipSetup {}

export type ShortVirtualIPHappening = VirtualIPHappening | AnywhereInServices;
export interface ShortVirtualIPs extends Short<ShortVirtualIPHappening>, ShortAPI, VirtualIPSetup {}

/** The kinds of happenings that are of one domain only. */
const KINDS: Readonly<Partial<Record<DomainName, readonly string[]>>> = {
  people: ['moveByHand', 'deleteByHand', 'restoreByHand', 'lockByHand', 'makeByHand'],
  provider: ['staleReads', 'failActions'],
  api: ['hold', 'tell'],
  watches: ['late', 'stale'],
  jobs: ['script', 'deleteJobs', 'refuseJobs', 'allowJobs', 'loseJobs'],
  processes: [
    'start',
    'kill',
    'killAll',
    'killAt',
    'restart',
    'stop',
    'freeze',
    'deleteLease',
    'cutLease',
    'mendLease',
    'cutStore',
    'mendStore',
  ],
  stores: [
    ...[
      'storeDown',
      'storeUp',
      'queuesDown',
      'queuesUp',
      'redisDown',
      'redisUp',
      'failWrites',
      'mendWrites',
      'goBack',
      'failOver',
      'replace',
    ],
    ...['wipe', 'wipeAtRest', 'wipeQueues', 'repeatJobs', 'loseReplies', 'jump'],
  ],
  policies: ['policy', 'breakPolicy', 'mendPolicy', 'removePolicy', 'makePolicy', 'secretGoes', 'secretComes', 'refuseToken', 'newToken'],
  names: ['nameNodes', 'removeNodeSet', 'breakNodeSet', 'mendNodeSet', 'dropRecord', 'changeRecord', 'addRecord', 'addAlias'],
};
const domainOfKind = new Map(Object.entries(KINDS).flatMap(([domain, kinds]) => kinds.map((kind) => [kind, domain as DomainName])));

/** The first domain whose field it has, unless its kind tells. */
const domainOf = (what: { readonly kind: string }, fields: Readonly<Record<string, DomainName>>, otherwise: DomainName): DomainName =>
  domainOfKind.get(what.kind) ?? Object.entries(fields).find(([field]) => field in what)?.[1] ?? otherwise;

const stepsOf = <What extends { readonly kind: string }>(
  { steps }: Short<What>,
  fields: Readonly<Record<string, DomainName>>,
  otherwise: DomainName,
): readonly Step[] => steps.map(({ afterMs, what }) => ({ afterMs, in: domainOf(what, fields, otherwise), what }) as unknown as Step);

export const ofPools = ({ pools, rules, extra, names, coolOffSeconds, ...short }: ShortPools): History => {
  const { seed, nodes, holders, actionMs, callMs } = short;
  return {
    ...{ seed, nodes, holders, actionMs, callMs },
    ...{ perNode: 1, firewallMs: [0, 0], restarts: false },
    pools: pools.map((ips, index) => ({
      ...{ ips, coolOffSeconds },
      ...(rules?.[index] && { rules: rules[index] }),
      ...(extra?.[index] && { extra: extra[index] }),
      ...(names && { name: names[index] ?? null }),
    })),
    ...(names && { names: true }),
    steps: stepsOf(short, { pool: 'pools', node: 'nodes' }, 'provider'),
  };
};

const BESIDE = { coolOffSeconds: 0, rules: { drainPolicy: 'OnCordon' } } as const;

export const ofRouted = ({ policies, services, routed, pool, jobs, ...short }: ShortRouted): History => {
  const { seed, nodes, perNode, holders, restarts, actionMs, callMs, firewallMs, restsMs } = short;
  const isListed = pool.length > 0 || short.steps.some(({ what }) => what.kind === 'list');
  const steps = stepsOf(short, { routed: 'routed', service: 'services', firewall: 'firewalls', node: 'nodes' }, 'provider');
  return {
    ...{ seed, nodes, perNode, holders, restarts, actionMs, callMs, firewallMs },
    ...(restsMs !== undefined && { restsMs }),
    ...(isListed && { pools: [{ ips: pool, ...BESIDE }] }),
    routed: { policies, services, routed, ...(jobs && { jobs }) },
    steps: [
      ...(isListed && pool.length === 0 ? [beside(0, { kind: 'removePool', pool: 0 })] : []),
      ...steps.flatMap((step) => {
        const { afterMs, what } = step as ShortRouted['steps'][number];
        return what.kind === 'list' ? listed(afterMs, what.addresses) : [step];
      }),
    ],
  };
};

const beside = (afterMs: number, what: PoolHappening): Step => ({ afterMs, in: 'pools', what });
const listed = (afterMs: number, addresses: readonly number[]): readonly Step[] =>
  addresses.length === 0
    ? [beside(afterMs, { kind: 'removePool', pool: 0 })]
    : [beside(afterMs, { kind: 'list', pool: 0, addresses }), beside(0, { kind: 'makePool', pool: 0 })];

/** An account of which nothing is needed. */
const NO_ACCOUNT = {
  nodes: 0,
  perNode: 1,
  holders: [],
  restarts: false,
  actionMs: [300, 300],
  callMs: [10, 10],
  firewallMs: [0, 0],
} as const;

export const ofVips = ({ services, groups, wipesIngress, callMs, watchMs, ...short }: ShortVips): History => ({
  ...NO_ACCOUNT,
  seed: short.seed,
  api: { wipesIngress, callMs, watchMs },
  vips: { services, groups },
  steps: stepsOf(short, { verb: 'api' }, 'vips'),
});

export const ofVirtualIPs = ({ vips, group, wipesIngress, callMs, watchMs, ...short }: ShortVirtualIPs): History => ({
  ...NO_ACCOUNT,
  seed: short.seed,
  api: { wipesIngress, callMs, watchMs },
  virtualIPs: { vips, group },
  steps: stepsOf(short, { verb: 'api' }, 'virtualIPs'),
});
