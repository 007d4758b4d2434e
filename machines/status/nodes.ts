import { failureReason } from '../model/failure.ts';
import { several, shortList } from '../model/several.ts';
import type { Address, Finding, Leaving, NodeRef, ObjectEvent } from '../model/types.ts';
import { restsUntil } from '../policy/contention.ts';
import { type Absence, absenceOf } from '../policy/recovery-grace.ts';
import type { Member } from '../pool/assignment.ts';
import { entries, leavingNode, type PoolContext, wanted } from '../pool/context.ts';
import { isHeld } from '../pool/node-absence.ts';
import { type AddressView, type PoolView, stamp } from '../pool/view.ts';

/** Status and Events about nodes that are absent or about to go, and about addresses moved by other controllers. */

// ---------------------------------------------------------------- in the status

export interface HeldNode {
  readonly name: string;
  readonly providerID: string;
  readonly notReadySince: string;
}

/** The nodes that a hold covers: a rebuild needs them. */
export const heldNodes = ({ absent }: PoolContext): readonly HeldNode[] =>
  absent.map(({ node: { name, providerID }, since }) => ({ name, providerID, notReadySince: stamp(since) }));

export interface AddressWaits {
  readonly contendedUntil?: string;
  readonly notReadySince?: string;
  readonly graceUntil?: string;
  readonly held?: boolean;
}

/** Why an address stays where it is although its node does not match, or is not moved to one that does, and until when. */
export function waitsOf(view: PoolView, address: Address): AddressWaits {
  const { context } = view;
  const absence = absenceShown(view, address);
  const contended = contendedUntil(view, address);
  const wait = (since: number) => (isHeld(context) ? { held: true } : { graceUntil: stamp(since + (context.spec?.graceMs ?? 0)) });
  return {
    ...(contended !== null && { contendedUntil: stamp(contended) }),
    ...(absence && { notReadySince: stamp(absence.since), ...wait(absence.since) }),
  };
}

/** The absence of an active address's node, if that stopped matching. */
function absenceShown({ context, addresses }: PoolView, address: Address): Absence | null {
  const assigned = activeOn(addresses[address]);
  return assigned && absenceOf(context.absent, assigned);
}

const activeOn = (shown: AddressView | undefined): NodeRef | null => (shown?.state === 'Stable' ? shown.context.assigned : null);

/** Until when an address is left where another controller put it, ms since the epoch; null for one that is not. */
function contendedUntil({ context: { members, spec }, at }: PoolView, address: Address): number | null {
  const member = members[address];
  return member && !member.node && !member.retiring ? restsUntil(member.contest, spec?.contention ?? null, at) : null;
}

// ---------------------------------------------------------------- in conditions

/** Nothing is moved. */
export const hold = ({ context }: PoolView): Finding | null =>
  isHeld(context) ? { reason: 'SafeHold', message: holdText(context) } : null;

/** Addresses are left to another controller. */
export function contention(view: PoolView): Finding | null {
  const left = entries(view.context.members).filter(([address]) => contendedUntil(view, address) !== null);
  const texts = left.map(([address, member]) => leftText(view.context, address, member));
  return texts.length > 0 ? { reason: 'Contended', message: several(texts) } : null;
}

/** Addresses have to leave their nodes. */
export function draining({ context, addresses }: PoolView): Finding | null {
  const texts = wanted(context).flatMap((address) => {
    const node = activeOn(addresses[address]);
    const leaving = node && leavingNode(context, node);
    return leaving ? [drainText(address, leaving)] : [];
  });
  return texts.length > 0 ? { reason: 'Draining', message: several(texts) } : null;
}

/** Addresses that have to leave their nodes were refused elsewhere. Shown until they have left, also while a node is retried. */
export function refused({ context }: PoolView): Finding | null {
  const refusals = wanted(context).flatMap((address) => refusalOf(address, context.members[address]) ?? []);
  const [first] = refusals;
  return first ? { reason: first.reason, message: several(refusals.map(({ message }) => message)) } : null;
}

const refusalOf = (address: Address, { refused, stands }: Partial<Member> = {}): Finding | null => {
  if (!refused || !stands) return null;
  const message = `${address} is to leave ${stands.name}, but ${refused.node} did not take it: ${refused.message}`;
  return { reason: failureReason(refused), message };
};

/** Addresses wait for their nodes. */
export function recovering(view: PoolView): Finding | null {
  const texts = wanted(view.context).flatMap((address) => {
    const absence = isHeld(view.context) ? null : absenceShown(view, address);
    return absence ? [graceText(view.context, address, absence)] : [];
  });
  return texts.length > 0 ? { reason: 'Recovering', message: several(texts) } : null;
}

// ---------------------------------------------------------------- in Events

/** What started between the two contexts. */
export const nodeEvents = (before: PoolContext | undefined, after: PoolContext): readonly ObjectEvent[] => [
  ...(after.held && !before?.held ? [{ type: 'Warning' as const, reason: 'SafeHold', action: 'Hold', message: holdText(after) }] : []),
  ...entries(after.members).flatMap(([address, member]) =>
    [graceEvent, drainEvent, refusalEvent, contentionEvent].flatMap((eventOf) => eventOf(before, after, address, member) ?? []),
  ),
];

type EventOf = (before: PoolContext | undefined, after: PoolContext, address: Address, member: Member) => ObjectEvent | null;

/** A node's grace has started. */
const graceEvent: EventOf = (before, after, address, { node, eligible }) => {
  const absence = node && eligible && !after.held ? absenceOf(after.absent, node) : null;
  if (!absence || absenceOf(before?.absent ?? [], absence.node)?.since === absence.since) return null;
  return { type: 'Normal', reason: 'Recovering', action: 'Wait', message: graceText(after, address, absence) };
};

/** A node is about to go on which the address serves, or served until another node was free in the same turn. */
const drainEvent: EventOf = (before, after, address, member) => {
  const node = servesOn(before?.members[address]) ?? servesOn(member);
  const leaving = node && leavingNode(after, node);
  if (!leaving || (before && leavingNode(before, leaving))) return null;
  return { type: 'Normal', reason: 'Draining', action: 'Drain', message: drainText(address, leaving) };
};

const servesOn = (member: Member | undefined): NodeRef | null => (member?.confirmed ? member.node : null);

/** An address is left to another controller. */
const contentionEvent: EventOf = (before, after, address, member) => {
  if (member.contest.restsSince === null || member.node || (before?.members[address]?.contest.restsSince ?? null) !== null) return null;
  return { type: 'Warning', reason: 'Contended', action: 'Verify', message: leftText(after, address, member) };
};

/** Another node refused an address that has to leave its own. */
const refusalEvent: EventOf = (before, _, address, member) => {
  const refusal = before?.members[address]?.refused ? null : refusalOf(address, member);
  return refusal && { type: 'Warning', action: 'Drain', ...refusal };
};

// ---------------------------------------------------------------- texts

const graceText = ({ spec }: PoolContext, address: Address, { node, since }: Absence): string =>
  `${node.name} is not Ready, or runs no Ready pod: ${address} stays there until ${stamp(since + (spec?.graceMs ?? 0))}`;

const drainText = (address: Address, { name, evacuating }: Leaving): string =>
  `${name} is ${evacuating ? 'to be evacuated' : 'cordoned or about to go'}: ${address} leaves it as soon as another node is free`;

function leftText({ spec }: PoolContext, address: Address, { contest, holder }: Member): string {
  const { windowMs = 0, takeover = 'Yield' } = spec?.contention ?? {};
  const where = holder ? `on ${holder}` : 'attached to nothing';
  const until = stamp((contest.restsSince ?? 0) + windowMs);
  const then = takeover === 'Yield' ? `tried again at ${until} unless it is moved before` : `taken back at ${until}`;
  return `${address} was moved by somebody else ${contest.moves.length} times within ${windowMs / 1000} s: it is left ${where}, and ${then}`;
}

function holdText({ absent, spec }: PoolContext): string {
  const names = absent.map(({ node: { name } }) => name);
  const allowed = spec?.safeHold?.maxUnavailable ?? 0;
  const count = `${names.length} nodes where maxUnavailable is ${allowed}`;
  const end = 'no address is moved until they are back or maxUnavailable is raised';
  return `${shortList(names)} do not match any more, ${count}, and the provider does not say that their machines are gone: ${end}`;
}
