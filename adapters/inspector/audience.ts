import type { Observer } from '../../actors/ports/observers.ts';
import type { InspectedRecord, Session } from './session.ts';

interface AudienceOptions {
  /** The records that this process runs; empty while it does not lead. */
  readonly records: () => readonly InspectedRecord[];
  readonly parentOf: (actor: string) => string | null;
  /** The leader, as far as this replica knows. */
  readonly leadership: () => object;
}

interface Member {
  readonly session: Session;
  /** Actors it follows, including their parts; empty for the first hundred. */
  readonly asked: readonly string[];
  /** Receives the leadership, immediately and periodically; null when not wanted. */
  readonly lead: ((leadership: object) => void) | null;
}

/** All connected viewers. */
export interface Audience {
  readonly observer: Required<Pick<Observer, 'turnSaved' | 'reset'>>;
  /** Sends the current state, then updates. Returns a function that ends that. */
  join(member: Member): () => void;
  close(): void;
}

interface Client extends Member {
  /** Actors it has received. */
  chosen: Set<string>;
}

/** Maximum number of actors per viewer: the remote page draws every one. */
const MOST_ACTORS = 100;
/** How often the leadership is sent to the page, ms. Without it, the page considers the connection dead. */
const BEAT_MS = 1_000;

/** Without viewers it costs one comparison per turn and no timer. */
export function createAudience({ records, parentOf, leadership }: AudienceOptions): Audience {
  const clients = new Set<Client>();
  let toldUnder = '';
  let beat: NodeJS.Timeout | undefined;

  const isAsked = ({ asked }: Client, actor: string): boolean => asked.includes(actor) || asked.includes(parentOf(actor) ?? '');
  const wants = (client: Client, actor: string): boolean => {
    if (client.chosen.has(actor)) return true;
    if (client.chosen.size >= MOST_ACTORS || (client.asked.length > 0 && !isAsked(client, actor))) return false;
    client.chosen.add(actor);
    return true;
  };
  const inOrder = (): readonly InspectedRecord[] => records().toSorted((a, b) => depth(a) - depth(b) || (a.actor < b.actor ? -1 : 1));
  /** Owners come before what they own. */
  const depth = ({ actor }: InspectedRecord): number => (parentOf(actor) === null ? 0 : 1);

  const replay = (client: Client): void => {
    client.chosen = new Set();
    client.lead?.(leadership());
    client.session.replay(inOrder().filter(({ actor }) => wants(client, actor)));
  };
  const replayAll = (): void => {
    toldUnder = JSON.stringify(leadership());
    for (const client of clients) replay(client);
  };

  return {
    observer: {
      turnSaved: ({ transitions }) => {
        if (clients.size === 0) return;
        for (const client of clients) {
          client.session.saved(transitions.filter(({ actor }) => wants(client, actor)));
          for (const { actor, after } of transitions) if (!after) client.chosen.delete(actor);
        }
      },
      reset: replayAll,
    },
    join: (member) => {
      const client: Client = { ...member, chosen: new Set() };
      if (clients.size === 0) {
        toldUnder = JSON.stringify(leadership());
        beat = setInterval(() => {
          if (toldUnder !== JSON.stringify(leadership())) replayAll();
          else for (const { lead } of clients) lead?.(leadership());
        }, BEAT_MS);
      }
      clients.add(client);
      replay(client);
      return () => {
        clients.delete(client);
        if (clients.size === 0) clearInterval(beat);
      };
    },
    close: () => clearInterval(beat),
  };
}
