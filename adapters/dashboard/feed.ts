import type { ServerResponse } from 'node:http';
import type { ActorRecord, Observer } from '../../actors/ports.ts';
import { type Row, rowOf, statePath } from './rows.ts';

/** Who decides, as far as this replica knows. */
export interface LeadershipView {
  readonly leading: boolean;
  readonly term: number;
  /** Who leads instead; null when nobody is known. */
  readonly leader: string | null;
}

interface FeedOptions {
  readonly records: () => readonly { readonly actor: string; readonly record: ActorRecord }[];
  readonly leadership: () => LeadershipView;
  readonly now: () => number;
  readonly hide: (text: string) => string;
}

/** Rows of all actors, and a stream of what changes in them. */
export interface Feed {
  readonly observer: Required<Observer>;
  rows(): readonly Row[];
  since(actor: string): number | null;
  /** Starts a stream of server-sent events on `response`, everything first. */
  attach(response: ServerResponse): void;
  close(): void;
}

/** Changes are gathered for so long before they are sent, ms: a failover of a hundred addresses is one message. */
const GATHER_MS = 100;
const HEARTBEAT_MS = 5_000;
/** A page that does not read any more is cut off once so much is waiting for it, bytes. It comes back by itself. */
const MOST_BUFFERED = 4_000_000;

/** A feed without clients costs one map entry per state change and no timer. */
export function createFeed({ records, leadership, now, hide }: FeedOptions): Feed {
  const enteredAt = new Map<string, number>();
  const changed = new Set<string>();
  const clients = new Set<ServerResponse>();
  let gathering: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;

  const rows = (): readonly Row[] => records().map(({ actor, record }) => rowOf(actor, record, enteredAt.get(actor) ?? null));
  const head = () => ({ ...leadership(), now: now() });
  const everything = () => ({ ...head(), rows: leadership().leading ? rows() : [] });

  const send = (client: ServerResponse, event: string, data: unknown): void => {
    client.write(`event: ${event}\ndata: ${hide(JSON.stringify(data))}\n\n`);
    if (client.writableLength > MOST_BUFFERED) client.destroy();
  };
  const sendAll = (event: string, data: unknown): void => {
    for (const client of clients) send(client, event, data);
  };

  const flush = (): void => {
    gathering = undefined;
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
  const gather = (): void => {
    if (clients.size > 0) gathering ??= setTimeout(flush, GATHER_MS);
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
          if (clients.size > 0) changed.add(actor);
        }
        gather();
      },
      reset: () => {
        enteredAt.clear();
        sendAll('all', everything());
      },
    },
    rows,
    since: (actor) => enteredAt.get(actor) ?? null,
    attach: (response) => {
      if (clients.size === 0) heartbeat = setInterval(() => sendAll('heartbeat', head()), HEARTBEAT_MS);
      clients.add(response);
      response.on('close', () => detach(response));
      send(response, 'all', everything());
    },
    close: () => {
      for (const client of clients) client.end();
      for (const client of [...clients]) detach(client);
    },
  };
}
