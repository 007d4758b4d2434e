import { memo } from '../model/memo.ts';
import { nodesFull } from '../model/node-claim.ts';
import type { Address, Candidate, ProviderID } from '../model/types.ts';
import { adopted, type Contest, rebasedContest, restsUntil, triedAgain } from '../policy/contention.ts';
import { adoptionOf, isWithheld } from './adoption.ts';
import { isPaused } from './annotations.ts';
import { type Grants, grants, type Member, standsOn } from './assignment.ts';
import { entries, familyServed, lacks, type Next, next, type PoolContext, regionOf, tell, turnClaim } from './context.ts';
import { isRecent } from './gave-up.ts';
import { noteBegun, wishesIn } from './move-requests.ts';
import { isHeld, keeping } from './node-absence.ts';
import { isParked } from './parking.ts';

/** A pool grants nodes: turns the result of `grants` into changes of the pool and messages to its addresses. */

/** The context with no times in the future: after the clock was set back, a wait lasts its whole time again and no longer. */
function rebased(context: PoolContext, at: number): PoolContext {
  const { lastAssignmentAt, backOff, members, exposed } = context;
  const ahead = Object.entries(backOff).filter(([, { since }]) => since !== undefined && since > at);
  const isAhead = ({ contest: { restsSince } }: Member): boolean => restsSince !== null && restsSince > at;
  const assignedAt = Math.max(lastAssignmentAt ?? at, exposed?.shared.lastAssignmentAt ?? at);
  if (ahead.length === 0 && assignedAt <= at && !Object.values(members).some(isAhead)) return context;
  const again = ahead.map(([name, { urgentAt, ...failed }]) => {
    const later = (time: number): number => time + at - (failed.since ?? at);
    return [name, { ...failed, since: at, until: later(failed.until), ...(urgentAt !== undefined && { urgentAt: later(urgentAt) }) }];
  });
  return {
    ...context,
    lastAssignmentAt: noLaterThan(at, lastAssignmentAt),
    exposed: exposed && { ...exposed, shared: { ...exposed.shared, lastAssignmentAt: noLaterThan(at, exposed.shared.lastAssignmentAt) } },
    backOff: { ...backOff, ...Object.fromEntries(again) },
    members: Object.fromEntries(
      entries(members).map(([address, member]) => [address, { ...member, contest: rebasedContest(member.contest, at) }]),
    ),
  };
}

const noLaterThan = (at: number, time: number | null): number | null => (time === null ? null : Math.min(time, at));

const decidedAt = memo((_: PoolContext) => new Map<number, Grants>());

/** While the pool is paused, addresses get only the node that they are already on. Cached, because several guards and actions in a row use it. */
export function decideGrants(context: PoolContext, at: number): Grants {
  const decided = decidedAt(context).get(at) ?? decide(context, at);
  decidedAt(context).set(at, decided);
  return decided;
}

const decide = (given: PoolContext, at: number): Grants => {
  const context = rebased(given, at);
  const candidates = inOrder(context);
  const kept = keeping(context, at);
  const decided = grants(
    {
      members: takable(inTheirRegions(context), context),
      candidates: isPaused(context) ? [] : candidates,
      keeping: isPaused(context) ? [...candidates, ...kept] : kept,
      leaving: context.leaving,
      fullNodes: nodesFull(context.fullNodes, familyServed(context)),
      backOff: context.backOff,
      // Where a node may hold several addresses, one that already holds an address is as good as others.
      occupied: (context.spec?.exposes?.perNode ?? 1) > 1 ? [] : context.occupied,
      resting: restingIn(context, at),
      coolOffMs: context.spec?.coolOffMs ?? 0,
      lastAssignmentAt: lastAssignment(context),
      othersTurn: isOthersTurn(context),
      wishes: wishesIn(context, at),
    },
    at,
  );
  if (isPaused(context)) return { ...decided, reliefs: [], nextAt: null };
  return isHeld(context) ? { ...decided, reliefs: [] } : decided;
};

const inTheirRegions = (context: PoolContext): PoolContext['members'] =>
  context.spec?.exposes?.subject
    ? Object.fromEntries(entries(context.members).map(([address, member]) => [address, { ...member, region: regionOf(context, member) }]))
    : context.members;

/** An address that is not taken, or was requested to be on no node, does not wait for one. */
const takable = (members: PoolContext['members'], context: PoolContext): PoolContext['members'] =>
  entries(members).some(([address, member]) => isLeft(context, address, member))
    ? Object.fromEntries(
        entries(members).map(([address, member]) => [address, isLeft(context, address, member) ? { ...member, ready: false } : member]),
      )
    : members;

const isLeft = (context: PoolContext, address: Address, member: Member): boolean =>
  isWithheld(context, member) || member.parked === true || isParked(context, address);

/** For a Service the youngest serving node comes first; ties go to the node with fewer addresses, then by name. */
function inOrder({ spec, candidates, exposed }: PoolContext): readonly Candidate[] {
  if (!spec?.exposes) return candidates;
  const load = ({ name }: Candidate): number => exposed?.shared.loads[name] ?? 0;
  return [...candidates].sort((a, b) => b.createdAt - a.createdAt || load(a) - load(b) || (a.name < b.name ? -1 : 1));
}

/** When an address whose assignments are spaced with this pool's was last confirmed on a new node. */
function lastAssignment({ lastAssignmentAt, exposed, spec }: PoolContext): number | null {
  const shared = spec?.exposes?.turn ? (exposed?.shared.lastAssignmentAt ?? null) : null;
  return shared === null ? lastAssignmentAt : Math.max(shared, lastAssignmentAt ?? 0);
}

/** An assignment of another pool that shares this pool's spacing is not confirmed yet. */
export const isOthersTurn = ({ spec, fullNodes }: PoolContext): boolean =>
  Boolean(spec?.exposes?.turn) && fullNodes.includes(turnClaim(spec?.exposes?.turn ?? ''));

/** The addresses that are left to another controller for a time, each with the end of that time. */
const restingIn = ({ members, spec }: PoolContext, at: number): Readonly<Record<Address, number>> =>
  Object.fromEntries(
    entries(members).flatMap(([address, { contest }]) => {
      const until = restsUntil(contest, spec?.contention ?? null, at);
      return until === null ? [] : [[address, until]];
    }),
  );

/** Grants every node available now. */
export function grant(context: PoolContext, at: number): Next {
  const spaced = (context.spec?.coolOffMs ?? 0) > 0;
  const { grants: decided } = decideGrants(context, at);
  const members: Record<Address, Member> = { ...context.members };
  const effects = decided.map(({ address, node: { name, providerID } }) => {
    const member = members[address];
    if (member) {
      const contest = contestAfter(context, member, providerID, at);
      members[address] = { ...member, node: { name, providerID }, ready: false, confirmed: false, eligible: true, contest };
    }
    const looks = member?.adopts !== undefined && adoptionOf(context) !== 'Any';
    // While nothing has failed it makes no difference.
    const isTried = Object.keys(context.backOff).length > 0 && member?.stands?.name !== name;
    const serves = isTried && member !== undefined && standsOn([...context.candidates, ...context.leaving], member);
    const vacates = mayVacate(context, providerID, at);
    const flags = { ...(looks && { looks }), ...(serves && { serves }), ...(vacates.length > 0 && { vacates }) };
    return tell(context, address, { type: 'NODE_GRANTED', node: { name, providerID }, spaced, ...flags });
  });
  return next({ ...context, members }, effects);
}

/** The addresses that it gave up on that machine. An address that it created is listed again as soon as it lacks one; a platform driven by Jobs enforces its own limit per
 *  node. */
function mayVacate(context: PoolContext, machine: ProviderID, at: number): readonly Address[] {
  const { spec, gaveUp = [], members, created } = context;
  if (spec?.exposes?.subject) return [];
  const comesBack = (address: Address): boolean => lacks(context) && created.includes(address);
  const there = gaveUp.filter((each) => each.providerID === machine && isRecent(each, at));
  return there.flatMap(({ address }) => (members[address] === undefined && !comesBack(address) ? address : []));
}

/** If the other controller put it on a node that is about to go, it stays there for its rest: detaching it would also be a move. */
function contestAfter({ leaving, spec }: PoolContext, { holder, contest }: Member, granted: ProviderID, at: number): Contest {
  if (holder !== granted) return triedAgain(contest, spec?.contention ?? null, at);
  return leaving.some(({ providerID }) => providerID === granted) ? contest : adopted(contest);
}

/** Reports to addresses that their node is lost, if a free node is available to take them at once: no address leaves a working node without a destination. Also used for an
 *  address with a requested node. */
export function relieve(context: PoolContext, at: number): Next {
  const members: Record<Address, Member> = { ...context.members };
  const { reliefs } = decideGrants(context, at);
  const effects = reliefs.flatMap(({ address }) => {
    const member = members[address];
    if (!member?.node) return [];
    members[address] = { ...member, eligible: false };
    return [tell(context, address, { type: 'NODE_OBSERVED', name: member.node.name, eligible: false })];
  });
  const begun = noteBegun(
    context,
    reliefs.map(({ address }) => address),
  );
  return next({ ...begun, members }, effects);
}

/** Sets the time of the next grant. Times in the future after the clock was set back count from now, once; otherwise every event would postpone the grant. */
export function planGrant(context: PoolContext, at: number): Next {
  const made = rebased(context, at);
  return next({ ...made, grantAt: decideGrants(made, at).nextAt });
}

export const forgetGrant = (context: PoolContext): Next => next({ ...context, grantAt: null });
