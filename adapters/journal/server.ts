import type { IncomingMessage, ServerResponse } from 'node:http';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { JournalEntry } from '../../actors/ports/records.ts';
import type { Difference } from '../../machines/model/types.ts';
import { type Listener, listen } from '../listener/listen.ts';

interface JournalOptions {
  readonly bind: { readonly host?: string; readonly port: number };
  /** The newest transitions of an actor, newest first. @throws Unreachable */
  readonly journal: (actor: string) => Promise<readonly JournalEntry[]>;
  /** The changes withheld by an operator that only observes; absent when it does not. */
  readonly changes?: () => readonly Difference[];
  readonly version: string;
  /** Redacts secrets in responses. */
  readonly hide: (text: string) => string;
}

export type JournalServer = Pick<Listener, 'url' | 'close'>;

/** Rate limit: each response reads a journal from the store, and any client that reaches the address may request it. */
const BURST = 100;
const PER_SECOND = 20;

/** Actor ids are paths of names; a longer one is invalid. */
const LONGEST_ACTOR = 600;

/** Serves GET /journal?actor=<id> as `{version, entries}`, on any replica, and GET /plan as `{version, differences}` on one that only observes. Read-only.
 *  @throws Error that names the address when it cannot be listened on */
export async function startJournalServer(options: JournalOptions): Promise<JournalServer> {
  const mayRead = paced();
  return listen({
    name: 'journal',
    bind: options.bind,
    answer: (request, response, target) => answer(options, mayRead, request, response, target),
    failed: (error, response) => {
      const status = error instanceof Unreachable ? 503 : 500;
      json(options, response, status, { error: error instanceof Error ? error.message : String(error) });
    },
    limits: { header: 8 * 1024 },
  });
}

async function answer(
  options: JournalOptions,
  mayRead: () => boolean,
  request: IncomingMessage,
  response: ServerResponse,
  { pathname, searchParams }: URL,
): Promise<void> {
  if (request.method !== 'GET') return json(options, response, 405, { error: 'The journal is only read.' });
  const actor = searchParams.get('actor') ?? '';
  const { version, changes } = options;
  const isPlan = pathname === '/plan' && changes !== undefined;
  if (!isPlan && (pathname !== '/journal' || actor === '' || actor.length > LONGEST_ACTOR))
    return json(options, response, 404, { error: 'There is /journal?actor=<id>.' });
  if (!mayRead()) {
    response.setHeader('Retry-After', '1');
    return json(options, response, 429, { error: 'Too many ask at once: ask again in a second.' });
  }
  json(options, response, 200, { version, ...(isPlan ? { differences: changes() } : { entries: await options.journal(actor) }) });
}

function json({ hide }: JournalOptions, response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  response.end(`${hide(JSON.stringify(body))}\n`);
}

/** A token bucket of BURST that refills at PER_SECOND. */
function paced(): () => boolean {
  let left = BURST;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(BURST, left + ((now - at) / 1_000) * PER_SECOND);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
