import { failureReason, textAbout } from '../model/failure.ts';
import { nodesFull } from '../model/node-claim.ts';
import type { Address, Condition, Finding } from '../model/types.ts';
import { adoptionProblem, findingOf, isWithheld } from '../pool/adoption.ts';
import { isPaused } from '../pool/annotations.ts';
import { isUnderWay } from '../pool/assignment.ts';
import type { NodeBackOff, PoolContext } from '../pool/context.ts';
import { entries, familyServed, isCreating, isPrimed, listed, wanted } from '../pool/context.ts';
import { asksForAddress, awaitsNode, createdAt } from '../pool/creation.ts';
import { isOthersTurn } from '../pool/grant.ts';
import { isHeld, served } from '../pool/node-absence.ts';
import { isParked, parkedFinding, unassignedCondition } from '../pool/parking.ts';
import { type AddressView, conflictText, type PoolView, stamp } from '../pool/view.ts';
import { awaitsResume, movesAwaited, pausedCondition } from './annotations.ts';
import { whyNoNode } from './no-eligible-node.ts';
import { type AddressWaits, contention, draining, type HeldNode, heldNodes, hold, recovering, refused, waitsOf } from './nodes.ts';
import { recordSetProblem } from './record-set.ts';

/** FLIPOP's names for the state of an address. */
export type IPState = 'active' | 'in-progress' | 'error' | 'no-match' | 'unassigned' | 'disabled';

export interface IPStatus extends AddressWaits {
  readonly state: IPState;
  readonly nodeName?: string;
  readonly providerID?: string;
  readonly error?: string;
  readonly machineState?: string;
  readonly origin?: string;
  readonly electedNode?: string;
  readonly previousNodes?: readonly string[];
  readonly epoch?: number;
  readonly unconfirmed?: boolean;
  readonly coolOffUntil?: string;
  readonly inDoubt?: boolean;
}

export interface PoolStatus {
  readonly ips: Readonly<Record<Address, IPStatus>>;
  readonly assignableNodes: readonly string[];
  readonly nodeErrors: readonly string[];
  readonly activeIPs: number;
  readonly error?: string;
  readonly observedGeneration: number;
  readonly lastAssignmentTime?: string;
  readonly term: number;
  readonly safeHold?: { readonly nodes: readonly HeldNode[] };
  readonly pendingCreate?: {
    readonly provider?: string;
    readonly region?: string;
    readonly knownAddresses: readonly Address[];
    readonly startedAt: string;
  };
}

/** A pool's status without its conditions: FLIPOP's fields, and what a rebuild needs when the records are lost. */
export function poolStatus(view: PoolView): PoolStatus {
  const error = errorIn(view);
  return { ...addressStatus(view), ...(error !== null && { error }) };
}

/** The same without the error, which requires checking all nodes. */
export function addressStatus(view: PoolView): Omit<PoolStatus, 'error'> {
  const { context } = view;
  const goal = new Set<string>(wanted(context));
  const ips = Object.fromEntries(
    listed(context).map((address) => [address, goal.has(address) ? ipStatus(view, address) : unstaffed(context, address)]),
  );
  // Addresses that it no longer lists, but keeps while it is paused or while their assign may be under way: its successor has to know about them.
  const kept = entries(context.members).filter(
    ([address, member]) => !ips[address] && (isUnderWay(member) || (isPaused(context) && !member.retiring)),
  );
  for (const [address] of kept) ips[address] = ipStatus(view, address);
  const { intent } = context.acquiring;
  const provider = createdAt(context);
  return {
    ips,
    assignableNodes: assignable(view),
    nodeErrors: inBackOff(view)
      .map(([name]) => name)
      .sort(),
    activeIPs: Object.values(ips).filter(({ state, held }) => state === 'active' && !held).length,
    observedGeneration: context.generation,
    ...(context.lastAssignmentAt !== null && { lastAssignmentTime: stamp(context.lastAssignmentAt) }),
    term: view.term,
    ...(isHeld(context) && { safeHold: { nodes: heldNodes(context) } }),
    ...(intent && {
      pendingCreate: {
        ...(provider && { provider }),
        ...(intent.region && { region: intent.region }),
        knownAddresses: intent.knownAddresses,
        startedAt: stamp(intent.listedAt),
      },
    }),
  };
}

/** Nodes that could take an address now, in the order of use. */
function assignable(view: PoolView): readonly string[] {
  const { candidates, members, fullNodes } = view.context;
  const taken = new Set([
    ...Object.values(members).flatMap(({ node }) => (node ? [node.name] : [])),
    ...nodesFull(fullNodes, familyServed(view.context)),
    ...inBackOff(view).map(([name]) => name),
  ]);
  return candidates.map(({ name }) => name).filter((name) => !taken.has(name));
}

/** Nodes that are not retried yet. A pool also remembers the others, for the count of their failures. */
const inBackOff = ({ context, at }: PoolView): readonly [string, NodeBackOff][] =>
  Object.entries(context.backOff).filter(([, { until }]) => until > at);

/** When the status changes without an event, ms since the epoch: a back-off ends then. Null for never. */
export function changesAt(view: PoolView): number | null {
  const ends = inBackOff(view).map(([, { until }]) => until);
  return ends.length > 0 ? Math.min(...ends) : null;
}

const unstaffed = (context: PoolContext, address: Address): IPStatus => {
  const owner = context.conflicts[address];
  return owner === undefined ? { state: 'disabled' } : { state: 'error', error: conflictText(address, owner) };
};

function ipStatus(view: PoolView, address: Address): IPStatus {
  const shown = view.addresses[address];
  if (!shown) return { state: 'in-progress' };
  const { context, state } = shown;
  return {
    state: ipState(shown),
    ...(context.assigned && { nodeName: context.assigned.name }),
    ...(context.holder && { providerID: context.holder }),
    ...errorOf(view, shown),
    machineState: state,
    origin: context.origin,
    ...(context.elected && state !== 'Stable' && { electedNode: context.elected.name }),
    ...(context.previous.length > 0 && { previousNodes: context.previous.map(({ name }) => name).sort() }),
    ...(context.epoch > 0 && { epoch: context.epoch }),
    ...(context.unconfirmed && { unconfirmed: true }),
    ...(context.coolOffUntil !== null && state === 'CoolOff' && { coolOffUntil: stamp(context.coolOffUntil) }),
    ...(context.inDoubtUntil !== null && { inDoubt: true }),
    ...waitsOf(view, address),
  };
}

function errorOf({ context: pool }: PoolView, { context, state }: AddressView): Pick<IPStatus, 'error'> {
  const error = findingOf(pool, context.address, pool.members[context.address]) ?? (state === 'Stable' ? null : context.failure);
  return error ? { error: error.message } : {};
}

export function ipState({ state, context }: AddressView): IPState {
  switch (state) {
    case 'Stable':
      return 'active';
    case 'CoolOff':
      return 'error';
    case 'Unassigned':
      if (!context.known) return 'in-progress';
      return context.assigned ? 'no-match' : 'unassigned';
    default:
      return 'in-progress';
  }
}

/** What is wrong with the pool, in FLIPOP's words where it has some: FLIPOP's CRDs have no conditions. Null for nothing, and for a DNS record that is not written, because
 *  addresses still serve. */
const errorIn = (view: PoolView): string | null =>
  poolError(view.context) ?? (ownProblem(view) ?? unverifiedProblem(view))?.message ?? null;

/** Errors for which FLIPOP has words; null for none. */
export function poolError({ error, acquiring }: PoolContext): string | null {
  if (error !== null) return error;
  if (acquiring.unclear.length > 0) {
    return `creating new ip with provider: its outcome is unknown, and ${acquiring.unclear.join(', ')} are new: list the one that belongs to this pool in spec.ips, and delete the others`;
  }
  if (acquiring.failure?.reason === 'SpecReverted') return acquiring.failure.message;
  return acquiring.failure ? `creating new ip with provider: ${acquiring.failure.message}` : null;
}

// ---------------------------------------------------------------- conditions

export type PoolCondition = Condition & { readonly type: 'Ready' | 'Progressing' | 'Degraded' | 'Paused' | 'Unassigned' };

/** Ready: every wanted address is active. Progressing: something is under way that ends by itself. Degraded: something is wrong until an external change. Each with one of the
 *  documented reasons. */
export function poolConditions(view: PoolView): readonly PoolCondition[] {
  const { context } = view;
  const goal = wanted(context);
  const desired = context.spec?.desired ?? 0;
  const active = goal.filter((address) => view.addresses[address]?.state === 'Stable').length;
  const problem = problemOf(view);
  const busy = busyOf(view);
  const ready = context.error === null && desired > 0 && active === desired && !isHeld(context) && !awaitsResume(view);
  const count = `${active} of ${desired} addresses are active`;
  return [
    ready
      ? verified(view, { type: 'Ready', status: 'True', reason: 'AllActive', message: count })
      : {
          type: 'Ready',
          status: 'False',
          reason: problem?.reason ?? busy?.reason ?? 'Waiting',
          message: problem ? `${count}: ${problem.message}` : count,
        },
    progressing(busy),
    degraded(problem),
    ...pausedCondition(context),
    ...unassignedCondition(context),
  ];
}

export const progressing = (busy: Finding | null, otherwise: Finding = { reason: 'Idle', message: 'nothing is under way' }) =>
  ({ type: 'Progressing', status: busy ? 'True' : 'False', ...(busy ?? otherwise) }) as const;

export const degraded = (problem: Finding | null) =>
  ({
    type: 'Degraded',
    status: problem ? 'True' : 'False',
    ...(problem ?? { reason: 'AsExpected', message: 'nothing is wrong' }),
  }) as const;

/** A condition that holds only as long as the provider can be read regularly. */
export const verified = <C extends Omit<PoolCondition, 'type'>>({ unverified }: PoolView, condition: C): C =>
  unverified
    ? { ...condition, status: 'Unknown', reason: 'Unverified', message: `${condition.message}, as far as is known: ${unverified}` }
    : condition;

const problemOf = (view: PoolView): Finding | null =>
  ownProblem(view) ?? (view.recordSet && recordSetProblem(view.recordSet)) ?? unverifiedProblem(view);

function ownProblem(view: PoolView): Finding | null {
  const { context } = view;
  if (context.error !== null) return { reason: context.errorReason ?? 'InvalidSpec', message: context.error };
  return (
    hold(view) ??
    awaitsResume(view) ??
    creationProblem(context) ??
    addressProblem(view) ??
    refused(view) ??
    contention(view) ??
    adoptionProblem(view) ??
    waitingProblem(view) ??
    parkedFinding(context)
  );
}

/** Its addresses may have been moved without being noticed. */
export const unverifiedProblem = ({ unverified }: PoolView): Finding | null =>
  unverified ? { reason: 'Unverified', message: unverified } : null;

export function creationProblem(context: PoolContext): Finding | null {
  if (context.acquiring.unclear.length > 0) return { reason: 'CreateUnknown', message: poolError(context) ?? '' };
  const { failure, intent } = context.acquiring;
  if (failure?.unknownOutcome && failure.kind === 'Conflict' && intent)
    return { reason: 'CreateUnknown', message: poolError(context) ?? '' };
  if (failure) return { reason: failure.reason ?? 'CreateFailed', message: poolError(context) ?? '' };
  if (context.room?.refusal && asksForAddress(context)) return context.room.refusal;
  const [contested] = Object.keys(context.conflicts) as Address[];
  return contested ? { reason: 'AddressConflict', message: unstaffed(context, contested).error ?? '' } : null;
}

export function addressProblem(view: PoolView): Finding | null {
  for (const address of wanted(view.context)) {
    const shown = view.addresses[address];
    if (shown?.state === 'CoolOff' && shown.context.failure) {
      return { reason: failureReason(shown.context.failure), message: textAbout(address, shown.context.failure.message) };
    }
  }
  return null;
}

export function waitingProblem(view: PoolView): Finding | null {
  const { context, addresses } = view;
  if (awaitsNode(context)) return noNode(view, [], 'an address, and none is created');
  const waiting = wanted(context).filter(
    (address) => isWaiting(addresses[address]) && !isWithheld(context, context.members[address] ?? {}) && !isParked(context, address),
  );
  if (isPrimed(context) && waiting.length > 0 && (context.grantAt === null || freeOnesAreLeftAlone(view)) && !inTurn(context)) {
    return noNode(view, waiting, waiting.join(', '));
  }
  return null;
}

const isWaiting = (shown: AddressView | undefined): boolean => shown?.state === 'Unassigned' && shown.context.known;

/** There are free nodes, and all of them are in back-off. */
const freeOnesAreLeftAlone = (view: PoolView): boolean => inBackOff(view).length > 0 && assignable(view).length === 0;

function noNode(view: PoolView, waiting: readonly Address[], text: string): Finding {
  const why = whyNoNode(view, waiting);
  return { reason: 'NoEligibleNode', message: `no eligible node is free for ${text}${why === null ? '' : `: ${why}`}` };
}

/** Waiting only because another assignment of this pool or of its class must be confirmed first. */
const inTurn = (context: PoolContext): boolean =>
  (context.spec?.coolOffMs ?? 0) > 0 &&
  (isOthersTurn(context) || Object.values(context.members).some(({ node, confirmed }) => node && !confirmed));

export function busyOf(view: PoolView): Finding | null {
  const { context } = view;
  if (view.state === 'Priming') return { reason: 'Priming', message: 'reading the nodes, the pods and the provider' };
  if (isCreating(context.acquiring) || context.acquiring.unpublished) return { reason: 'Creating', message: 'creating an address' };
  const moving = wanted(context).filter((address) => isMoving(view.addresses[address]));
  if (moving.length > 0) return { reason: 'Assigning', message: `assigning ${moving.join(', ')}` };
  const staying = isPaused(context) ? null : (movesAwaited(context) ?? draining(view) ?? recovering(view));
  if (staying) return staying;
  if (context.grantAt !== null) return { reason: 'Spacing', message: `the next assignment comes at ${stamp(context.grantAt)}` };
  if (isOthersTurn(context) && wanted(context).some((address) => view.addresses[address]?.state === 'Unassigned'))
    return { reason: 'Spacing', message: 'another assignment of its class has to be confirmed first' };
  return null;
}

const isMoving = (view: AddressView | undefined): boolean =>
  view !== undefined && ['Electing', 'FirewallOpening', 'Assigning', 'Pruning'].includes(view.state);

/** Node name → address, for the annotation: serving addresses, on the node where they are. */
export const annotations = ({ context, at }: PoolView): Readonly<Record<string, Address>> =>
  Object.fromEntries(served(context, at).map(({ address, node }) => [node.name, address]));
