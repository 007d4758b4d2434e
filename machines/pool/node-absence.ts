import type { Effect } from '../events.ts';
import type { FindNodesInput, FoundNodes } from '../jobs.ts';
import type { Address, Candidate, NodeRef, ProviderID } from '../model/types.ts';
import { type Absence, absenceOf, graceLeft, nodeKey } from '../policy/recovery-grace.ts';
import { askedAgainMs, counts, holds, LONGEST_ASKED_AGAIN_MS } from '../policy/safe-hold.ts';
import { isPaused } from './annotations.ts';
import type { Member } from './assignment.ts';
import { entries, isPrimed, type Next, next, type PoolContext, tell, wanted } from './context.ts';
import type { Standings } from './eligibility.ts';

/** Nodes of a pool that stopped matching and may come back: their addresses stay with them for a time, or until a user or the provider resolves it. */

const graceOf = ({ spec }: PoolContext): number => spec?.graceMs ?? 0;
const rulesOf = ({ spec }: PoolContext) => spec?.safeHold ?? null;

/** Nothing is moved, because too many nodes are absent. */
export const isHeld = (context: PoolContext): boolean => context.held && rulesOf(context) !== null;

/** Determines the absent nodes from an observation, and whether they are too many. A node is absent if it matched before, when the pool counts such nodes, or if it serves and
 *  fails only because it, or its pod, is not Ready, when there is a grace. A change of the selectors makes no node absent. */
export function observeAbsences(context: PoolContext, found: Standings, query: string, at: number): PoolContext {
  const isEdit = context.matchedBy !== null && context.matchedBy !== query;
  const { absent, held } = isEdit ? { absent: [], held: false } : context;
  const lost = [...(isEdit ? [] : formerly(context)), ...servingAmong(context, found.failing, at)];
  if (absent.length === 0 && lost.length === 0) return settled({ ...context, absent: [], held, matchedBy: query }, at);
  const there = new Set([...found.matching, ...found.leaving].map(nodeKey));
  const failing = new Map(found.failing.map((node) => [nodeKey(node), node]));
  const known = absent.filter(({ node }) => !there.has(nodeKey(node)));
  const absentBefore = new Set(known.map(({ node }) => nodeKey(node)));
  const fresh = new Map(
    lost.filter((node) => !there.has(nodeKey(node)) && !absentBefore.has(nodeKey(node))).map((node) => [nodeKey(node), node]),
  );
  const all = [...known, ...[...fresh.values()].map((node): Absence => ({ node, since: at, failing: false, askAt: null, asks: 0 }))].map(
    (absence) => {
      const node = failing.get(nodeKey(absence.node));
      return { ...absence, node: node ?? absence.node, failing: node !== undefined };
    },
  );
  return settled({ ...context, absent: all.sort(byName), held, matchedBy: query }, at);
}

/** Nodes that matched before, if the pool counts them. */
const formerly = (context: PoolContext): readonly Candidate[] => (rulesOf(context) ? [...context.candidates, ...context.leaving] : []);

const servingAmong = (context: PoolContext, nodes: readonly Candidate[], at: number): readonly Candidate[] => {
  if (nodes.length === 0) return [];
  // An address that is retired only to move to another account stays on its node meanwhile.
  const serving = new Set(served(context, at, wanted(context)).map(({ node }) => nodeKey(node)));
  const stood = new Set(unheard(context).map(([, providerID]) => providerID));
  return nodes.filter((node) => serving.has(nodeKey(node)) || stood.has(node.providerID));
};

/** Restarted addresses that have not reported where they are, with the machines on which they served before. */
const unheard = (context: PoolContext): readonly [Address, ProviderID][] => {
  const { stood, members } = context;
  if (!stood) return [];
  const isWanted = new Set(wanted(context));
  return (Object.entries(stood) as [Address, ProviderID][]).filter(([address]) => isWanted.has(address) && !members[address]?.heard);
};

const withStood = (context: PoolContext, all: readonly [Address, ProviderID][]): PoolContext => {
  if (all.length > 0) return { ...context, stood: Object.fromEntries(all) };
  return context.stood ? { ...context, stood: null } : context;
};

/** An address goes only to be restarted: its node keeps its grace even if it fails before the address has reported. */
export function noteStood(context: PoolContext, address: Address, at: number): PoolContext {
  const others = unheard(context).filter(([each]) => each !== address);
  const on = context.deleted ? undefined : served(context, at, wanted(context)).find((each) => each.address === address)?.node;
  return withStood(context, on ? [...others, [address, on.providerID]] : others);
}

const byName = ({ node: a }: Absence, { node: b }: Absence): number => (nodeKey(a) < nodeKey(b) ? -1 : 1);

/** Decides again whether the pool holds, and drops absences that no longer matter. The machine of a node with a grace is looked up once, and repeatedly while the pool holds. */
function settled(context: PoolContext, at: number): PoolContext {
  const held = holds(context.absent, context.held, rulesOf(context), at);
  const stays = (absence: Absence): boolean =>
    held || isPaused(context) || counts(absence, rulesOf(context), at) || graceLeft(absence, graceOf(context), at) > 0;
  const askAt = (absence: Absence): number | null => {
    if (held) return context.held ? (absence.askAt ?? at) : at;
    return absence.asks === 0 && graceLeft(absence, graceOf(context), at) > 0 ? (absence.askAt ?? at) : null;
  };
  return { ...context, held, absent: context.absent.filter(stays).map((absence) => ({ ...absence, askAt: askAt(absence) })) };
}

/** Nodes that keep their current address, and get no other. */
export const keeping = (context: PoolContext, at: number): readonly Candidate[] =>
  context.absent.filter((absence) => isHeld(context) || graceLeft(absence, graceOf(context), at) > 0).map(({ node }) => node);

/** The nodes that may hold an address now: they match, are about to go, or have time to come back. */
const holdersNow = (context: PoolContext, at: number): readonly Candidate[] => [
  ...context.candidates,
  ...context.leaving,
  ...keeping(context, at),
];

/** The addresses that serve, and where: the provider shows them there, and the node may hold them. An address that has to move serves on its current node until it is confirmed
 *  on the other, even while that one refuses it. `returning`: addresses that count although they are being retired. */
export function served(
  context: PoolContext,
  at: number,
  returning: readonly Address[] = [],
): readonly { readonly address: Address; readonly node: NodeRef }[] {
  const all = entries(context.members).filter(([address, { heard, retiring }]) => heard && (!retiring || returning.includes(address)));
  const standing = new Set(all.flatMap(([, { holder, confirmed }]) => (holder && !confirmed ? [holder] : [])));
  const nodes = standing.size > 0 ? holdersNow(context, at).filter(({ providerID }) => standing.has(providerID)) : [];
  const byId = new Map(nodes.map((node) => [node.providerID, node]));
  return all.flatMap(([address, { node: granted, holder, confirmed, eligible }]) => {
    const node = confirmed ? eligible && granted : holder && byId.get(holder);
    return node ? [{ address, node }] : [];
  });
}

/** Once the former node of an address may no longer hold it, the address does not count as having served there. */
const stillStood = (context: PoolContext, holders: readonly Candidate[]): PoolContext => {
  if (!context.stood || isPaused(context)) return context;
  const machines = new Set(holders.map(({ providerID }) => providerID));
  return withStood(
    context,
    unheard(context).filter(([, providerID]) => machines.has(providerID)),
  );
};

/** Notifies each address whose node became eligible or ineligible; a node in its grace stays eligible. While the pool is paused no address learns that its node is back, and
 *  those on their way are stopped: a call already sent completes, and no other follows. */
export function tellMembers(context: PoolContext, at: number): Next {
  const effects: Effect[] = [];
  const members: Record<Address, Member> = { ...context.members };
  const names = new Set(Object.values(context.members).map(({ node }) => node?.name));
  const holders = holdersNow(context, at);
  const eligible = new Set(holders.flatMap((node) => (names.has(node.name) ? nodeKey(node) : [])));
  for (const [address, member] of entries(context.members)) {
    if (!member.node) continue;
    const now = isPaused(context) ? member.eligible && standsThere(member) : eligible.has(nodeKey(member.node));
    if (now === member.eligible) continue;
    members[address] = { ...member, eligible: now };
    effects.push(tell(context, address, { type: 'NODE_OBSERVED', name: member.node.name, eligible: now }));
  }
  return next({ ...stillStood(context, holders), members }, effects);
}

const standsThere = ({ node, confirmed, holder }: Member): boolean => confirmed || holder === node?.providerID;

// ---------------------------------------------------------------- the grace

/** After the clock was set back, a time that lies ahead starts again, once. */
const rebased = (absent: readonly Absence[], at: number): readonly Absence[] =>
  absent.map((absence) => {
    const askAt = absence.askAt === null ? null : Math.min(absence.askAt, at + LONGEST_ASKED_AGAIN_MS);
    return absence.since > at || askAt !== absence.askAt ? { ...absence, since: Math.min(absence.since, at), askAt } : absence;
  });

/** When time alone decides about an absence: its grace ends, or, while the pool holds, its machine is looked up again. In ms since the epoch; null for never. A node whose
 *  grace is over and that keeps no address may still count for a hold: no time is set for that. */
export function recoveryEnds(context: PoolContext, at: number): number | null {
  if (isPaused(context)) return null;
  const absent = rebased(context.absent, at);
  const isOpen = ({ node, since }: Absence): boolean => since + graceOf(context) > at || keepsAddress(context, node);
  const ends = isHeld(context)
    ? absent.flatMap(({ askAt }) => (askAt !== null && askAt > at ? [askAt] : []))
    : absent.flatMap((absence) => (absence.failing && graceOf(context) > 0 && isOpen(absence) ? [absence.since + graceOf(context)] : []));
  return ends.length > 0 ? Math.min(...ends) : null;
}

const keepsAddress = ({ members }: PoolContext, node: Candidate): boolean =>
  Object.values(members).some((member) => member.node && member.eligible && nodeKey(member.node) === nodeKey(node));

export const givesTime = (context: PoolContext, at: number): boolean => isPrimed(context) && recoveryEnds(context, at) !== null;

export function planRecovery(context: PoolContext, at: number): Next {
  const made = { ...context, absent: rebased(context.absent, at) };
  return next({ ...made, recoverAt: recoveryEnds(made, at) });
}

export const forgetRecovery = (context: PoolContext): Next => next({ ...context, recoverAt: null });

/** Gives up nodes whose grace is over. Not while the nodes are unknown: they may be back. */
export const giveUp = (context: PoolContext, at: number): Next =>
  isPrimed(context) ? tellMembers(settled(context, at), at) : next(context);

// ---------------------------------------------------------------- looking up their machines

/** How many machines one job looks up: the answer for the first ones does not wait for hundreds. */
const ASKED_AT_ONCE = 20;

/** Nodes that keep an address and are looked up for the first time come first, in a job of their own: they may use the budget reserved for failovers. */
function questions(context: PoolContext, at: number): readonly Absence[] {
  const due = context.absent.filter(({ askAt }) => askAt !== null && askAt <= at);
  if (due.length === 0) return [];
  const urgent = urgentAmong(context, due);
  return (urgent.length > 0 ? urgent : due).slice(0, ASKED_AT_ONCE);
}

const urgentAmong = ({ members }: PoolContext, absent: readonly Absence[]): readonly Absence[] => {
  const keeps = new Set(entries(members).flatMap(([, { node }]) => (node ? [nodeKey(node)] : [])));
  return absent.filter(({ node, asks }) => asks === 0 && keeps.has(nodeKey(node)));
};

export const hasQuestion = (context: PoolContext, at: number): boolean =>
  isPrimed(context) && !isPaused(context) && questions(context, at).length > 0;

export const ask = (context: PoolContext, at: number): Next =>
  next({ ...context, asking: questions(context, at).map(({ node: { name, providerID } }) => ({ name, providerID })) });

export const findNodesInput = (context: PoolContext): FindNodesInput => {
  const { provider, absent, asking } = context;
  const urgent = urgentAmong(context, absent);
  return { provider, nodes: asking, purpose: asking.some((node) => absenceOf(urgent, node)) ? 'failover' : 'verify' };
};

/** A machine that is gone does not come back. About the others nothing new is known. */
export function noteAnswers(context: PoolContext, { gone }: FoundNodes, at: number): Next {
  const asked = new Set(context.asking.map(nodeKey));
  const absent = context.absent
    .filter(({ node }) => !gone.includes(node.providerID))
    .map((absence) =>
      asked.has(nodeKey(absence.node)) ? { ...absence, asks: absence.asks + 1, askAt: at + askedAgainMs(absence.asks + 1) } : absence,
    );
  return tellMembers(settled({ ...context, absent, asking: [] }, at), at);
}
