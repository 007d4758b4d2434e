import { isDeepStrictEqual } from 'node:util';
import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import { type Chart, type Charts, claimsOf, type StoredSnapshot } from '../../actors/runtime/charts.ts';
import { begin, type MachineEvent, type Step, step } from '../../actors/runtime/step.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { World, WorldOptions } from '../support/world.ts';

/** Lets something happen in a world of these options; the recorder is handed the world before its first process starts. */
export type Recording = (options: WorldOptions, begin: (world: World) => void) => Promise<void>;

/** One actor's part in a turn that was saved: what it heard, and what became of it. What it was before is told by the lines above. */
export interface Line {
  readonly actor: ActorId;
  readonly chart: string;
  /** Of the chart, when this was recorded. */
  readonly version: number;
  /** What an actor was begun with, that begins with this line. */
  readonly input?: unknown;
  /** Fields of the context that are stored otherwise than the lines above tell: whoever took over has changed them before this was heard. */
  readonly taken?: Readonly<Record<string, unknown>>;
  readonly events: readonly MachineEvent[];
  readonly value: unknown;
  /** Fields of the context that differ from those before. */
  readonly context: Readonly<Record<string, unknown>>;
  /** What it claims from then on, as names of nodes and the like. */
  readonly claims: readonly string[];
  /** Effects in order, those that there were. */
  readonly does: Partial<Pick<Step, 'starts' | 'delays' | 'cancels' | 'effects'>>;
  /** The actor came to its end: its record goes. */
  readonly done?: true;
}

/** What actors were, by id, as lines tell it. */
export type Snapshots = Map<ActorId, StoredSnapshot>;

/** What events make of an actor, as a line; `before` null for one that begins. */
export function lineOf(chart: Chart, actor: ActorId, before: StoredSnapshot | null, heard: Pick<Line, 'input' | 'taken' | 'events'>): Line {
  const { input, taken, events } = heard;
  const steps: Step[] = before ? [] : [begin(chart, input)];
  for (const event of events) steps.push(step(chart, steps.at(-1)?.snapshot ?? (before as StoredSnapshot), event));
  const last = steps.at(-1);
  if (!last) throw new Error(`${actor} heard nothing`);
  const { value, context } = asJson(last.snapshot);
  return asJson({
    actor,
    chart: chart.name,
    version: chart.version,
    ...(!before && { input }),
    ...(taken && { taken }),
    events,
    value,
    context: changedIn(before?.context, context),
    claims: last.done ? [] : claimsOf(chart, actor, context).map(({ node }) => node),
    does: doneBy(steps),
    ...(last.done && { done: true as const }),
  });
}

function changedIn(before: unknown, now: unknown): Readonly<Record<string, unknown>> {
  const was = (before ?? {}) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(now as object).filter(([name, field]) => !isDeepStrictEqual(field, was[name])));
}

const doneBy = (steps: readonly Step[]): Line['does'] => {
  const parts = {
    starts: steps.flatMap(({ starts }) => starts),
    delays: steps.flatMap(({ delays }) => delays),
    cancels: steps.flatMap(({ cancels }) => cancels),
    effects: steps.flatMap(({ effects }) => effects),
  };
  return Object.fromEntries(Object.entries(parts).filter(([, all]) => all.length > 0));
};

export const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Takes a line as what happened. Answers what was before. */
export function follow(snapshots: Snapshots, { actor, value, context, done, input, taken }: Line): StoredSnapshot | null {
  const before = input === undefined ? withTaken(snapshots.get(actor) ?? null, taken) : null;
  if (done) snapshots.delete(actor);
  else snapshots.set(actor, { value, context: { ...(before?.context as object | undefined), ...context } });
  return before;
}

const withTaken = (stored: StoredSnapshot | null, taken: Line['taken']): StoredSnapshot | null =>
  stored && taken ? { ...stored, context: { ...(stored.context as object), ...taken } } : stored;

/** Writes down what the actors of a world hear and become. */
export class Recorder {
  readonly lines: Line[] = [];
  readonly #snapshots: Snapshots = new Map();
  readonly #heard = new Map<ActorId, (MachineEvent | { readonly input: unknown })[]>();
  #charts: Charts = {};

  /** For the option `spoil` of a world: charts that are the same, but listened to. */
  readonly listen = (charts: Charts): Charts => {
    this.#charts = charts;
    return Object.fromEntries(Object.entries(charts).map(([name, chart]) => [name, { ...chart, machine: this.#listened(chart) }]));
  };

  /** To be called before the first process starts. */
  watch({ invariants }: World): void {
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#note(turn);
    };
  }

  #listened({ machine }: Chart): Chart['machine'] {
    const note = (actor: ActorId, heard: MachineEvent | { readonly input: unknown }) => {
      this.#heard.set(actor, [...(this.#heard.get(actor) ?? []), heard]);
    };
    return Object.assign(Object.create(machine) as Chart['machine'], {
      transition: ((snapshot, event, scope) => {
        note(snapshot.context.id, event as MachineEvent);
        return machine.transition(snapshot, event, scope);
      }) as typeof machine.transition,
      getInitialSnapshot: ((scope, input) => {
        note((input as { readonly id: ActorId }).id, { input });
        return machine.getInitialSnapshot(scope, input);
      }) as typeof machine.getInitialSnapshot,
    });
  }

  #note({ transitions }: SavedTurn): void {
    for (const transition of transitions) {
      const { actor, chart: name, before, after } = transition;
      const chart = this.#charts[name];
      if (!chart) throw new Error(`no chart is named ${name}`);
      const heard = this.#lastHeard(transition);
      const known = heard.input === undefined ? (this.#snapshots.get(actor) ?? null) : null;
      const taken = known && before ? changedIn(known.context, asJson(before.snapshot.context)) : {};
      const told = { ...heard, ...(Object.keys(taken).length > 0 && { taken }) };
      const line = lineOf(chart, actor, withTaken(known, told.taken), told);
      follow(this.#snapshots, line);
      if (!isDeepStrictEqual(asJson(this.#snapshots.get(actor) ?? null), asJson(after?.snapshot ?? null)))
        throw new Error(`${actor} became something else by ${JSON.stringify(heard)} than what was saved`);
      this.lines.push(line);
    }
  }

  /** What an actor heard in the turn: turns before it that were not saved, or changed nothing, left something there too. */
  #lastHeard({ actor, events }: Transition): Pick<Line, 'input' | 'events'> {
    const last = (this.#heard.get(actor) ?? []).slice(-events.length);
    this.#heard.delete(actor);
    const begun = last.find((each): each is { readonly input: unknown } => 'input' in each);
    return { ...(begun && { input: begun.input }), events: last.filter((each): each is MachineEvent => !('input' in each)) };
  }
}
