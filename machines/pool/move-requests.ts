import { nodesFull } from '../model/node-claim.ts';
import { type Address, UNASSIGNED } from '../model/types.ts';
import { isPaused, type Move } from './annotations.ts';
import type { Member } from './assignment.ts';
import { entries, familyServed, isPrimed, listed, type Next, next, type PoolContext, regionOf, wanted } from './context.ts';
import { isHeld } from './node-absence.ts';
import { isParked } from './parking.ts';
import { conflictText, leftAlone } from './view.ts';

/** Moves requested by users: a planned move to the named node if it is available now, otherwise a reason. Requests, not pins: each is answered once. */

const openMoves = ({ marks }: PoolContext): readonly Move[] => (marks?.moves ?? []).filter(({ answer }) => answer === null);

/** The address of a request: for a RoutedIP the one that it has, or names; null while there is none. */
const addressOf = (context: PoolContext, { address }: Move): Address | null =>
  address ?? (Object.keys(context.members) as Address[])[0] ?? listed(context)[0] ?? null;

type Verdict = 'go' | 'wait' | { readonly done: boolean; readonly message: string };

const refused = (message: string): Verdict => ({ done: false, message });

function verdictOn(context: PoolContext, move: Move, at: number): Verdict {
  if (isPaused(context)) return 'wait';
  const address = addressOf(context, move);
  const member = address === null ? undefined : context.members[address];
  if (address === null || !member) return verdictWithout(context, address);
  if (member.retiring) return refused(`${address} is given up`);
  if (isParked(context, address)) return refused(`${address} is not moved to ${move.node}: it is wanted on no node (${UNASSIGNED})`);
  if (!member.heard) return 'wait';
  if (member.node?.name === move.node) return onItsWay(address, member, move);
  // Whatever is under way ends first.
  if (member.node && !member.confirmed) return 'wait';
  const why = whyNot(context, address, member, move.node, at);
  if (why !== null) return refused(`${address} is not moved to ${move.node}: ${why}`);
  return isHeld(context) ? 'wait' : 'go';
}

/** An address that is not run here: if it is wanted it may only have to be started. */
function verdictWithout(context: PoolContext, address: Address | null): Verdict {
  if (address === null || wanted(context).includes(address)) return 'wait';
  if (!listed(context).includes(address)) return refused(`${address} is no address of this pool`);
  const owner = context.conflicts[address];
  return refused(owner === undefined ? `${address} is disabled: as many as desiredIPs come before it` : conflictText(address, owner));
}

function onItsWay(address: Address, { confirmed }: Member, { node, begun }: Move): Verdict {
  if (!confirmed) return 'wait';
  return { done: true, message: begun ? `${address} is on ${node}, as was asked for` : `${address} is on ${node} already` };
}

/** Why the address may not have the node now; null when it may. */
function whyNot(context: PoolContext, address: Address, member: Member, name: string, at: number): string | null {
  const { candidates, leaving, members, fullNodes, backOff } = context;
  const node = candidates.find((candidate) => candidate.name === name);
  if (!node) {
    const goes = leaving.find((each) => each.name === name);
    if (goes) return goes.evacuating ? 'the node is to be evacuated' : 'the node is cordoned or about to go';
    return 'no node of that name is Ready and matches';
  }
  const region = regionOf(context, member);
  if (node.region && region && node.region !== region) return `it is in region ${node.region}, not in ${region}`;
  const other = entries(members).find(([each, { node: held, stands }]) => each !== address && (held ?? stands)?.name === name);
  if (other) return `${other[0]} is on it, or on its way to it`;
  if (nodesFull(fullNodes, familyServed(context)).includes(name)) return 'it has as many addresses as it may hold';
  const failed = leftAlone(backOff[name], at);
  return failed === null ? null : `it is ${failed}`;
}

/** The requested node of each address that can move there now. */
export const wishesIn = (context: PoolContext, at: number): Readonly<Record<Address, string>> =>
  Object.fromEntries(
    openMoves(context).flatMap((move) => {
      const address = addressOf(context, move);
      return address !== null && verdictOn(context, move, at) === 'go' ? [[address, move.node]] : [];
    }),
  );

/** A request can be answered. Not before all deciding facts are known: until then a request moves nothing either. */
export const hasAnswer = (context: PoolContext, at: number): boolean =>
  isPrimed(context) && openMoves(context).some((move) => typeof verdictOn(context, move, at) === 'object');

/** Records the answers that are possible now. */
export const answerMoves = (context: PoolContext, at: number): Next =>
  next(
    withMoves(context, (move) => {
      const verdict = move.answer === null ? verdictOn(context, move, at) : 'wait';
      return typeof verdict === 'object' ? { ...move, answer: verdict } : move;
    }),
  );

/** Marks the requests for which addresses leave their nodes. */
export const noteBegun = (context: PoolContext, addresses: readonly Address[]): PoolContext =>
  withMoves(context, (move) => {
    const address = addressOf(context, move);
    return move.answer === null && address !== null && addresses.includes(address) ? { ...move, begun: true } : move;
  });

const withMoves = (context: PoolContext, change: (move: Move) => Move): PoolContext =>
  context.marks?.moves ? { ...context, marks: { ...context.marks, moves: context.marks.moves.map(change) } } : context;
