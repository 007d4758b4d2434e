import type { createInspector } from '@statelyai/inspect';
import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports.ts';

/** As much of an XState machine as the viewer is told: its definition. */
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
  /** Sends one message, as text, to the viewer. */
  readonly send: (message: string) => void;
}

/** One viewer that looks on. It is told of each actor what it is before anything that happens to it, so it may come at any time. */
export interface Session {
  /** Tells the definition and the present snapshot of each. */
  replay(records: readonly InspectedRecord[]): void;
  /** Tells the events of a saved turn, and what they led to. */
  saved(transition: Transition): void;
}

type Inspector = ReturnType<typeof createInspector>;
type InspectedActor = Exclude<Parameters<Inspector['actor']>[0], string>;

/** Definitions are nested deeper than the ten levels that the package keeps by default. */
const DEPTH = 24;

/** A session that speaks the messages of Stately's inspector: `@xstate.actor`, `@xstate.event`, `@xstate.snapshot`. */
export function createSession({ createInspector, machines, send }: SessionOptions): Session {
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
    inspector.actor(inspected(actor, machines[record.chart], known), shown(record));
  };

  return {
    replay: (records) => {
      for (const { actor, record } of records) introduce(actor, record);
    },
    saved: ({ actor, events, before, after }) => {
      const record = after ?? before;
      if (!record) return;
      if (!known.has(actor)) introduce(actor, before ?? record);
      for (const type of events) inspector.event(actor, { type });
      const event = { type: events.at(-1) ?? '' };
      inspector.snapshot(actor, after ? shown(after) : { ...shown(record), status: 'done' }, { event });
      if (!after) known.delete(actor);
    },
  };
}

const shown = ({ snapshot: { value, context } }: ActorRecord) => ({ status: 'active' as const, value, context });

/** What the package reads of an actor: its id, its parent when the viewer knows it, and the definition of its machine. */
function inspected(actor: string, machine: Inspectable | undefined, known: ReadonlySet<string>): InspectedActor {
  const parent = /^(pool\/[^/]+\/[^/]+)\/ip\//.exec(actor)?.[1];
  const described = {
    sessionId: actor,
    ...(machine && { logic: { config: machine.config } }),
    ...(parent && known.has(parent) && { _parent: { sessionId: parent } }),
  };
  // The package types whole actors; it reads no more than the fields above.
  return described as unknown as InspectedActor;
}
