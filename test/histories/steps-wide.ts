import fc from 'fast-check';
import type { Fault } from '../../adapters/memory/faults.ts';
import { ADDRESSES, type Happening, type History, happen, index, of, type Step, stepOf, stepsOf, usual, world } from './steps.ts';

const POOLS = 2;
const NAMES = 2;
/** Addresses that are there, and some that are made on the way. */
const MANY = ADDRESSES + 3;

const ofWishes = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('want'), pool: index(POOLS), extra: index(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: of('name'), pool: index(POOLS), name: fc.option(index(NAMES)) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: of('nameNodes'), name: index(NAMES), of: fc.constantFrom('machines' as const, 'pools' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: of('removeNodeSet', 'breakNodeSet', 'mendNodeSet') }) },
);
const ofHands = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: of('dropRecord', 'changeRecord', 'addRecord', 'addAlias'), name: index(NAMES) }) },
  { weight: 1, arbitrary: fc.record({ kind: of('deleteByHand', 'restoreByHand', 'lockByHand'), address: index(MANY) }) },
);
/** What a write of a record may be answered besides. */
const ofRecords: fc.Arbitrary<Fault> = fc.oneof(
  usual,
  fc.record({
    kind: fc.constant('refuse' as const),
    error: fc.constantFrom('NotFound' as const, 'Conflict' as const, 'Invalid' as const),
  }),
);
const faultOf = <V extends string>(verb: fc.Arbitrary<V>, fault: fc.Arbitrary<Fault>) =>
  fc.record({ kind: of('fault'), verb, fault, times: fc.integer({ min: 1, max: 3 }) });
const ofFaults = fc.oneof(
  {
    weight: 3,
    arbitrary: faultOf(fc.constant('createRoutedIP' as const), fc.oneof(usual, fc.constant<Fault>({ kind: 'refuse', error: 'Invalid' }))),
  },
  {
    weight: 4,
    arbitrary: faultOf(fc.constantFrom('createDNSRecord' as const, 'updateDNSRecord' as const, 'deleteDNSRecord' as const), ofRecords),
  },
  {
    weight: 2,
    arbitrary: faultOf(fc.constant('listDNSRecords' as const), fc.oneof(usual, fc.constant<Fault>({ kind: 'refuse', error: 'NotFound' }))),
  },
);

const ofOne = stepOf(
  fc.oneof(
    { weight: 5, arbitrary: happen.nodes },
    { weight: 2, arbitrary: happen.pools },
    { weight: 3, arbitrary: ofWishes },
    { weight: 1, arbitrary: happen.people },
    { weight: 1, arbitrary: ofHands },
    { weight: 3, arbitrary: happen.provider },
    { weight: 4, arbitrary: ofFaults },
    { weight: 2, arbitrary: happen.processes },
    { weight: 2, arbitrary: happen.stores },
  ),
);

/** A call that may have made an address, or not. */
const unanswered: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constantFrom('loseRequest' as const, 'loseReply' as const, 'hang' as const) }),
  fc.record({ kind: fc.constant('hang' as const), effectAfterMs: fc.integer({ min: 100, max: 14_900 }) }),
  fc.constant<Fault>({ kind: 'refuse', error: 'Unavailable' }),
);
const soon = (what: fc.Arbitrary<unknown>): fc.Arbitrary<Step> =>
  fc.record({ afterMs: fc.integer({ min: 0, max: 2_000 }), what: what as fc.Arbitrary<Happening> });
/** A creation has no answer, and something else goes wrong while nobody knows what became of it. */
const ofDoubt: fc.Arbitrary<readonly Step[]> = fc.tuple(
  soon(fc.record({ kind: of('fault'), verb: fc.constant('createRoutedIP' as const), fault: unanswered, times: fc.constant(1) })),
  soon(fc.record({ kind: of('want'), pool: index(POOLS), extra: fc.integer({ min: 1, max: 3 }) })),
  soon(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: of('removePool'), pool: index(POOLS) }) },
      { weight: 2, arbitrary: fc.record({ kind: of('makeByHand') }) },
      { weight: 2, arbitrary: happen.processes },
      { weight: 2, arbitrary: happen.stores },
      { weight: 1, arbitrary: fc.record({ kind: of('staleReads'), ms: fc.integer({ min: 100, max: 8_000 }) }) },
    ),
  ),
  soon(faultOf(fc.constant('listRoutedIPs' as const), usual)),
);
const step = fc.oneof({ weight: 10, arbitrary: ofOne }, { weight: 1, arbitrary: ofDoubt });

/** Pools that make addresses themselves, and names under which pools and nodes are published. */
export const wideHistory: fc.Arbitrary<History> = fc.record({
  ...world,
  pools: fc.constantFrom<readonly number[][]>([[]], [[0]], [[0], []], [[0, 1], [2]], [[0], [0, 1]]),
  extra: fc.array(index(3), { minLength: POOLS, maxLength: POOLS }),
  names: fc.array(fc.option(index(NAMES)), { minLength: POOLS, maxLength: POOLS }),
  steps: stepsOf(step),
});
