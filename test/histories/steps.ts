import fc from 'fast-check';
import type { Fault } from '../../adapters/memory/faults.ts';

/** What may happen to the world. Plain data, so that a history can be printed, shrunk and written down. Numbers choose among what exists. */
export type Happening =
  | { readonly kind: 'nodeFails' | 'nodeRecovers' | 'nodeGoes' | 'nodeComes' | 'machineGoes'; readonly node: number }
  | { readonly kind: 'moveByHand'; readonly address: number; readonly node: number | null }
  | { readonly kind: 'deleteByHand' | 'restoreByHand' | 'lockByHand'; readonly address: number }
  | { readonly kind: 'list'; readonly pool: number; readonly addresses: readonly number[] }
  | { readonly kind: 'coolOff'; readonly pool: number; readonly seconds: number }
  | { readonly kind: 'breakSpec' | 'mendSpec' | 'removePool' | 'makePool'; readonly pool: number }
  | {
      readonly kind: 'fault';
      readonly verb: 'assignRoutedIP' | 'findRoutedIP' | 'listRoutedIPs' | 'any';
      readonly fault: Fault;
      readonly times: number;
    }
  | { readonly kind: 'staleReads'; readonly ms: number }
  | { readonly kind: 'failActions' | 'loseReplies'; readonly times: number }
  | { readonly kind: 'start' | 'kill' | 'killAll' | 'stop' | 'freeze' | 'deleteLease' | 'cutLease' | 'mendLease' }
  | { readonly kind: 'storeDown' | 'storeUp' | 'queuesDown' | 'queuesUp' | 'failWrites' | 'mendWrites' }
  | { readonly kind: 'goBack' | 'wipe' | 'wipeAtRest' | 'wipeQueues' | 'repeatJobs' }
  | { readonly kind: 'jump'; readonly ms: number };

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
}

const NODES = 5;
const ADDRESSES = 4;
const index = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
const of = <K extends Happening['kind']>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);

/** What may happen to any call. */
const usual: fc.Arbitrary<Fault> = fc.oneof(
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
    error: fc.constantFrom('InProgress' as const, 'NodeInUse' as const, 'Invalid' as const),
  }),
);

const ofNodes = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: of('nodeFails'), node: index(NODES) }) },
  { weight: 3, arbitrary: fc.record({ kind: of('nodeRecovers'), node: index(NODES) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('nodeGoes', 'nodeComes', 'machineGoes'), node: index(NODES) }) },
);
const ofPools = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('list'), pool: index(2), addresses: fc.uniqueArray(index(ADDRESSES), { minLength: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('coolOff'), pool: index(2), seconds: fc.constantFrom(0, 3, 10) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('breakSpec', 'mendSpec', 'removePool', 'makePool'), pool: index(2) }) },
);
const ofPeople = fc.oneof(
  fc.record({ kind: of('moveByHand'), address: index(ADDRESSES), node: fc.option(index(NODES)) }),
  fc.record({ kind: of('deleteByHand', 'restoreByHand', 'lockByHand'), address: index(ADDRESSES) }),
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
      verb: fc.constantFrom('findRoutedIP' as const, 'listRoutedIPs' as const, 'any' as const),
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

const step: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 20_000 })),
  what: fc.oneof(
    { weight: 5, arbitrary: ofNodes },
    { weight: 2, arbitrary: ofPools },
    { weight: 1, arbitrary: ofPeople },
    { weight: 4, arbitrary: ofProvider },
    { weight: 2, arbitrary: ofProcesses },
    { weight: 2, arbitrary: ofStores },
  ) as fc.Arbitrary<Happening>,
});

const range = (max: number): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.integer({ min: 0, max: Math.floor(max / 2) }), fc.integer({ min: Math.floor(max / 2), max }));

export const history: fc.Arbitrary<History> = fc.record({
  nodes: fc.integer({ min: 1, max: NODES }),
  addresses: fc.constant(ADDRESSES),
  pools: fc.oneof(
    fc.constant([[0, 1]]),
    fc.constant([[0, 1, 2]]),
    fc.constant([[0, 1], [2]]),
    fc.constant([
      [0, 1],
      [1, 2, 3],
    ]),
  ),
  holders: fc.array(fc.option(index(NODES)), { minLength: ADDRESSES, maxLength: ADDRESSES }),
  coolOffSeconds: fc.constantFrom(0, 0, 3, 10),
  actionMs: range(3_000),
  callMs: range(300),
  seed: fc.integer(),
  steps: fc.array(step, { minLength: 3, maxLength: 25, size: 'max' }),
});
