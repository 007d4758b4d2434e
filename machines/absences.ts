import type { Effect } from './events.ts';
import { type Absence, absenceOf, graceLeft } from './grace.ts';
import type { Member } from './grants.ts';
import type { FindNodesInput, FoundNodes } from './jobs.ts';
import { entries, isPrimed, type Next, next, type PoolContext, tell } from './pool.ts';
import type { Standings } from './standings.ts';
import type { Address, Candidate } from './types.ts';

/** Nodes of a pool that stopped matching and may come back: their addresses stay with them for a time. */

const graceOf = ({ spec }: PoolContext): number => spec?.graceMs ?? 0;

/** Who is absent once the nodes were observed. The time begins for a node that serves and fails in nothing but that it, or its pod, is not Ready; it
 *  ends when the node matches again, and at once when the node is gone, another machine, or fails in anything else. */
export function absencesAfter(context: PoolContext, { failing }: Standings, at: number): readonly Absence[] {
  const serving = new Set(entries(context.members).flatMap(([, member]) => servedBy(member) ?? []));
  const former = (node: Candidate): Absence | null => {
    const known = absenceOf(context.absent, node);
    if (known) return { ...known, node };
    return serving.has(keyOf(node)) ? { node, since: at, askAt: at } : null;
  };
  return failing.flatMap((node) => former(node) ?? []).filter((absence) => graceLeft(absence, graceOf(context), at) > 0);
}

const keyOf = ({ name, providerID }: Pick<Candidate, 'name' | 'providerID'>): string => `${name} ${providerID}`;

const servedBy = ({ node, confirmed, eligible, retiring }: Member): string | null =>
  node && confirmed && eligible && !retiring ? keyOf(node) : null;

/** Nodes that keep the address that sits on them, and get no other. */
export const keeping = (context: PoolContext, at: number): readonly Candidate[] =>
  context.absent.filter((absence) => graceLeft(absence, graceOf(context), at) > 0).map(({ node }) => node);

/** Tells each address whose node has come or gone; one that keeps its address counts as there. */
export function tellMembers(context: PoolContext, at: number): Next {
  const effects: Effect[] = [];
  const members: Record<Address, Member> = { ...context.members };
  const eligible = new Set([...context.candidates, ...context.leaving, ...keeping(context, at)].map(keyOf));
  for (const [address, member] of entries(context.members)) {
    if (!member.node) continue;
    const now = eligible.has(keyOf(member.node));
    if (now === member.eligible) continue;
    members[address] = { ...member, eligible: now };
    effects.push(tell(context, address, { type: 'NODE_OBSERVED', name: member.node.name, eligible: now }));
  }
  return next({ ...context, members }, effects);
}

// ---------------------------------------------------------------- the time to come back

/** After the clock was set back a time that lies ahead begins anew, once. */
const rebased = (absent: readonly Absence[], at: number): readonly Absence[] =>
  absent.map((absence) => (absence.since > at ? { ...absence, since: at } : absence));

/** When the first of the absent has had its time, ms since the epoch; null when nobody is absent. */
export function recoveryEnds(context: PoolContext, at: number): number | null {
  const ends = rebased(context.absent, at).map(({ since }) => since + graceOf(context));
  return ends.length > 0 ? Math.min(...ends) : null;
}

export const givesTime = (context: PoolContext): boolean => isPrimed(context) && context.absent.length > 0;

export function planRecovery(context: PoolContext, at: number): Next {
  const made = { ...context, absent: rebased(context.absent, at) };
  return next({ ...made, recoverAt: recoveryEnds(made, at) });
}

export const forgetRecovery = (context: PoolContext): Next => next({ ...context, recoverAt: null });

/** Gives those up that have had their time. Not while the nodes are not known: they may be back. */
export function giveUp(context: PoolContext, at: number): Next {
  if (!isPrimed(context)) return next(context);
  const absent = context.absent.filter((absence) => graceLeft(absence, graceOf(context), at) > 0);
  return tellMembers({ ...context, absent }, at);
}

// ---------------------------------------------------------------- what the provider says of their machines

/** So many machines are asked for by one job: the answer for the first ones does not wait for hundreds. */
const ASKED_AT_ONCE = 20;

const questions = ({ absent }: PoolContext): readonly string[] =>
  absent
    .filter(({ askAt }) => askAt !== null)
    .map(({ node }) => node.name)
    .slice(0, ASKED_AT_ONCE);

export const hasQuestion = (context: PoolContext): boolean => isPrimed(context) && questions(context).length > 0;

export const ask = (context: PoolContext): Next => next({ ...context, asking: questions(context) });

export const findNodesInput = ({ provider, absent, asking }: PoolContext): FindNodesInput => ({
  provider,
  nodes: absent.filter(({ node }) => asking.includes(node.name)).map(({ node: { name, providerID } }) => ({ name, providerID })),
});

/** A machine that is gone does not come back. Of the others nothing is known that was not known before. */
export function noteAnswers(context: PoolContext, { gone }: FoundNodes, at: number): Next {
  const asked = new Set(context.asking);
  const left = context.absent.filter(({ node }) => !gone.includes(node.providerID));
  const absent = left.map((absence) => (asked.has(absence.node.name) ? { ...absence, askAt: null } : absence));
  return tellMembers({ ...context, absent, asking: [] }, at);
}
