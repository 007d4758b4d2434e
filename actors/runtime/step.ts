import {
  type ActorLogic,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  initialTransition,
  type SpecialExecutableAction,
  transition,
} from 'xstate';
import type { Effect } from '../../machines/events.ts';
import type { JobName } from '../../machines/jobs.ts';
import type { Chart, StoredSnapshot } from './charts.ts';

/** An event as the runtime passes it to a chart. */
export interface MachineEvent {
  readonly type: string;
  readonly at: number;
  readonly [field: string]: unknown;
}

/** The result of one event for one actor: the next snapshot, and the effects as data. Nothing was carried out. */
export interface Step {
  readonly snapshot: StoredSnapshot;
  readonly done: boolean;
  /** In order: a later start of the same invoke replaces an earlier one. */
  readonly starts: readonly { readonly invokeId: string; readonly job: JobName; readonly input: unknown }[];
  /** To be set after `cancels` are applied. */
  readonly delays: readonly { readonly sendId: string; readonly delayMs: number }[];
  readonly cancels: readonly string[];
  readonly effects: readonly Effect[];
  /** Invoke ids of the active states: any other job is no longer waited for. */
  readonly invoking: ReadonlySet<string>;
}

/** The first snapshot of an actor. */
export function begin(chart: Chart, input: unknown): Step {
  const [snapshot, actions] = initialTransition(withoutActor(chart.machine), { input });
  return compiled(snapshot as AnyMachineSnapshot, actions as readonly ExecutableAction[]);
}

/** Deterministic in snapshot and event. */
export function step(chart: Chart, stored: StoredSnapshot, event: MachineEvent): Step {
  const before = chart.machine.resolveState({ value: stored.value, context: stored.context } as Parameters<
    typeof chart.machine.resolveState
  >[0]);
  const [snapshot, actions] = transition(withoutActor(chart.machine), before, event);
  return compiled(snapshot as AnyMachineSnapshot, actions as readonly ExecutableAction[]);
}

type Logic = ActorLogic<AnyMachineSnapshot, AnyEventObject, { readonly input: unknown } | undefined>;

const logics = new WeakMap<AnyStateMachine, Logic>();

/** XState's `transition` builds a throwaway actor without input. Our charts need an input, so each call threw an error that was discarded, at almost half the cost of a
 *  transition; here that actor begins with a placeholder. */
function withoutActor(machine: AnyStateMachine): Logic {
  const known = logics.get(machine);
  if (known) return known;
  const logic: Logic = {
    transition: (snapshot, event, scope) => machine.transition(snapshot, event, scope as Parameters<typeof machine.transition>[2]),
    getInitialSnapshot: (scope, begins) =>
      begins ? machine.getInitialSnapshot(scope as Parameters<typeof machine.getInitialSnapshot>[0], begins.input) : UNUSED,
    getPersistedSnapshot: (snapshot) => snapshot,
  };
  logics.set(machine, logic);
  return logic;
}

const UNUSED = { status: 'active' } as AnyMachineSnapshot;

/** Whether a stored state exists in today's chart. XState silently accepts an unknown one and fails later. */
export function fits({ machine }: Chart, { value, context }: StoredSnapshot): boolean {
  try {
    machine.resolveState({ value, context } as Parameters<typeof machine.resolveState>[0]);
    return true;
  } catch {
    return false;
  }
}

/** Why today's chart cannot resume from a stored snapshot; null when it can. */
export function unfit(chart: Chart, stored: StoredSnapshot): string | null {
  if (!fits(chart, stored)) return `has no state ${JSON.stringify(stored.value)}`;
  const { machine, example } = chart;
  const field = example === undefined ? null : misshapen(exampleOf(machine, example), stored.context);
  return field === null ? null : `cannot go on with ${field.slice(1) || 'this context'} as it is stored`;
}

const examples = new WeakMap<AnyStateMachine, unknown>();

/** The initial context that the machine builds from the input, as it would be stored. */
function exampleOf(machine: AnyStateMachine, input: unknown): unknown {
  const known = examples.get(machine) ?? JSON.parse(JSON.stringify(initialTransition(withoutActor(machine), { input })[0].context));
  examples.set(machine, known);
  return known;
}

/** The first field that a value lacks, or has in another form than the example; null for none. A field that is null in the example may have any value, and additional
 *  fields are allowed. */
function misshapen(example: unknown, value: unknown): string | null {
  if (example === null || (value === null && typeof example !== 'object')) return value === undefined ? '' : null;
  if (typeof value !== typeof example || value === null || Array.isArray(value) !== Array.isArray(example)) return '';
  if (typeof example !== 'object' || Array.isArray(example)) return null;
  for (const [name, part] of Object.entries(example as object)) {
    const field = misshapen(part, (value as Readonly<Record<string, unknown>>)[name]);
    if (field !== null) return `.${name}${field}`;
  }
  return null;
}

type ExecutableAction = SpecialExecutableAction | { readonly type: string; readonly params: unknown };

interface SpawnParams {
  readonly id: string;
  readonly src: string;
  readonly input: unknown;
}

interface RaiseParams {
  readonly id?: string;
  readonly delay?: number;
}

function compiled(snapshot: AnyMachineSnapshot, actions: readonly ExecutableAction[]): Step {
  const starts: { invokeId: string; job: JobName; input: unknown }[] = [];
  let delays: { sendId: string; delayMs: number }[] = [];
  const cancels: string[] = [];
  const effects: Effect[] = [];
  for (const action of actions) {
    switch (action.type) {
      case 'xstate.spawnChild': {
        const { id, src, input } = action.params as SpawnParams;
        starts.push({ invokeId: id, job: src as JobName, input });
        break;
      }
      case 'xstate.raise': {
        const { id, delay } = action.params as RaiseParams;
        if (id !== undefined && delay !== undefined) delays.push({ sendId: id, delayMs: delay });
        break;
      }
      case 'xstate.cancel': {
        const { sendId } = action.params as { sendId: string };
        cancels.push(sendId);
        delays = delays.filter((delay) => delay.sendId !== sendId);
        break;
      }
      case 'tell':
      case 'spawn':
      case 'claim':
        effects.push({ type: action.type, params: action.params } as Effect);
        break;
      // A job of a state that was left is found by `invoking`: after a restore this action does not say which job it stops.
      case 'xstate.stopChild':
        break;
      default:
        throw new Error(`the chart emits ${action.type}, which the runtime does not know`);
    }
  }
  const invoking = new Set(snapshot._nodes.flatMap((node) => node.invoke.map(({ id }) => id)));
  return {
    snapshot: { value: snapshot.value, context: snapshot.context },
    done: snapshot.status !== 'active',
    starts,
    delays,
    cancels,
    effects,
    invoking,
  };
}
