import type { ServerResponse } from 'node:http';
import type { Observer } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import { type Row, rowOf, statePath } from './rows.ts';

/** The leadership, as far as this replica knows. */
export interface LeadershipView {
  readonly leading: boolean;
  readonly term: number;
  /** The other process that leads; null when unknown. */
  readonly leader: string | null;
  /** The command that opens the leader's page; null when unknown. */
  readonly reach: string | null;
  /** It only observes; absent for false. */
  readonly observes?: true;
}

export interface FeedOptions {
  /** The records that this process runs; empty while it does not lead. */
  readonly records: () => readonly { readonly actor: string; readonly record: ActorRecord }[];
  /** When each of these actors last changed its state, as far as known; used for changes that this process did not see itself. */
  readonly lastChanges: (actors: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  readonly leadership: () => LeadershipView;
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  /** Redacts secrets in responses. */
  readonly hide: (text: string) => string;
}

/** Rows of all actors, and a stream of their changes. */
export interface Feed {
  readonly observer: Required<Pick<Observer, 'turnSaved' | 'reset'>>;
  rows(): readonly Row[];
  /** Looks up when the states taken over by this process were entered. Never throws: a failed lookup is repeated next time. */
  recall(): Promise<void>;
  since(actor: string): number | null;
  /** Starts a stream of server-sent events on `response`, everything first. */
  attach(response: ServerResponse): void;
  close(): void;
}

/** How long changes are collected before they are sent, ms: a failover of a hundred addresses is one message. */
const GATHER_MS = 100;
const HEARTBEAT_MS = 5_000;
/** A page that stops reading is disconnected at this much buffered data, bytes. It reconnects by itself. */
const MOST_BUFFERED = 4_000_000;

/** A feed without clients costs one map entry per state change and no timer. */
export function createFeed({ records, lastChanges, leadership, now, hide }: FeedOptions): Feed {
  let enteredAt = new Map<string, number>();
  /** Actors already looked up in `lastChanges`. */
  let recalled = new Set<string>();
  /** The leadership under which everything was last sent. */
  let sentUnder = '';
  const changed = new Set<string>();
  const clients = new Set<ServerResponse>();
  let gathering: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;

  const rows = (): readonly Row[] => records().map(({ actor, record }) => rowOf(actor, record, enteredAt.get(actor) ?? null));
  const head = () => ({ ...leadership(), now: now() });
  const everything = () => ({ ...head(), rows: leadership().leading ? rows() : [] });
  const reign = (): string => JSON.stringify([leadership().leading, leadership().term]);

  const send = (client: ServerResponse, event: string, data: unknown): void => {
    client.write(`event: ${event}\ndata: ${hide(JSON.stringify(data))}\n\n`);
    if (client.writableLength > MOST_BUFFERED) client.destroy();
  };
  const sendAll = (event: string, data: unknown): void => {
    for (const client of clients) send(client, event, data);
  };

  const sendEverything = (): void => {
    sentUnder = reign();
    sendAll('all', everything());
    void recall();
  };

  let recalling = Promise.resolve();
  const recall = (): Promise<void> => {
    recalling = recalling.then(recallUnknown);
    return recalling;
  };
  const recallUnknown = async (): Promise<void> => {
    const [entered, asked] = [enteredAt, recalled];
    const unknown = records()
      .map(({ actor }) => actor)
      .filter((actor) => !entered.has(actor) && !asked.has(actor));
    for (const actor of unknown) asked.add(actor);
    const known = unknown.length > 0 ? await lastChanges(unknown).catch(() => null) : new Map<string, number>();
    if (known === null) for (const actor of unknown) asked.delete(actor);
    for (const actor of unknown.filter((each) => !entered.has(each))) {
      const at = known?.get(actor);
      if (at === undefined) continue;
      entered.set(actor, at);
      touch(actor);
    }
    gather();
  };

  const flush = (): void => {
    gathering = undefined;
    if (sentUnder !== reign()) {
      changed.clear();
      sendEverything();
      return;
    }
    const present = new Map(records().map(({ actor, record }) => [actor, record]));
    const touched = [...changed];
    changed.clear();
    sendAll('changes', {
      ...head(),
      rows: touched.flatMap((actor) => {
        const record = present.get(actor);
        return record ? [rowOf(actor, record, enteredAt.get(actor) ?? null)] : [];
      }),
      gone: touched.filter((actor) => !present.has(actor)),
    });
  };
  /** Sends the leadership; after a change of leadership everything again. */
  const beat = (): void => {
    if (sentUnder === reign()) sendAll('heartbeat', head());
    else sendEverything();
  };
  const touch = (actor: string): void => {
    if (clients.size > 0) changed.add(actor);
  };
  const gather = (): void => {
    if (changed.size > 0) gathering ??= setTimeout(flush, GATHER_MS);
  };

  const detach = (client: ServerResponse): void => {
    clients.delete(client);
    if (clients.size > 0) return;
    clearInterval(heartbeat);
    clearTimeout(gathering);
    gathering = undefined;
    changed.clear();
  };

  return {
    observer: {
      turnSaved: ({ at, transitions }) => {
        for (const { actor, before, after } of transitions) {
          if (!after) enteredAt.delete(actor);
          else if (!before || statePath(before.snapshot.value) !== statePath(after.snapshot.value)) enteredAt.set(actor, at);
          touch(actor);
        }
        gather();
      },
      reset: () => {
        enteredAt = new Map();
        recalled = new Set();
        sendEverything();
      },
    },
    rows,
    recall,
    since: (actor) => enteredAt.get(actor) ?? null,
    attach: (response) => {
      if (clients.size === 0) heartbeat = setInterval(beat, HEARTBEAT_MS);
      clients.add(response);
      response.on('close', () => detach(response));
      if (clients.size === 1) sentUnder = reign();
      send(response, 'all', everything());
      void recall();
    },
    close: () => {
      for (const client of clients) client.end();
      for (const client of [...clients]) detach(client);
    },
  };
}
