import type { Assigned, Effect, Failed, Gone, Ready } from '../events.ts';
import { NO_FIREWALL } from '../firewall/policy.ts';
import { recordSetActor } from '../model/actor-id.ts';
import { type BackoffTables, backoffMs, waitIn } from '../model/backoff.ts';
import type { Address, NodeRef, ProviderID } from '../model/types.ts';
import { moved, restedUntil } from '../policy/contention.ts';
import { absenceOf } from '../policy/recovery-grace.ts';
import type { PoolSpec } from '../spec/pool.ts';
import { foundAt, ownedFrom } from './adoption.ts';
import { isPaused } from './annotations.ts';
import type { Member } from './assignment.ts';
import {
  addressClaim,
  entries,
  isPrimed,
  leavingNode,
  type Next,
  NOT_ACQUIRING,
  type NodeBackOff,
  next,
  type PoolContext,
  type PoolSettings,
  tell,
  wanted,
} from './context.ts';
import { asBegun, isGuess, settled, usedAgain } from './creation.ts';
import { isRecent } from './gave-up.ts';
import { isFromGroup } from './ip-group-offer.ts';
import { noteStood } from './node-absence.ts';
import { tellParks } from './parking.ts';
import { bindTaken, policyFor } from './service-observed.ts';
import { givenBack, inDoubt, newMember, originIn, spawned, startOf, stayersFirst, towardOf } from './starting-members.ts';

const memberless = (context: PoolContext, address: Address): boolean => context.members[address] === undefined;

/** Starts each wanted address and retires those no longer wanted, unless the pool is paused. Does nothing before the provider was read. */
export function staff(input: PoolContext | Next): Next {
  const { context, effects } = 'context' in input ? input : next(input);
  if (!context.spec || context.deleted) return next(context, effects);
  const isLost = (address: Address): boolean => context.conflicts[address] !== undefined;
  if (!isPrimed(context)) return retired(context, isLost, effects);
  const goal = new Set(Object.keys(context.members).length === 0 || context.provider === context.spec.provider ? wanted(context) : []);
  const members: Record<Address, Member> = { ...context.members };
  const added: Effect[] = [];
  let rank = context.nextRank;
  const start = startOf(context);
  const towards = new Set(Object.values(members).flatMap((member) => member.node?.name ?? member.toward ?? []));
  for (const address of stayersFirst(context, new Set([...goal, ...inDoubt(context)]))) {
    if (context.members[address] || start.claimed.has(addressClaim(address))) continue;
    const toward = towardOf(context, address, start, towards);
    const contest = restedUntil(context.remembered[address]?.contendedUntil, context.spec.contention);
    members[address] = {
      ...newMember(rank, context.provided?.[address] ?? null),
      contest,
      ...foundAt(context, address, originIn(start, address)),
      ...(toward !== null && { toward }),
    };
    rank += 1;
    added.push(spawned(context, address, { ...start, toward }));
  }
  const left = retired({ ...context, members }, (address) => !goal.has(address) && (!isPaused(context) || isLost(address)));
  const staffed = { ...left.context, nextRank: rank, provider: providerOfMembers(context, context.spec), provided: {}, remembered: {} };
  return tellParks(next(bindTaken(staffed), [...effects, ...added, ...left.effects, ...givenBack({ ...context, members })]));
}

/** Addresses that others have are left to them, also during a pause and while the spec is invalid: they were never its own. */
export function retired(context: PoolContext, isLeft: (address: Address) => boolean, effects: readonly Effect[] = []): Next {
  const left = entries(context.members).filter(([address, { retiring }]) => !retiring && isLeft(address));
  const members = Object.fromEntries(left.map(([address, member]) => [address, { ...member, retiring: true, ready: false }]));
  const told = left.map(([address]) => tell(context, address, { type: 'RETIRE', policy: 'Retain' }));
  return next(left.length > 0 ? { ...context, members: { ...context.members, ...members } } : context, [...effects, ...told]);
}

/** During a pause members of a former provider are not retired: their provider stays recorded until the pause is over. */
const providerOfMembers = (context: PoolContext, { provider }: PoolSpec): string =>
  isPaused(context) && entries(context.members).length > 0 ? context.provider : provider;

const withMember = (context: PoolContext, address: Address, change: Partial<Member>): PoolContext => {
  const member = context.members[address];
  return member ? { ...context, members: { ...context.members, [address]: { ...member, ...change } } } : context;
};

/** No assign of the address from before the records were lost is still under way. */
const withoutToward = (context: PoolContext, address: Address): PoolContext => {
  const { toward, ...member } = context.members[address] ?? {};
  return toward === undefined ? context : { ...context, members: { ...context.members, [address]: member as Member } };
};

/** The address wants a node. One that lost its node goes to the end of the line, so that a recovering node can get its own address back;
 *  a node that lost its address while it matches goes to the head of its line. */
export function onReady(context: PoolContext, { address, holder, region, adopts, at }: Ready): Next {
  const member = context.members[address];
  if (!member || member.retiring) return next(context);
  const rank = member.node ? context.nextRank : member.rank;
  const freed = freeNode(context, member.node, holder);
  const told = withMember(withoutToward(freed, address), address, {
    heard: true,
    ready: true,
    holder,
    region,
    node: null,
    stands: standsStill(member, holder),
    confirmed: false,
    eligible: false,
    rank,
    contest: wasMoved(context, member, holder) ? moved(member.contest, context.spec?.contention ?? null, at) : member.contest,
    ...(adopts && { adopts }),
  });
  return next(bindTaken({ ...(adopts ? told : ownedFrom(told, address)), nextRank: Math.max(context.nextRank, rank + 1) }));
}

/** The address was put elsewhere by other means: away from its serving node, or from where it had been put before. */
function wasMoved(
  { absent, marks }: PoolContext,
  { node, confirmed, eligible, holder: former, contest, parked }: Member,
  holder: ProviderID | null,
): boolean {
  // While a pool is paused, or an address is parked, it may be moved by hand.
  if (isPaused({ marks }) || parked) return false;
  if (!node) return contest.restsSince !== null && holder !== former;
  // A machine that goes away detaches its address by itself, and its node is not Ready then.
  return confirmed && eligible && holder !== node.providerID && absenceOf(absent, node) === null;
}

const standsStill = ({ stands }: Member, holder: ProviderID | null): NodeRef | null =>
  stands && stands.providerID === holder ? stands : null;

const freeNode = (context: PoolContext, node: NodeRef | null, holder: ProviderID | null): PoolContext => {
  if (!node || node.providerID === holder) return context;
  const freed = context.candidates.filter(({ name }) => name === node.name);
  return { ...context, candidates: [...freed, ...context.candidates.filter(({ name }) => name !== node.name)] };
};

/** The provider confirmed the address on the node. The cool-off starts here, unless nothing was moved. */
export function onAssigned(context: PoolContext, { address, node, moved, at }: Assigned): Next {
  const { [node.name]: _, ...backOff } = context.backOff;
  const confirmed = withMember(ownedFrom(withoutToward(context, address), address), address, {
    heard: true,
    node,
    stands: node,
    confirmed: true,
    ready: false,
    holder: node.providerID,
  });
  return next({ ...forgetRefusals(confirmed), backOff, lastAssignmentAt: moved ? at : context.lastAssignmentAt });
}

/** The address waits after an error. A returned grant puts the node in back-off as well, unless the error says nothing about the node, or the grant was not ours. */
export const onFailed =
  ({ backoff }: PoolSettings) =>
  (context: PoolContext, event: Failed): Next => {
    const { address, kind, returned, holder, at } = event;
    const member = context.members[address];
    if (!member) return next(context);
    const gone = kind === 'NotFound';
    const isFree = gone || returned !== null;
    // An address that another controller moved before our read counts as one that it took away later.
    const isTaken = kind === 'Conflict' && returned !== null;
    const given = withMember(isFree ? withoutToward(context, address) : context, address, {
      heard: true,
      holder,
      stands: standsStill(member, holder),
      ready: false,
      ...(isTaken && { contest: moved(member.contest, context.spec?.contention ?? null, at) }),
      ...(isFree && { node: null, confirmed: false, eligible: false, rank: context.nextRank }),
    });
    const ranked = noteRefusal({ ...given, nextRank: context.nextRank + 1 }, event);
    if (gone) return next(freeNode(ranked, member.node, null));
    if (!blames(kind, member) || !returned) return next(ranked);
    return next({
      ...ranked,
      backOff: { ...context.backOff, [returned.name]: backOffAfter(event, ranked, backoff) },
    });
  };

/** An address that still serves on the node it has to leave is not urgent: each try opens its ports on the other node and closes them again. */
function backOffAfter({ address, kind, message, returned, at }: Failed, context: PoolContext, tables: BackoffTables): NodeBackOff {
  const attempts = (context.backOff[returned?.name ?? '']?.attempts ?? 0) + 1;
  const soonest = at + backoffMs(tables, { kind, retryAfterMs: null }, attempts);
  const serves = kind === 'NodeInUse' && isLeaving(context, context.members[address]?.stands ?? null);
  const until = serves ? { until: at + waitIn(tables.slow, attempts), urgentAt: soonest } : { until: soonest };
  return { since: at, ...until, attempts, ...(message !== undefined && { message }) };
}

/** Another node refused an address that has to leave its own. The first of several refusals is kept, so that the reported one does not change with each try. */
function noteRefusal(context: PoolContext, { address, kind, returned, message }: Failed): PoolContext {
  const member = context.members[address];
  if (!member || !returned || message === undefined || !isLeaving(context, member.stands)) return context;
  if (member.refused && member.refused.node !== returned.name) return context;
  return withMember(context, address, { refused: { node: returned.name, kind, message } });
}

const isLeaving = (context: PoolContext, stands: NodeRef | null): boolean => stands !== null && leavingNode(context, stands) !== undefined;

/** A refusal counts as long as the address has to leave its node and the other node is otherwise a candidate. */
export function forgetRefusals(context: PoolContext): PoolContext {
  const isOver = ({ refused, stands }: Member): boolean =>
    refused !== undefined && !(isLeaving(context, stands) && context.candidates.some(({ name }) => name === refused.node));
  const over = entries(context.members).filter(([, member]) => isOver(member));
  if (over.length === 0) return context;
  const without = over.map(([address, { refused: _, ...member }]) => [address, member] as const);
  return { ...context, members: { ...context.members, ...Object.fromEntries(without) } };
}

/** The error concerns the node, and the node was ours to grant. */
const blames = (kind: Failed['kind'], { toward }: Member): boolean =>
  toward === undefined && kind !== 'Unauthorized' && kind !== 'RateLimited';

export function onGone(former: PoolContext, { address, epoch, at }: Gone): Next {
  const context = noteStood(former, address, at);
  const member = context.members[address];
  if (!member) return next(context);
  const { [address]: _, ...members } = context.members;
  const occupied = member.holder ? [...new Set([...context.occupied, member.holder])].sort() : context.occupied;
  const left = leaving(context, [address]);
  const acquiring = context.acquiring.givenBack === address ? NOT_ACQUIRING : context.acquiring;
  // A RoutedIP that moves to another account keeps its address, and owns it there, too.
  const isKept = context.exposed?.bound === address && !context.deleted && member.adopts === undefined;
  const remembered = isKept && epoch ? { ...context.remembered, [address]: { epoch, inDoubtUntil: null } } : context.remembered;
  const provided = withPlace(context.provided, address, member);
  const gone = {
    ...context,
    members,
    occupied,
    left,
    acquiring,
    remembered,
    provided,
    ...givenUp({ ...context, members }, address, member, at),
  };
  return staff(freeNode(gone, member.node, null));
}

/** There is another machine that holds nothing and for which no address waits. */
function hasSpareNode({ candidates, occupied, members }: PoolContext, machine: ProviderID): boolean {
  const others = Object.values(members).filter(({ retiring }) => !retiring);
  const held = new Set([machine, ...occupied, ...others.flatMap(({ node }) => node?.providerID ?? [])]);
  const free = candidates.filter(({ providerID }) => !held.has(providerID));
  return free.length > others.filter(({ node }) => node === null).length;
}

/** An address that was never its own may be needed where it is; and its room is not needed while another node is spare. */
function givenUp(context: PoolContext, address: Address, { node, holder, adopts }: Member, at: number): Pick<PoolContext, 'gaveUp'> {
  const { gaveUp = [], deleted } = context;
  const providerID = node?.providerID ?? holder;
  const stays = providerID !== null && adopts === undefined && !deleted && !hasSpareNode(context, providerID);
  if (!stays && gaveUp.length === 0) return {};
  const others = gaveUp.filter((each) => each.address !== address && isRecent(each, at));
  return { gaveUp: stays ? [...others.slice(1 - LEFT), { address, providerID, at }] : others };
}

/** A list does not cover running addresses: for one that was never the pool's own, and may start again before the next list, its place is kept. */
function withPlace(provided: PoolContext['provided'], address: Address, { adopts = 'Free', holder }: Member): PoolContext['provided'] {
  const observed = provided?.[address];
  if (!observed || adopts === 'Free') return provided;
  return { ...provided, [address]: { ...observed, providerID: holder ?? observed.providerID, place: adopts } };
}

/** How many former addresses are remembered. */
const LEFT = 100;

const leaving = ({ left }: PoolContext, addresses: readonly Address[]): readonly Address[] => [
  ...left.slice(-LEFT - addresses.length),
  ...new Set(addresses).difference(new Set(left)),
];

/** The record set gives its claim back; published records stay. */
const endRecords = ({ id }: PoolContext): Effect => ({ type: 'tell', params: { to: recordSetActor(id), event: { type: 'DELETED' } } });

/** After the records were lost: a bound address is unread, so that nothing done for it could be undone yet. For an object that is gone no further facts would arrive. */
export const reclaimsFirst = (
  { exposed, members }: PoolContext,
  event: { readonly type: string; readonly force?: unknown; readonly gone?: unknown },
): boolean => Boolean(exposed?.bound) && Object.keys(members).length === 0 && event.force !== true && event.gone !== true;

/** An address was created for an owner that was deleted, or has another one since, and has to be given back. */
export const givesBack = (context: PoolContext, event: { readonly type: string; readonly force?: unknown }): boolean => {
  const { unpublished } = context.acquiring;
  if (unpublished === null || isGuess(context)) return false;
  // The address of a group was never shown anywhere: there is nothing to retain.
  const goes = isFromGroup(asBegun(context)) || policyFor(context, unpublished) === 'Delete';
  return memberless(context, unpublished) && goes && event.force !== true;
};

/** Starts the address created last, at its provider, only to give it back. */
export function giveBack(context: PoolContext): Next {
  const { unpublished: address, intent, by } = context.acquiring;
  if (!address) return next(context);
  const observed = { address, region: intent?.region ?? '', providerID: null, locked: false };
  const begun = asBegun(context);
  const subject = begun.spec?.exposes?.subject;
  const { subject: _, ...policy } = context.exposed?.policy ?? NO_FIREWALL;
  const known = {
    ...begun,
    provided: { ...context.provided, [address]: observed },
    exposed: begun.exposed && { ...begun.exposed, policy: { ...policy, ...(subject && { subject }) } },
  };
  const members = { ...context.members, [address]: { ...newMember(context.nextRank, observed), retiring: true } };
  const acquiring = settled({ ...NOT_ACQUIRING, ...(by && { by }), intent, givenBack: address });
  return next({ ...context, members, created: usedAgain(context), acquiring }, [
    spawned(known, address),
    tell(context, address, { type: 'RETIRE', policy: 'Delete' }),
  ]);
}

export const noteDeletion = (context: PoolContext): Next =>
  next(context.exposed ? { ...context, exposed: { ...context.exposed, deleting: true } } : context);

/** A user wants the addresses released without another call. An address being given back was not shown anywhere: it is announced, whichever pool holds the right to create by
 *  then. */
export function force(context: PoolContext): Next {
  const { givenBack, ...acquiring } = context.acquiring;
  return next(
    { ...context, acquiring: { ...acquiring, ...(givenBack !== undefined && { unpublished: givenBack, remembered: true }) } },
    entries(context.members).map(([address]) => tell(context, address, { type: 'RETIRE', policy: 'Retain', force: true })),
  );
}

/** A RoutedIP was bound before its nodes were observed again, so its address was never started: it is started only to be given up, unless another object has it. */
function startBound(context: PoolContext): Next {
  const { exposed, spec, provided, conflicts, fullNodes, nextRank } = context;
  const bound = exposed?.bound ?? null;
  if (!bound || !spec || !provided || !memberless(context, bound)) return next(context);
  if (conflicts[bound] !== undefined || fullNodes.includes(addressClaim(bound))) return next(context);
  const members = {
    ...context.members,
    [bound]: { ...newMember(nextRank, provided[bound] ?? null), ...foundAt(context, bound, originIn(startOf(context), bound)) },
  };
  return next({ ...context, members }, [spawned(context, bound)]);
}

export function remove(former: PoolContext): Next {
  const { context, effects: begun } = startBound(former);
  const retired = entries(context.members)
    // An address that was about to move to another account is given back anyway.
    .filter(([address, member]) => !member.retiring || policyFor(context, address) !== 'Retain')
    .map(([address]) => tell(context, address, { type: 'RETIRE', policy: policyFor(context, address) }));
  const effects = [...begun, ...retired, ...givenBack(context)];
  const members = Object.fromEntries(
    entries(context.members).map(([address, member]) => [address, { ...member, retiring: true, ready: false }]),
  );
  // Nodes must not keep an annotation of a rebuilt pool either that knows only what its status remembers.
  const left = leaving(context, Object.keys({ ...context.remembered, ...members }) as Address[]);
  return next({ ...context, members, deleted: true, left }, context.named ? [...effects, endRecords(context)] : effects);
}
