import type { createInspector } from '@statelyai/inspect';
import type { HeardEvent, Sender, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';

/** The part of an XState machine that the viewer receives: its definition. */
export interface Inspectable {
  readonly config: unknown;
}

export interface InspectedRecord {
  readonly actor: string;
  readonly record: ActorRecord;
}

interface SessionOptions {
  readonly createInspector: typeof createInspector;
  readonly machines: Readonly<Record<string, Inspectable>>;
  /** The actor that an actor is a part of; null for none. */
  readonly parentOf: (actor: string) => string | null;
  /** Sends one message, as text, to the viewer. */
  readonly send: (message: string) => void;
}

/** One connected viewer. It receives the definition of each actor before its events, so it may connect at any time. */
export interface Session {
  /** Sends the definition and the current snapshot of each. */
  replay(records: readonly InspectedRecord[]): void;
  /** Sends the events of a saved turn in order, with their senders, and the resulting snapshots. */
  saved(transitions: readonly Transition[]): void;
}

type Inspector = ReturnType<typeof createInspector>;
type InspectedActor = Exclude<Parameters<Inspector['actor']>[0], string>;

/** Represents the operator itself in sequences: it observes the cluster and the provider, and starts and resumes actors. */
const OPERATOR = 'operator';
/** Definitions are nested deeper than the package's default of ten levels. */
const DEPTH = 24;
/** Maximum size of an event field that is sent, characters of JSON: some contain every Node of the cluster. */
const LONGEST = 4_000;

/** A session that speaks the messages of Stately's inspector: `@xstate.actor`, `@xstate.event`, `@xstate.snapshot`. */
export function createSession({ createInspector, machines, parentOf, send }: SessionOptions): Session {
  const known = new Set<string>();
  const inspector = createInspector(
    { send: (message) => send(JSON.stringify(message)) },
    {
      serializationDepthLimit: DEPTH,
      // The package names actors after their machine: a thousand of them would all be called "ip".
      serialize: (message) => (message.type === '@xstate.actor' ? { ...message, name: message.sessionId } : message),
    },
  );

  const introduce = (actor: string, record: ActorRecord): void => {
    known.add(actor);
    const parent = parentOf(actor);
    inspector.actor(inspected(actor, parent !== null && known.has(parent) ? parent : null, machines[record.chart]), shown(record));
  };
  /** For senders without a chart: the operator, and the jobs of an actor. */
  const introduceSender = (id: string, parent: string | null): string => {
    if (!known.has(id)) inspector.actor(inspected(id, parent, undefined));
    known.add(id);
    return id;
  };
  const sourceOf = (actor: string, from: Sender): string => {
    switch (from.kind) {
      case 'actor':
        return from.actor;
      // As in XState: a delayed event is sent by an actor to itself, and an invoked job is a child of its actor.
      case 'timer':
        return actor;
      case 'job':
        return introduceSender(`${actor}/job/${from.invokeId}`, actor);
      case 'outside':
        return introduceSender(OPERATOR, null);
    }
  };

  /** Sends an event, and after the last event of its actor the resulting snapshot. */
  const tell = ({ actor, before, after }: Transition, { event, from }: HeardEvent, isLast: boolean): void => {
    const sent = shortened(event);
    inspector.event(actor, sent, { source: sourceOf(actor, from) });
    const record = after ?? before;
    if (!isLast || !record) return;
    inspector.snapshot(actor, after ? shown(after) : { ...shown(record), status: 'done' }, { event: sent });
    if (!after) forget(actor);
  };
  const forget = (actor: string): void => {
    for (const id of known) if (id === actor || id.startsWith(`${actor}/job/`)) known.delete(id);
  };

  return {
    replay: (records) => {
      known.clear();
      for (const { actor, record } of records) introduce(actor, record);
    },
    saved: (transitions) => {
      // An actor that started and ended in one turn was never visible.
      const seen = transitions.filter(({ before, after }) => before !== null || after !== null);
      for (const { actor, before, after } of seen) {
        const record = before ?? after;
        if (record && !known.has(actor)) introduce(actor, record);
      }
      for (const { transition, heard, isLast } of inOrder(seen)) tell(transition, heard, isLast);
    },
  };
}

/** The events of all actors in the order in which they were received. */
const inOrder = (transitions: readonly Transition[]) =>
  transitions
    .flatMap((transition) => transition.heard.map((heard) => ({ transition, heard, isLast: heard === transition.heard.at(-1) })))
    .sort((a, b) => a.heard.order - b.heard.order);

const shown = ({ snapshot: { value, context } }: ActorRecord) => ({ status: 'active' as const, value, context });

/** The event with each overlong field replaced by a note. */
function shortened(event: HeardEvent['event']): { readonly type: string; readonly [field: string]: unknown } {
  const short = Object.entries(event).map(([name, value]) => {
    const { length } = JSON.stringify(value) ?? '';
    return [name, length <= LONGEST ? value : `(${Math.ceil(length / 1000)} kB, not sent)`];
  });
  return { ...Object.fromEntries(short), type: event.type };
}

/** The fields of an actor that the package reads: id, parent, and machine definition. */
function inspected(actor: string, parent: string | null, machine: Inspectable | undefined): InspectedActor {
  const described = {
    sessionId: actor,
    ...(machine && { logic: { config: machine.config } }),
    ...(parent !== null && { _parent: { sessionId: parent } }),
  };
  // The package types whole actors; it reads no more than the fields above.
  return described as unknown as InspectedActor;
}
