import fc from 'fast-check';
import type { Fault } from '../../adapters/memory/faults.ts';
import type { Verb } from '../../adapters/memory/requests.ts';
import type { Address } from '../../machines/types.ts';

/** What may happen to the world. Plain data, so that a history can be printed, shrunk and written down. Numbers choose among what exists. */
export type Happening =
  | { readonly kind: NodeHappening; readonly node: number }
  | { readonly kind: 'moveByHand'; readonly address: number; readonly node: number | null }
  | { readonly kind: 'deleteByHand' | 'restoreByHand' | 'lockByHand'; readonly address: number }
  | { readonly kind: 'list'; readonly pool: number; readonly addresses: readonly number[] }
  | { readonly kind: 'coolOff'; readonly pool: number; readonly seconds: number }
  | { readonly kind: 'rules'; readonly pool: number; readonly rules: PoolRules }
  | { readonly kind: 'breakSpec' | 'mendSpec' | 'removePool' | 'makePool'; readonly pool: number }
  /** Somebody puts the annotation on that has the operator decide nothing, or takes it off. */
  | { readonly kind: 'pause' | 'resume'; readonly pool: number }
  /** Somebody asks for an address to go to a node, besides what was asked for before. */
  | { readonly kind: 'moveTo'; readonly pool: number; readonly address: number; readonly node: number }
  /** A person makes an address, and attaches it to nothing. */
  | { readonly kind: 'makeByHand' }
  /** So many addresses more than it lists. */
  | { readonly kind: 'want'; readonly pool: number; readonly extra: number }
  | { readonly kind: 'name'; readonly pool: number; readonly name: number | null }
  | { readonly kind: 'nameNodes'; readonly name: number; readonly of: AddressesOf }
  | { readonly kind: 'removeNodeSet' | 'breakNodeSet' | 'mendNodeSet' }
  | { readonly kind: 'dropRecord' | 'changeRecord' | 'addRecord' | 'addAlias'; readonly name: number }
  | {
      readonly kind: 'fault';
      readonly verb: Verb | 'any';
      readonly fault: Fault;
      readonly times: number;
    }
  | { readonly kind: 'staleReads'; readonly ms: number }
  | { readonly kind: 'failActions' | 'loseReplies'; readonly times: number }
  | { readonly kind: 'start' | 'kill' | 'killAll' | 'stop' | 'freeze' | 'deleteLease' | 'cutLease' | 'mendLease' }
  | { readonly kind: 'storeDown' | 'storeUp' | 'queuesDown' | 'queuesUp' | 'failWrites' | 'mendWrites' }
  | { readonly kind: 'goBack' | 'wipe' | 'wipeAtRest' | 'wipeQueues' | 'repeatJobs' }
  | { readonly kind: 'jump'; readonly ms: number };

/** `nodeEnds`: its Node is being deleted. `machineDies`: the machine behind it is deleted at the provider, and the Node stays and is not Ready; `machineGoes`:
 *  both are gone at once. `doom` and `spare`: the autoscaler is about to take it away, or not any more. `evacuate` and `stay`: somebody asks for every address to
 *  leave it, or not any more. */
export type NodeHappening =
  | 'nodeFails'
  | 'nodeRecovers'
  | 'nodeGoes'
  | 'nodeComes'
  | 'nodeEnds'
  | 'machineGoes'
  | 'machineDies'
  | 'cordon'
  | 'uncordon'
  | 'doom'
  | 'spare'
  | 'evacuate'
  | 'stay';

/** What a spec says of how much is borne before an address is moved, in its own words. */
export interface PoolRules {
  readonly recoveryGraceSeconds?: number;
  readonly drainPolicy?: 'OnNotReady' | 'OnCordon';
  readonly safeHold?: { readonly maxUnavailable: number; readonly windowSeconds: number };
  readonly contention?: { readonly moves: number; readonly windowSeconds: number; readonly takeover: 'Yield' | 'Reclaim' };
}

/** Which addresses of its nodes a NodeDNSRecordSet publishes: those of the machines, or those that pools have put there. */
export type AddressesOf = 'machines' | 'pools';

export interface Step {
  /** Virtual ms since the step before. */
  readonly afterMs: number;
  readonly what: Happening;
}

export interface History {
  readonly nodes: number;
  /** By pool: which addresses it lists at first. */
  readonly pools: readonly (readonly number[])[];
  readonly addresses: number;
  /** By address: the node that holds it at first, or null. */
  readonly holders: readonly (number | null)[];
  readonly coolOffSeconds: number;
  readonly actionMs: readonly [number, number];
  readonly callMs: readonly [number, number];
  readonly seed: number;
  readonly steps: readonly Step[];
  /** By pool: its rules at first. None where this is not given. */
  readonly rules?: readonly PoolRules[];
  /** By pool: how many addresses more than it lists it wants at first. */
  readonly extra?: readonly number[];
  /** By pool: the name under which it is published at first, or null. There are names where this is given. */
  readonly names?: readonly (number | null)[];
}

/** What the numbers of a history stand for. */
export const nodeName = (index: number): string => `n${index}`;
/** Addresses that somebody else made. Those that are made on the way have lower numbers. */
export const addressOf = (index: number): Address => `203.0.113.${200 + index}` as Address;
/** Where names stand. */
export const ZONE = 'example.com';
export const nameOf = (index: number): string => (index === 0 ? 'web' : 'www');

export const NODES = 5;
export const ADDRESSES = 4;
export const index = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
export const of = <K extends Happening['kind']>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);

/** What may happen to any call. */
export const usual: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant('refuse' as const), error: fc.constantFrom('Unavailable' as const, 'Unauthorized' as const) }),
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constant('RateLimited' as const),
    retryAfterMs: fc.integer({ min: 500, max: 20_000 }),
  }),
  fc.record({ kind: fc.constantFrom('noConnection' as const, 'loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
  fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 14_900 }) }),
);
/** What an assign may be answered besides. */
const ofAssign: fc.Arbitrary<Fault> = fc.oneof(
  usual,
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constantFrom('InProgress' as const, 'NodeInUse' as const, 'Invalid' as const, 'Conflict' as const),
  }),
);

const ofNodes = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('nodeFails'), node: index(NODES) }) },
  { weight: 3, arbitrary: fc.record({ kind: of('nodeRecovers'), node: index(NODES) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('nodeGoes', 'nodeComes', 'machineGoes', 'machineDies'), node: index(NODES) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('cordon', 'cordon', 'uncordon', 'doom', 'spare', 'nodeEnds'), node: index(NODES) }) },
);
const windowSeconds = fc.constantFrom(20, 60, 300);
/** Each rule by itself: most specs have none, some have several. */
const ofRules: fc.Arbitrary<PoolRules> = fc.record(
  {
    recoveryGraceSeconds: fc.constantFrom(5, 30, 120),
    drainPolicy: fc.constantFrom('OnCordon' as const, 'OnNotReady' as const),
    safeHold: fc.record({ maxUnavailable: fc.integer({ min: 1, max: 2 }), windowSeconds }),
    contention: fc.record({
      moves: fc.integer({ min: 1, max: 2 }),
      windowSeconds,
      takeover: fc.constantFrom('Yield' as const, 'Reclaim' as const),
    }),
  },
  { requiredKeys: [] },
);
const POOLS = 2;
const ofPools = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('list'), pool: index(2), addresses: fc.uniqueArray(index(ADDRESSES), { minLength: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('coolOff'), pool: index(2), seconds: fc.constantFrom(0, 3, 10) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('rules'), pool: index(POOLS), rules: ofRules }) },
  { weight: 2, arbitrary: fc.record({ kind: of('breakSpec', 'mendSpec', 'removePool', 'makePool'), pool: index(2) }) },
);
const ofPeople = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('moveByHand'), address: index(ADDRESSES), node: fc.option(index(NODES)) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('deleteByHand', 'restoreByHand', 'lockByHand'), address: index(ADDRESSES) }) },
);
const ofProvider = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: of('fault'),
      verb: fc.constant('assignRoutedIP' as const),
      fault: ofAssign,
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: of('fault'),
      verb: fc.constantFrom('findRoutedIP' as const, 'listRoutedIPs' as const, 'findNode' as const, 'findNode' as const, 'any' as const),
      fault: usual,
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('staleReads'), ms: fc.integer({ min: 100, max: 8_000 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('failActions'), times: fc.integer({ min: 1, max: 2 }) }) },
);
const ofProcesses = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('start') }) },
  { weight: 3, arbitrary: fc.record({ kind: of('kill', 'killAll', 'stop', 'freeze', 'deleteLease', 'cutLease', 'mendLease') }) },
);
const ofStores = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: of('storeDown', 'storeUp', 'queuesDown', 'queuesUp', 'failWrites', 'mendWrites') }) },
  { weight: 2, arbitrary: fc.record({ kind: of('goBack', 'wipe', 'wipeAtRest', 'wipeQueues', 'repeatJobs') }) },
  { weight: 1, arbitrary: fc.record({ kind: of('loseReplies'), times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('jump'), ms: fc.integer({ min: -3_600_000, max: 3_600_000 }) }) },
);

/** What may happen in every kind of history, by what it happens to. */
export const happen = { nodes: ofNodes, people: ofPeople, pools: ofPools, processes: ofProcesses, provider: ofProvider, stores: ofStores };

/** What happens, and how long after what happened before. */
export const stepOf = (what: fc.Arbitrary<unknown>): fc.Arbitrary<Step> =>
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 20_000 })),
    what: what as fc.Arbitrary<Happening>,
  });

const step = stepOf(
  fc.oneof(
    { weight: 5, arbitrary: ofNodes },
    { weight: 2, arbitrary: ofPools },
    { weight: 2, arbitrary: ofPeople },
    { weight: 4, arbitrary: ofProvider },
    { weight: 2, arbitrary: ofProcesses },
    { weight: 2, arbitrary: ofStores },
  ),
);

const range = (max: number): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.integer({ min: 0, max: Math.floor(max / 2) }), fc.integer({ min: Math.floor(max / 2), max }));

/** Some of them may come several at a time. */
export const stepsOf = (step: fc.Arbitrary<Step | readonly Step[]>): fc.Arbitrary<readonly Step[]> =>
  fc.array(step, { minLength: 3, maxLength: 25, size: 'max' }).map((steps) => steps.flat());

/** Whatever is the same in all histories. */
export const world = {
  nodes: fc.integer({ min: 1, max: NODES }),
  addresses: fc.constant(ADDRESSES),
  holders: fc.array(fc.option(index(NODES)), { minLength: ADDRESSES, maxLength: ADDRESSES }),
  coolOffSeconds: fc.constantFrom(0, 0, 3, 10),
  rules: fc.array(fc.oneof(fc.constant<PoolRules>({}), ofRules), { minLength: POOLS, maxLength: POOLS }),
  actionMs: range(3_000),
  callMs: range(300),
  seed: fc.integer(),
};

/** Pools of addresses that are there. */
export const history: fc.Arbitrary<History> = fc.record({
  nodes: world.nodes,
  addresses: world.addresses,
  pools: fc.oneof(
    fc.constant([[0, 1]]),
    fc.constant([[0, 1, 2]]),
    fc.constant([[0, 1], [2]]),
    fc.constant([
      [0, 1],
      [1, 2, 3],
    ]),
  ),
  holders: world.holders,
  coolOffSeconds: world.coolOffSeconds,
  rules: world.rules,
  actionMs: world.actionMs,
  callMs: world.callMs,
  seed: world.seed,
  steps: stepsOf(step),
});
