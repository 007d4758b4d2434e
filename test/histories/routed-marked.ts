import fc from 'fast-check';
import { kindOf, NODES, ROUTED, type RoutedHistory, routedHappen, routedHistory, routedSteps } from './routed-steps.ts';
import { happen, index } from './steps.ts';

/** What people ask for by annotations. */
const ofMarks = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: kindOf('pause', 'resume'), routed: index(ROUTED) }) },
  { weight: 4, arbitrary: fc.record({ kind: kindOf('moveTo'), routed: index(ROUTED), node: index(NODES) }) },
  { weight: 3, arbitrary: fc.record({ kind: kindOf('evacuate', 'evacuate', 'stay'), node: index(NODES) }) },
);

const steps = routedSteps(
  fc.oneof(
    { weight: 6, arbitrary: ofMarks },
    { weight: 4, arbitrary: routedHappen.nodes },
    { weight: 2, arbitrary: routedHappen.services },
    { weight: 1, arbitrary: routedHappen.policies },
    { weight: 2, arbitrary: routedHappen.routed },
    { weight: 1, arbitrary: routedHappen.people },
    { weight: 3, arbitrary: routedHappen.provider },
    { weight: 2, arbitrary: routedHappen.processes },
    { weight: 1, arbitrary: happen.stores },
  ),
);

const TWO_VERIFICATIONS = 130_000;

/** RoutedIPs that people pause and send about, on nodes that they evacuate. The other histories stay what they are: a seed means the same as before. */
export const markedRoutedHistory: fc.Arbitrary<RoutedHistory> = fc
  .tuple(routedHistory, steps)
  .map(([given, marked]) => ({ ...given, restsMs: TWO_VERIFICATIONS, steps: marked }));
