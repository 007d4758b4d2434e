import { nodesFull } from './claims.ts';
import { restsUntil } from './contention.ts';
import { type Absence, absenceOf } from './grace.ts';
import type { Member } from './grants.ts';
import type { AddressContext } from './ip.ts';
import type { NodeBackOff, PoolContext } from './pool.ts';
import { familyServed, isCreating, isPrimed, listed, wanted } from './pool.ts';
import type { RecordSetContext } from './record-set.ts';
import { recordSetProblem } from './record-set-status.ts';
import type { Address, JobFailure, NodeRef } from './types.ts';

/** FLIPOP's names for what an address is doing. */
export type IPState = 'active' | 'in-progress' | 'error' | 'no-match' | 'unassigned' | 'disabled';

/** One address as its record shows it. */
export interface AddressView {
  readonly state: string;
  readonly context: AddressContext;
}

export interface PoolView {
  readonly state: string;
  readonly context: PoolContext;
  readonly addresses: Readonly<Record<Address, AddressView>>;
  /** The pool's record set; null while it has none. */
  readonly recordSet: RecordSetContext | null;
  readonly term: number;
  /** When it is looked at, ms since the epoch: what only lasts until a time is over then. */
  readonly at: number;
}

export interface IPStatus {
  readonly state: IPState;
  readonly nodeName?: string;
  readonly providerID?: string;
  readonly error?: string;
  readonly machineState?: string;
  readonly origin?: string;
  readonly electedNode?: string;
  readonly previousNodes?: readonly string[];
  readonly epoch?: number;
  readonly coolOffUntil?: string;
  readonly inDoubt?: boolean;
  readonly contendedUntil?: string;
  readonly notReadySince?: string;
  readonly graceUntil?: string;
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
  readonly pendingCreate?: { readonly region?: string; readonly knownAddresses: readonly Address[]; readonly startedAt: string };
}

/** The last time that a date can hold: a provider may ask to wait for longer than that. */
const END_OF_TIME = 8.64e15;
const stamp = (ms: number): string => new Date(Math.min(ms, END_OF_TIME)).toISOString();

/** Everything of a pool's status but its conditions: FLIPOP's fields, and what a rebuild needs when the records are lost. */
export function poolStatus(view: PoolView): PoolStatus {
  const { context } = view;
  const goal = new Set<string>(wanted(context));
  const ips = Object.fromEntries(
    listed(context).map((address) => [address, goal.has(address) ? ipStatus(view, address) : unstaffed(context, address)]),
  );
  const error = poolError(context);
  const { intent } = context.acquiring;
  return {
    ips,
    assignableNodes: assignable(view),
    nodeErrors: inBackOff(view)
      .map(([name]) => name)
      .sort(),
    activeIPs: Object.values(ips).filter(({ state }) => state === 'active').length,
    ...(error !== null && { error }),
    observedGeneration: context.generation,
    ...(context.lastAssignmentAt !== null && { lastAssignmentTime: stamp(context.lastAssignmentAt) }),
    term: view.term,
    ...(intent && {
      pendingCreate: {
        ...(intent.region && { region: intent.region }),
        knownAddresses: intent.knownAddresses,
        startedAt: stamp(intent.listedAt),
      },
    }),
  };
}

/** Nodes that could take an address now, in the order in which they would. */
function assignable(view: PoolView): readonly string[] {
  const { candidates, members, fullNodes } = view.context;
  const taken = new Set([
    ...Object.values(members).flatMap(({ node }) => (node ? [node.name] : [])),
    ...nodesFull(fullNodes, familyServed(view.context)),
    ...inBackOff(view).map(([name]) => name),
  ]);
  return candidates.map(({ name }) => name).filter((name) => !taken.has(name));
}

/** Nodes that are not tried again yet. A pool remembers the others too, for the count of their failures. */
const inBackOff = ({ context, at }: PoolView): readonly [string, NodeBackOff][] =>
  Object.entries(context.backOff).filter(([, { until }]) => until > at);

/** When the status changes although nothing happens, ms since the epoch: a back-off is over then. Null for never. */
export function changesAt(view: PoolView): number | null {
  const ends = inBackOff(view).map(([, { until }]) => until);
  return ends.length > 0 ? Math.min(...ends) : null;
}

const unstaffed = (context: PoolContext, address: Address): IPStatus => {
  const owner = context.conflicts[address];
  return owner === undefined
    ? { state: 'disabled' }
    : { state: 'error', error: `the older pool ${owner} lists ${address} too, and keeps it` };
};

function ipStatus(view: PoolView, address: Address): IPStatus {
  const shown = view.addresses[address];
  if (!shown) return { state: 'in-progress' };
  const { context, state } = shown;
  const absence = absenceShown(view, shown);
  const contended = contendedUntil(view, address);
  return {
    state: ipState(shown),
    ...(context.assigned && { nodeName: context.assigned.name }),
    ...(context.holder && { providerID: context.holder }),
    ...(context.failure && state !== 'Stable' && { error: context.failure.message }),
    machineState: state,
    origin: context.origin,
    ...(context.elected && state !== 'Stable' && { electedNode: context.elected.name }),
    ...(context.previous.length > 0 && { previousNodes: context.previous.map(({ name }) => name).sort() }),
    ...(context.epoch > 0 && { epoch: context.epoch }),
    ...(context.coolOffUntil !== null && state === 'CoolOff' && { coolOffUntil: stamp(context.coolOffUntil) }),
    ...(context.inDoubtUntil !== null && { inDoubt: true }),
    ...(contended !== null && { contendedUntil: stamp(contended) }),
    ...(absence && { notReadySince: stamp(absence.since), graceUntil: stamp(absence.since + (view.context.spec?.graceMs ?? 0)) }),
  };
}

/** The node of an address that is active, when it stopped matching and is given time to come back. */
const absenceShown = ({ context }: PoolView, { state, context: { assigned } }: AddressView): Absence | null =>
  state === 'Stable' && assigned ? absenceOf(context.absent, assigned) : null;

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

/** What keeps the whole pool from working, in FLIPOP's words where it has some; null for nothing. */
export function poolError({ error, acquiring }: PoolContext): string | null {
  if (error !== null) return error;
  if (acquiring.unclear.length > 0) {
    return `creating new ip with provider: its outcome is unknown, and ${acquiring.unclear.join(', ')} are new: list the one that belongs to this pool in spec.ips, and delete the others`;
  }
  return acquiring.failure ? `creating new ip with provider: ${acquiring.failure.message}` : null;
}

// ---------------------------------------------------------------- conditions

export interface PoolCondition {
  readonly type: 'Ready' | 'Progressing' | 'Degraded';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Ready: every wanted address is active. Progressing: something is under way that ends by itself. Degraded: something is wrong and stays so until the
 *  world changes. Each says why in one of the documented reasons. */
export function poolConditions(view: PoolView): readonly PoolCondition[] {
  const { context } = view;
  const goal = wanted(context);
  const desired = context.spec?.desired ?? 0;
  const active = goal.filter((address) => view.addresses[address]?.state === 'Stable').length;
  const problem = problemOf(view);
  const busy = busyOf(view);
  const ready = context.error === null && desired > 0 && active === desired;
  const count = `${active} of ${desired} addresses are active`;
  return [
    {
      type: 'Ready',
      status: ready ? 'True' : 'False',
      reason: ready ? 'AllActive' : (problem?.reason ?? busy?.reason ?? 'Waiting'),
      message: problem && !ready ? `${count}: ${problem.message}` : count,
    },
    {
      type: 'Progressing',
      status: busy ? 'True' : 'False',
      reason: busy?.reason ?? 'Idle',
      message: busy?.message ?? 'nothing is under way',
    },
    {
      type: 'Degraded',
      status: problem ? 'True' : 'False',
      reason: problem?.reason ?? 'AsExpected',
      message: problem?.message ?? 'nothing is wrong',
    },
  ];
}

interface Finding {
  readonly reason: string;
  readonly message: string;
}

function problemOf(view: PoolView): Finding | null {
  const { context } = view;
  if (context.error !== null) return { reason: 'InvalidSpec', message: context.error };
  if (context.acquiring.unclear.length > 0) return { reason: 'CreateUnknown', message: poolError(context) ?? '' };
  if (context.acquiring.failure) return { reason: 'CreateFailed', message: poolError(context) ?? '' };
  const [contested] = Object.keys(context.conflicts) as Address[];
  if (contested) return { reason: 'AddressConflict', message: unstaffed(context, contested).error ?? '' };
  for (const address of wanted(context)) {
    const shown = view.addresses[address];
    if (shown?.state === 'CoolOff' && shown.context.failure) {
      return { reason: failureReason(shown.context.failure), message: `${address}: ${shown.context.failure.message}` };
    }
  }
  const left = wanted(context).filter((address) => contendedUntil(view, address) !== null);
  if (left.length > 0) return { reason: 'Contended', message: left.map((address) => leftTextOf(context, address)).join('; ') };
  const waiting = wanted(context).filter(
    (address) => view.addresses[address]?.state === 'Unassigned' && view.addresses[address]?.context.known,
  );
  if (isPrimed(context) && waiting.length > 0 && context.grantAt === null && !inTurn(context)) {
    return { reason: 'NoEligibleNode', message: `no eligible node is free for ${waiting.join(', ')}` };
  }
  return view.recordSet && recordSetProblem(view.recordSet);
}

/** Waiting only because another assignment of this pool has to be confirmed first. */
const inTurn = (context: PoolContext): boolean =>
  (context.spec?.coolOffMs ?? 0) > 0 && Object.values(context.members).some(({ node, confirmed }) => node && !confirmed);

/** The reason of a condition or an Event for a failure: one word for each thing that can be done about it. */
export function failureReason({ kind }: Pick<JobFailure, 'kind'>): string {
  switch (kind) {
    case 'NotFound':
      return 'AddressNotFound';
    case 'NodeInUse':
      return 'NodeInUse';
    case 'Unauthorized':
      return 'Unauthorized';
    case 'RateLimited':
      return 'RateLimited';
    case 'InProgress':
    case 'Conflict':
    case 'Invalid':
    case 'Unavailable':
    case 'Unsupported':
      return 'AssignFailed';
  }
}

function busyOf(view: PoolView): Finding | null {
  const { context } = view;
  if (view.state === 'Priming') return { reason: 'Priming', message: 'reading the nodes, the pods and the provider' };
  if (isCreating(context.acquiring) || context.acquiring.unpublished) return { reason: 'Creating', message: 'creating an address' };
  const moving = wanted(context).filter((address) => isMoving(view.addresses[address]));
  if (moving.length > 0) return { reason: 'Assigning', message: `assigning ${moving.join(', ')}` };
  const goes = draining(view);
  if (goes) return { reason: 'Draining', message: goes };
  const waited = recovering(view);
  if (waited) return { reason: 'Recovering', message: waited };
  if (context.grantAt !== null) return { reason: 'Spacing', message: `the next assignment comes at ${stamp(context.grantAt)}` };
  return null;
}

/** Which addresses wait for their nodes, and until when; null for none. */
function recovering(view: PoolView): string | null {
  const waits = wanted(view.context).flatMap((address) => {
    const shown = view.addresses[address];
    const absence = shown ? absenceShown(view, shown) : null;
    return absence ? [stays(address, absence, view.context)] : [];
  });
  return waits.length > 0 ? waits.join('; ') : null;
}

/** Which addresses are to leave their nodes; null for none. */
function draining({ context, addresses }: PoolView): string | null {
  const leaves = wanted(context).flatMap((address) => {
    const shown = addresses[address];
    const node =
      shown?.state === 'Stable' ? context.leaving.find(({ providerID }) => providerID === shown.context.assigned?.providerID) : null;
    return node ? [leavesWhenItCan(address, node)] : [];
  });
  return leaves.length > 0 ? leaves.join('; ') : null;
}

/** Until when an address is left where somebody else put it, ms since the epoch; null for one that is not. */
function contendedUntil({ context: { members, spec }, at }: PoolView, address: Address): number | null {
  const member = members[address];
  return member && !member.node ? restsUntil(member.contest, spec?.contention ?? null, at) : null;
}

const leftTextOf = (context: PoolContext, address: Address): string => {
  const member = context.members[address];
  return member ? leftText(context, address, member) : '';
};

/** What people are told of an address that somebody else moves again and again. */
export function leftText({ spec }: PoolContext, address: Address, { contest, holder }: Member): string {
  const { windowMs = 0, takeover = 'Yield' } = spec?.contention ?? {};
  const where = holder ? `on ${holder}` : 'attached to nothing';
  const until = stamp((contest.restsSince ?? 0) + windowMs);
  const then = takeover === 'Yield' ? `tried again at ${until} unless it is moved before` : `taken back at ${until}`;
  return `${address} was moved by somebody else ${contest.moves.length} times within ${windowMs / 1000} s: it is left ${where}, and ${then}`;
}

/** What people are told of an address on a node that is about to go. */
export const leavesWhenItCan = (address: Address, { name }: NodeRef): string =>
  `${name} is cordoned or about to go: ${address} leaves it as soon as another node is free`;

/** What people are told of an address whose node is given time. */
export const stays = (address: Address, { node, since }: Absence, { spec }: PoolContext): string =>
  `${node.name} is not Ready, or runs no Ready pod: ${address} stays there until ${stamp(since + (spec?.graceMs ?? 0))}`;

const isMoving = (view: AddressView | undefined): boolean =>
  view !== undefined && ['Electing', 'FirewallOpening', 'Assigning', 'Pruning'].includes(view.state);

/** Node name → address, for the annotation: addresses that serve, on the node where they are confirmed. */
export const annotations = (view: PoolView): Readonly<Record<string, Address>> =>
  Object.fromEntries(
    Object.values(view.addresses).flatMap(({ state, context }) =>
      state === 'Stable' && context.assigned ? [[context.assigned.name, context.address]] : [],
    ),
  );
