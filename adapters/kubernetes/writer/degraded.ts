import type { ClusterEvent } from '../../../actors/ports/cluster.ts';
import type { Log } from '../../../actors/ports/observers.ts';
import type { Condition } from '../../../machines/model/types.ts';

/** Reasons of Degraded that no step of an address reports as an Event, and for which kinds to report them; there may be thousands of RoutedIPs. */
const UNREPORTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['NoEligibleNode', ['FloatingIPPool', 'RoutedIP']],
  ['Paused', ['FloatingIPPool', 'RoutedIP']],
  ['Unverified', ['FloatingIPPool']],
]);

type Conditions = ReadonlyMap<string, Condition>;

interface Shown {
  readonly kind: string;
  /** For the log. */
  readonly object: string;
  readonly before: Conditions;
  readonly after: Conditions;
}

/** Logs when an object becomes degraded, for another reason, or recovers. Returns the Events for it that nothing else reports. */
export function tellDegraded(log: Log, { kind, object, before, after }: Shown): readonly ClusterEvent[] {
  const [was, is] = [degradedIn(before), degradedIn(after)];
  if (is?.reason === was?.reason) return [];
  if (!is) {
    log.info('an object is degraded no more', { object, reason: was?.reason });
    return [];
  }
  const { reason, message } = is;
  log.warn('an object is degraded', { object, reason, message });
  return UNREPORTED.get(reason)?.includes(kind) ? [{ type: 'Warning', action: 'Serve', reason, message }] : [];
}

/** Classes, issuers and IPGroups have no Degraded condition, only Ready. */
function degradedIn(conditions: Conditions): Condition | undefined {
  const [degraded, ready] = [conditions.get('Degraded'), conditions.get('Ready')];
  if (degraded) return degraded.status === 'True' ? degraded : undefined;
  return ready?.status === 'False' ? ready : undefined;
}
