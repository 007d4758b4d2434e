import type { AddressContext } from '../../machines/address/context.ts';
import { objectOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { Log, MoveStep, Observer, SavedTurn, Transition } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import { coalesced } from '../runtime/debounce.ts';
import { contextOf, isDrift, isPlannedMove, isServing, nodeLost } from './losses.ts';

/** Delay before lines are written, ms: not while the call that moves the address waits to be dispatched. */
const WRITTEN_AFTER_MS = 10;

const MESSAGES: Readonly<Partial<Record<MoveStep['step'], string>>> = {
  lost: 'an address has lost its node',
  elected: 'a node is elected for an address',
  assigned: 'an address is assigned',
  opened: 'ports are open for an address',
  refused: 'a node is given up for an address',
  gone: 'an address is given up',
};

type Told = Pick<MoveStep, 'step' | 'fields'>;

/** When an address began to move, ms since the epoch, and from which node; null for none. */
interface Move {
  readonly at: number;
  readonly from: string | null;
}

/** Logs each step of an address on its way to a node: lost, elected, assigned, opened, given up. Nothing waits for it. */
export function moveLog({ log, clock }: { readonly log: Log; readonly clock: Clock }): Observer {
  let steps: MoveStep[] = [];
  const write = coalesced(clock, WRITTEN_AFTER_MS, () => {
    const all = steps;
    steps = [];
    for (const { step, fields } of all) {
      const message = MESSAGES[step];
      if (message) log.info(message, fields);
    }
  });
  return moveSteps((step) => {
    steps.push(step);
    write();
  });
}

/** Reports each step of an address on its way to a node, in the turn that made it. */
export function moveSteps(tell: (step: MoveStep) => void): Observer {
  const moves = new Map<ActorId, Move>();

  const note = (transition: Transition, turn: SavedTurn): void => {
    const { actor, after } = transition;
    const lost = lossIn(transition, turn);
    if (lost) moves.set(actor, { at: turn.at, from: lost.from });
    const { at, term } = turn;
    const about = { object: objectOf(actor), term, address: addressOf(actor) };
    for (const { step, fields } of [...lossOf(lost), ...stepsOf(transition, moves.get(actor), at)])
      tell({ step, actor, at, fields: { ...about, ...fields } });
    if (!after || isServing(after)) moves.delete(actor);
    else if (!moves.has(actor) && contextOf(after).elected)
      moves.set(actor, { at: turn.at, from: contextOf(after).assigned?.name ?? null });
  };

  return {
    turnSaved: (turn) => {
      for (const transition of turn.transitions) if (transition.chart === 'ip') note(transition, turn);
    },
    reset: () => moves.clear(),
  };
}

interface Loss {
  readonly from: string;
  readonly reason: 'NodeLost' | 'NodeLeaves' | 'DriftDetected' | 'Unassigned';
}

function lossIn(transition: Transition, { transitions }: SavedTurn): Loss | null {
  const { before, after } = transition;
  if (!before || !after) return null;
  const lost = nodeLost(transition);
  const pool = transitions.find(({ actor }) => actor === contextOf(after).pool);
  if (lost !== null) return { from: lost, reason: isPlannedMove(pool, lost) ? 'NodeLeaves' : 'NodeLost' };
  const { assigned, parked } = contextOf(before);
  if (parked && assigned && !contextOf(after).assigned) return { from: assigned.name, reason: 'Unassigned' };
  return assigned && isDrift(contextOf(before), contextOf(after)) ? { from: assigned.name, reason: 'DriftDetected' } : null;
}

interface Step {
  readonly was: AddressContext;
  readonly now: AddressContext;
  readonly move: Move | undefined;
  /** Time since the address began to move, ms. */
  readonly durationMs: number;
  /** The job whose outcome the turn received; null for none. */
  readonly job: string | null;
}

function stepsOf({ before, after, consumed }: Transition, move: Move | undefined, at: number): readonly Told[] {
  if (!before) return [];
  const was = contextOf(before);
  if (!after) return [{ step: 'gone', fields: { from: was.assigned?.name ?? null } }];
  const step = { was, now: contextOf(after), move, durationMs: Math.max(0, at - (move?.at ?? at)), job: consumed[0] ?? null };
  const served = move && isServing(after) ? ({ step: 'served', fields: {} } as const) : null;
  return [elected(step), assigned(step), opened(step), refused(step), served].filter((told) => told !== null);
}

/** A rebuilt address may know its target node by name alone: that is no election. */
function elected({ was, now, move }: Step): Told | null {
  const to = now.elected;
  if (now.epoch === was.epoch || !to?.providerID || to.name === now.assigned?.name) return null;
  return { step: 'elected', fields: { from: move?.from ?? now.assigned?.name ?? null, to: to.name } };
}

function assigned({ was, now, move, durationMs, job }: Step): Told | null {
  const to = now.assigned;
  if (!to || to.name === was.assigned?.name) return null;
  return { step: 'assigned', fields: { from: move?.from ?? null, to: to.name, durationMs, job } };
}

function opened({ was, now: { open }, durationMs }: Step): Told | null {
  if (!open || open.node === was.open?.node) return null;
  return { step: 'opened', fields: { to: open.node, ports: open.ports, durationMs } };
}

function refused({ was, now }: Step): Told | null {
  if (!was.elected || now.elected || !now.failure) return null;
  return { step: 'refused', fields: { to: was.elected.name, reason: now.failure.kind } };
}

const lossOf = (lost: Loss | null): readonly Told[] => (lost ? [{ step: 'lost', fields: { ...lost } }] : []);

const addressOf = (actor: ActorId): string => actor.slice(actor.lastIndexOf('/') + 1);
