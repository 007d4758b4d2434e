import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { AdmissionRule } from '../../actors/ports/admission.ts';
import type { Log } from '../../actors/ports/observers.ts';
import { type Listener, listen } from '../listener/listen.ts';
import { Bodies } from './bodies.ts';
import type { Pair } from './certificates.ts';
import { answerOf, BadReview, readReview } from './review.ts';

interface WebhookOptions {
  readonly bind: { readonly host?: string; readonly port: number };
  /** By path: the reviewed resource, and the rule that decides. */
  readonly rules: Readonly<Record<string, { readonly resource: string; readonly decide: AdmissionRule }>>;
  readonly log: Log;
}

export interface Webhook extends Pick<Listener, 'url' | 'close'> {
  /** Serves with this pair from now on; open connections keep theirs. Handshakes fail before the first pair. */
  use(pair: Pair): void;
}

/** The API server closes an idle connection after 90 s. If we closed it first, a review sent at that moment would fail, and the write be refused. */
const IDLE_MS = 120_000;

/** Serves the admission webhook. Any request that is not an AdmissionReview gets a 400. @throws Error that names the address when it cannot be listened on */
export const startWebhook = async (options: WebhookOptions): Promise<Webhook> => {
  const bodies = new Bodies();
  const { url, server, close } = await listen({
    name: 'the webhook',
    bind: options.bind,
    isSecure: true,
    answer: (request, response, { pathname }) => answer(options, bodies, request, response, pathname),
    failed: (error, response) => {
      if (!(error instanceof BadReview))
        options.log.warn('a question of the API server was not answered', {
          error: error instanceof Error ? error.message : String(error),
        });
      if (error instanceof BadReview) reply(response, 400, error.message);
      else reply(response, 503, 'cannot decide now');
    },
    limits: { connections: 256, header: 8 * 1024, requestMs: 5_000, idleMs: IDLE_MS },
  });
  return { url, use: ({ cert, key }) => (server as Server).setSecureContext({ cert, key, minVersion: 'TLSv1.2' }), close };
};

const answer = async (
  { rules }: WebhookOptions,
  bodies: Bodies,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> => {
  const rule = rules[path];
  if (rule === undefined) return reply(response, 404, 'there is no such webhook');
  if (request.method !== 'POST') throw new BadReview('POST an AdmissionReview');
  const { uid, resource, facts } = readReview(await bodies.read(request));
  if (resource !== rule.resource) throw new BadReview(`this is the webhook for ${rule.resource}`);
  reply(response, 200, answerOf(uid, await rule.decide(facts)), 'application/json');
};

const reply = (response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
  if (response.destroyed || response.headersSent) return;
  // Unread parts of a refused body must not be parsed as the next request.
  if (status !== 200) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  response.end(body);
};
