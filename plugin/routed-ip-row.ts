import type { RoutedIP } from '../crds/generated/routedip.ts';
import { conditionOf, IN_DOUBT, joined, pausedOf, reasonOf, stateless, troubleOf, unseen, wrongWith } from './conditions.ts';
import type { Row, Since } from './row.ts';

export function routedIPRow(object: RoutedIP): Row {
  const { metadata, spec, status } = object;
  const ready = conditionOf(object, 'Ready');
  const stale = unseen(object);
  const { shut, message } = saidOf(object);
  return {
    kind: 'routedip',
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    address: status?.routedIP || spec.routedIP || null,
    where: status?.assignedNode ?? status?.providerID ?? null,
    state: status?.state ?? stateless(object),
    since: sinceOf(object),
    reason: status?.graceUntil && ready?.status === 'True' ? 'Recovering' : reasonOf(object),
    message: joined(message, stale),
    next: pausedOf(object) ?? nextOf(object),
    attention: stale !== null || ready?.status !== 'True' || troubleOf(object) !== null || shut,
  };
}

function sinceOf(object: RoutedIP): Since | null {
  const { lastAssignmentTime, notReadySince } = object.status ?? {};
  const ready = conditionOf(object, 'Ready');
  const at = notReadySince ?? (ready?.status === 'True' ? lastAssignmentTime : null) ?? ready?.lastTransitionTime;
  return at ? { at, exact: true } : null;
}

/** What is wrong, in words. An address may be in its place behind a firewall that is wrong. */
function saidOf(object: RoutedIP): { readonly shut: boolean; readonly message: string } {
  const [ready, firewall] = [conditionOf(object, 'Ready'), conditionOf(object, 'FirewallReady')];
  const shut = ready?.status === 'True' && firewall?.status === 'False';
  const wrong = wrongWith(object);
  const closed = shut && !wrong.includes(firewall.message) ? firewall.message : '';
  return { shut, message: joined(wrong, object.status?.inDoubt ? IN_DOUBT : '', closed) };
}

function nextOf({ status }: RoutedIP): Row['next'] {
  if (status?.contendedUntil) return { what: 'resume', at: status.contendedUntil };
  if (status?.graceUntil) return { what: 'move', at: status.graceUntil };
  if (status?.coolOffUntil) return { what: 'retry', at: status.coolOffUntil };
  return status?.state === 'CoolOff' ? { what: 'retry', at: null } : null;
}
