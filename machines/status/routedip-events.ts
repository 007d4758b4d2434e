import { isOwn } from '../address/context.ts';
import { opens } from '../address/firewall-claim.ts';
import type { FirewallContext } from '../firewall/context.ts';
import { lossOf } from '../firewall/drift.ts';
import { firewallOf } from '../model/actor-id.ts';
import type { ActorId, ObjectEvent } from '../model/types.ts';
import type { PoolContext } from '../pool/context.ts';
import type { Exposed } from '../pool/exposed.ts';
import { letsDeleteAdopted } from '../pool/service-observed.ts';
import type { AddressView } from '../pool/view.ts';

/** Events of the owner in a turn. */
export function ownerEvents(before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] {
  if (!after.exposed) return [];
  return [
    ...serviceEvents(before?.exposed ?? null, after.exposed),
    ...classEvents(before, after),
    ...adoptedEvents(before, after),
    ...groupEvents(before?.exposed ?? null, after.exposed),
    ...addressEvents(before, after),
  ];
}

const warning = (reason: string, message: string): ObjectEvent => ({ type: 'Warning', reason, action: 'Validate', message });

function serviceEvents(before: Exposed | null, { trouble, warnings }: Exposed): readonly ObjectEvent[] {
  const fresh = warnings.filter(({ message }) => !before?.warnings.some((each) => each.message === message));
  const isNew = trouble !== null && trouble.message !== before?.trouble?.message;
  return [...(isNew ? [warning(trouble.reason, trouble.message)] : []), ...fresh.map(({ reason, message }) => warning(reason, message))];
}

function classEvents(before: PoolContext | undefined, { exposed, spec }: PoolContext): readonly ObjectEvent[] {
  const { clampedFrom = null, perNode } = spec?.exposes ?? {};
  const isClamped = clampedFrom !== null && clampedFrom !== (before?.spec?.exposes?.clampedFrom ?? null);
  const isSoftened = spec?.exposes?.isTaintSoftened === true && before?.spec?.exposes?.isTaintSoftened !== true;
  const error = exposed?.policyError ?? null;
  const kept = exposed?.kept;
  const isBroken = error !== null && error !== before?.exposed?.policyError;
  return [
    ...(isClamped
      ? [warning('PerNodeIPLimitClamped', `perNodeIPLimit is ${clampedFrom}, but a node of this provider holds ${perNode} at most`)]
      : []),
    ...(isSoftened
      ? [warning('TaintEffectSoftened', 'taintEffect NoSchedule is for classes: nodes bear PreferNoSchedule for this issuer')]
      : []),
    ...(isBroken ? [warning('InvalidSpec', `${error}; what it said before goes on`)] : []),
    ...(kept && kept.message !== before?.exposed?.kept?.message
      ? [warning(kept.reason, `${kept.message}; the address that it has stays`)]
      : []),
  ];
}

/** Warns about an annotation without effect. */
function adoptedEvents(before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] {
  const isIgnored = ({ spec, exposed }: PoolContext): boolean =>
    exposed?.deleteAdopted === true && spec !== null && !letsDeleteAdopted(spec);
  const { source } = after.spec?.exposes ?? {};
  if (!source || !isIgnored(after) || (before && isIgnored(before))) return [];
  const message = `routedip.io/delete-adopted does nothing: ${source.kind} ${source.name} uses the operator's credentials`;
  return [warning('DeleteAdoptedIgnored', message)];
}

function groupEvents(before: Exposed | null, { refusal }: Exposed): readonly ObjectEvent[] {
  const isNew = refusal && refusal.message !== before?.refusal?.message;
  return isNew ? [{ type: 'Warning', reason: refusal.reason, action: 'Reserve', message: refusal.message }] : [];
}

function addressEvents(before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] {
  if (!before) return [];
  const bound = after.exposed?.bound ?? null;
  const isFound = bound !== null && before.exposed?.bound === null && !after.created.includes(bound);
  return isFound ? [{ type: 'Normal', reason: 'AddressFound', action: 'Find', message: `${bound} is used` }] : [];
}

/** The fate of an address whose RoutedIP is deleted. `atOnce`: it ended immediately, with nothing awaited. `deleted`: the outcome of its release, whatever the class now says. */
export function releaseEvent(
  { spec, exposed }: PoolContext,
  { context, state }: AddressView,
  { atOnce, deleted }: { readonly atOnce: boolean; readonly deleted: boolean },
): ObjectEvent {
  const { address, origin, claimed, inDoubtUntil } = context;
  const isAdoptedToGo = exposed?.deleteAdopted === true && isOwn(context) && spec !== null && letsDeleteAdopted(spec);
  const wasToGo = spec?.exposes?.reclaim === 'Delete' && (origin === 'Created' || isAdoptedToGo);
  const action = 'Release';
  if (atOnce && (wasToGo || claimed.length > 0 || inDoubtUntil !== null || state === 'Assigning')) {
    const message = `${address} was let go by force: what is left of it at the provider, and in its firewall, is yours to remove`;
    return { type: 'Warning', reason: 'Released', action, message };
  }
  const ipGroup = context.policy.subject?.ipGroup;
  if (ipGroup !== undefined) {
    return deleted
      ? { type: 'Normal', reason: 'Released', action, message: `${address} is free in IPGroup ${ipGroup} again` }
      : { type: 'Normal', reason: 'Retained', action, message: `${address} stays reserved in IPGroup ${ipGroup}` };
  }
  return deleted
    ? { type: 'Normal', reason: 'Released', action, message: `${address} was deleted at the provider` }
    : { type: 'Normal', reason: 'Retained', action, message: `${address} stays where it is` };
}

const OPENED: ReadonlySet<string> = new Set(['Assigning', 'Pruning', 'Stable']);
const nameOf = (firewall: ActorId): string => firewallOf(firewall).name;

/** Events of the address in a turn: its firewall confirmed that its ports are open, or that nothing unneeded is still open for it. */
export function firewallEvents(before: AddressView, after: AddressView): readonly ObjectEvent[] {
  const { address, policy, claimed, epoch, assigned } = after.context;
  const isOpened = before.state === 'FirewallOpening' && OPENED.has(after.state) && epoch === before.context.epoch && opens(after.context);
  if (isOpened && policy.firewall !== null) {
    const message = `ports of ${address} are open in ${nameOf(policy.firewall)}`;
    return [{ type: 'Normal', reason: 'FirewallOpened', action: 'OpenFirewall', message }, ...sharedEvents(before, after)];
  }
  if (before.state === 'Pruning' && after.state === 'Unassigned' && isPutOff(before, after)) return [putOff(after.context.deferred ?? '')];
  if (before.state !== 'Pruning' || !assigned) return [];
  const left = before.context.claimed.filter((firewall) => !claimed.includes(firewall)).map(nameOf);
  const former = before.context.previous.map(({ name }) => name);
  if (left.length > 0) return [pruned(`nothing is open for ${address} in ${left.join(', ')} any more`)];
  return after.state === 'Stable' && former.length > 0 ? [pruned(`nothing is open for ${address} on ${former.join(', ')} any more`)] : [];
}

/** The rules of a firewall apply to all its nodes. */
function sharedEvents(before: AddressView, { context: { open } }: AddressView): readonly ObjectEvent[] {
  const others = (open?.also ?? []).filter((port) => !before.context.open?.also.includes(port));
  if (!open || others.length === 0) return [];
  const message = `${others.join(', ')} of others is open on ${open.node}, too: the rules of ${nameOf(open.firewall)} hold for all its nodes`;
  return [{ type: 'Warning', reason: 'FirewallShared', action: 'OpenFirewall', message }];
}

const isPutOff = (before: AddressView, after: AddressView): boolean =>
  Boolean(after.context.deferred) && after.context.deferred !== before.context.deferred;

const putOff = (message: string): ObjectEvent => ({ type: 'Warning', reason: 'PruneDeferred', action: 'Prune', message });

const pruned = (message: string): ObjectEvent => ({ type: 'Normal', reason: 'Pruned', action: 'Prune', message });

/** Claimants for which something open was found missing in a turn of a firewall. */
export function losses(
  before: FirewallContext,
  after: FirewallContext,
): readonly { readonly claimant: ActorId; readonly event: ObjectEvent }[] {
  if (!after.lost || before.lost) return [];
  return Object.keys(after.claims).flatMap((claimant) => {
    const message = lossOf(after, claimant);
    const event = { type: 'Warning', reason: 'FirewallClosed', action: 'Verify', message: message ?? '' } as const;
    return message === null || !before.claims[claimant]?.isOpen ? [] : [{ claimant, event }];
  });
}

/** Claimants that were answered, in a turn of a firewall, that their claims are pruned, although its last rule had to stay. */
export function deferral(
  before: FirewallContext,
  after: FirewallContext,
): { readonly claimants: readonly ActorId[]; readonly event: ObjectEvent } | null {
  const { deferred, waiting } = after;
  if (!deferred) return null;
  const claimants = Object.keys(before.waiting).filter((claimant) => !Object.hasOwn(waiting, claimant));
  return { claimants, event: putOff(deferred) };
}
