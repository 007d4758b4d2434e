import fc from 'fast-check';
import { ADDRESSES, type History, happen, history, index, NODES, of, stepOf, stepsOf } from './steps.ts';

/** What people ask for by annotations. */
const ofMarks = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: of('pause', 'resume'), pool: index(2) }) },
  { weight: 4, arbitrary: fc.record({ kind: of('moveTo'), pool: index(2), address: index(ADDRESSES), node: index(NODES) }) },
  { weight: 4, arbitrary: fc.record({ kind: of('evacuate', 'evacuate', 'stay'), node: index(NODES) }) },
);

const step = stepOf(
  fc.oneof(
    { weight: 6, arbitrary: ofMarks },
    { weight: 4, arbitrary: happen.nodes },
    { weight: 2, arbitrary: happen.pools },
    { weight: 1, arbitrary: happen.people },
    { weight: 3, arbitrary: happen.provider },
    { weight: 2, arbitrary: happen.processes },
    { weight: 2, arbitrary: happen.stores },
  ),
);

/** Pools of addresses that are there, which people pause and whose addresses they send about, on nodes that they evacuate. The other histories stay what they
 *  are: a seed means the same as before. */
export const markedHistory: fc.Arbitrary<History> = fc.tuple(history, stepsOf(step)).map(([given, steps]) => ({ ...given, steps }));
