import fc from 'fast-check';
import type { Fault } from '../../adapters/memory/faults.ts';
import type { VipVerb } from '../../adapters/memory/vip-world.ts';

/** What may happen to Services, IPGroups, IPs and those who serve them. Plain data. Numbers choose among what exists. */
export type VipHappening =
  | { readonly kind: 'create' | 'delete' | 'deleteByForce' | 'takeFinalizer'; readonly service: number }
  | { readonly kind: 'type'; readonly service: number; readonly type: 'LoadBalancer' | 'ClusterIP' | 'NodePort' }
  | { readonly kind: 'ask' | 'annotate'; readonly service: number; readonly address: number | null }
  | { readonly kind: 'pin'; readonly service: number; readonly group: number | null }
  /** Somebody else writes the ingress: an address, a hostname (null), or nothing (−1). */
  | { readonly kind: 'list'; readonly service: number; readonly address: number | null }
  | { readonly kind: 'group'; readonly group: number; readonly spec: number | null }
  /** An administrator reserves an address for a Service, with its uid or without, or for nobody (null). */
  | { readonly kind: 'reserve'; readonly address: number; readonly service: number | null; readonly isOld: boolean }
  | { readonly kind: 'unreserve'; readonly address: number }
  | VipTrouble;

/** What may happen to the operator, its calls, its watches and what it keeps its records in. */
export type VipTrouble =
  | { readonly kind: 'fault'; readonly verb: VipVerb | 'any'; readonly fault: Fault; readonly times: number }
  | { readonly kind: 'hold' | 'tell' }
  | { readonly kind: 'start' | 'kill' | 'killAll' | 'stop' | 'freeze' | 'deleteLease' | 'cutLease' | 'mendLease' }
  | { readonly kind: 'storeDown' | 'storeUp' | 'queuesDown' | 'queuesUp' | 'loseReply' | 'wipe' | 'wipeAtRest' | 'goBack' | 'wipeQueues' }
  | { readonly kind: 'jump'; readonly ms: number };

export interface VipStep {
  /** Virtual ms since the step before. */
  readonly afterMs: number;
  readonly what: VipHappening;
}

export interface VipHistory {
  /** How many Services are there at first. */
  readonly services: number;
  /** By group: its spec at first, of `SPECS`; null for none. */
  readonly groups: readonly (number | null)[];
  readonly wipesIngress: boolean;
  readonly callMs: readonly [number, number];
  readonly watchMs: readonly [number, number];
  readonly seed: number;
  readonly steps: readonly VipStep[];
}

export const SERVICES = 4;
export const serviceName = (index: number): string => `s${index}`;
export const groupName = (index: number): string => `g${index}`;
/** The last one is of no group. */
export const VIP_ADDRESSES = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.1.0', '10.9.9.9'] as const;

/** By group: what its spec may be. The first two overlap. */
export const SPECS: readonly (readonly { readonly segment: string; readonly excludedIPs: readonly string[] }[])[] = [
  [
    { segment: '10.0.0.0/30', excludedIPs: ['10.0.0.0'] },
    { segment: '10.0.0.0/30', excludedIPs: ['10.0.0.0', '10.0.0.1', '10.0.0.3'] },
    { segment: 'banana', excludedIPs: [] },
  ],
  [
    { segment: '10.0.0.2/31', excludedIPs: [] },
    { segment: '10.0.1.0/32', excludedIPs: [] },
    { segment: '10.0.0.2/31', excludedIPs: ['10.0.0.2'] },
  ],
];

const index = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
const maybe = (count: number): fc.Arbitrary<number | null> => fc.option(index(count));
const service = index(SERVICES);
const of = <K extends VipHappening['kind']>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);

/** How a call of the API server may end. */
export const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constantFrom('Unavailable' as const, 'Unauthorized' as const, 'Conflict' as const, 'Invalid' as const),
  }),
  fc.record({ kind: fc.constantFrom('noConnection' as const, 'loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
  fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 20_000 }) }),
);

const ofServices: fc.Arbitrary<VipHappening> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('create'), service }) },
  { weight: 3, arbitrary: fc.record({ kind: of('delete'), service }) },
  { weight: 1, arbitrary: fc.record({ kind: of('deleteByForce', 'takeFinalizer'), service }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: of('type'),
      service,
      type: fc.constantFrom('LoadBalancer' as const, 'ClusterIP' as const, 'NodePort' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: of('ask'), service, address: maybe(VIP_ADDRESSES.length) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('annotate'), service, address: maybe(VIP_ADDRESSES.length) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('pin'), service, group: maybe(3) }) },
);

const byHand: fc.Arbitrary<VipHappening> = fc.oneof(
  fc.record({ kind: of('list'), service, address: fc.option(fc.integer({ min: -1, max: VIP_ADDRESSES.length - 1 })) }),
  fc.record({ kind: of('group'), group: index(SPECS.length), spec: maybe(3) }),
  fc.record({ kind: of('reserve'), address: index(4), service: maybe(SERVICES), isOld: fc.boolean() }),
  fc.record({ kind: of('unreserve'), address: index(4) }),
);

const VERBS = ['guard', 'reserve', 'publish', 'free', 'unguard', 'look', 'any'] as const;
export const trouble: fc.Arbitrary<VipTrouble> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: of('fault'), verb: fc.constantFrom(...VERBS), fault, times: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: of('hold', 'tell') }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: of('start', 'kill', 'killAll', 'stop', 'freeze', 'deleteLease', 'cutLease', 'mendLease') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: of('storeDown', 'storeUp', 'queuesDown', 'queuesUp', 'loseReply', 'wipe', 'wipeAtRest', 'goBack', 'wipeQueues'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('jump'), ms: fc.constantFrom(-30_000, 5_000, 90_000) }) },
);

/** From one step to the next, virtual ms. */
export const pause: fc.Arbitrary<number> = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 60 }),
  fc.integer({ min: 60, max: 1_500 }),
  fc.integer({ min: 1_500, max: 16_000 }),
  fc.integer({ min: 16_000, max: 70_000 }),
);
const step: fc.Arbitrary<VipStep> = fc.record({
  afterMs: pause,
  what: fc.oneof({ weight: 6, arbitrary: ofServices }, { weight: 2, arbitrary: byHand }, { weight: 4, arbitrary: trouble }),
});

export const between = (least: number, most: number): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.integer({ min: 0, max: least }), fc.integer({ min: least, max: most }));

export const vipHistory: fc.Arbitrary<VipHistory> = fc.record({
  services: fc.integer({ min: 0, max: SERVICES }),
  groups: fc.tuple(fc.constantFrom(0, 0, 0, 1, null), maybe(3)),
  wipesIngress: fc.boolean(),
  callMs: between(10, 150),
  watchMs: fc.oneof(between(5, 100), between(500, 9_000)),
  seed: fc.nat(1_000_000),
  steps: fc.array(step, { minLength: 1, maxLength: 14 }),
});
