import type { RoutedIP } from '../crds/generated/routedip.ts';
import { conditionOf, IN_DOUBT, pausedOf, unseen } from './conditions.ts';
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
    state: status?.state ?? 'unseen',
    since: sinceOf(object),
    reason: ready?.reason ?? '',
    message: [message, stale].filter((text) => text).join('; '),
    next: pausedOf(object) ?? nextOf(object),
    attention: stale !== null || ready?.status !== 'True' || shut,
  };
}

function sinceOf(object: RoutedIP): Since | null {
  const { lastAssignmentTime, notReadySince } = object.status ?? {};
  const ready = conditionOf(object, 'Ready');
  const noted = ready?.status === 'True' ? lastAssignmentTime : notReadySince;
  const at = noted ?? ready?.lastTransitionTime;
  return at ? { at, exact: true } : null;
}

/** What is wrong, in words. An address may be where it belongs behind a firewall that is not as it should be. */
function saidOf(object: RoutedIP): { readonly shut: boolean; readonly message: string } {
  const [ready, firewall] = [conditionOf(object, 'Ready'), conditionOf(object, 'FirewallReady')];
  const shut = ready?.status === 'True' && firewall?.status === 'False';
  const wrong = ready?.status === 'True' ? '' : (object.status?.error ?? ready?.message ?? '');
  const texts = [wrong, object.status?.inDoubt ? IN_DOUBT : '', shut ? firewall.message : ''];
  return { shut, message: texts.filter((text) => text).join('; ') };
}

function nextOf({ status }: RoutedIP): Row['next'] {
  if (status?.graceUntil) return { what: 'move', at: status.graceUntil };
  if (status?.coolOffUntil) return { what: 'retry', at: status.coolOffUntil };
  return status?.state === 'CoolOff' ? { what: 'retry', at: null } : null;
}
