import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { AdmissionRule } from '../../actors/ports/admission.ts';
import type { Log } from '../../actors/ports/observers.ts';
import { Bodies } from './bodies.ts';
import type { Pair } from './certificates.ts';
import { answerOf, BadReview, readReview } from './review.ts';

interface WebhookOptions {
  readonly bind: { readonly host?: string; readonly port: number };
  /** By path: what is asked about there, and what decides. */
  readonly rules: Readonly<Record<string, { readonly resource: string; readonly decide: AdmissionRule }>>;
  readonly log: Log;
}

export interface Webhook {
  /** `https://127.0.0.1:9443`, with the port that is really listened on. */
  readonly url: string;
  /** Serves with this pair from now on; connections that stand keep theirs. Before the first one no handshake succeeds. */
  use(pair: Pair): void;
  close(): Promise<void>;
}

/** The API server waits for 10 s, 30 s at most. */
const PATIENCE_MS = 30_000;

/** The API server gives an idle connection up after 90 s. Were we first, its next question could come at that very moment, and the write be refused. */
const IDLE_MS = 120_000;

/** Serves the admission webhook. Whatever is no question of the API server is answered 400. @throws Error that names the address when it cannot be listened on */
export const startWebhook = async (options: WebhookOptions): Promise<Webhook> => {
  const timeouts = {
    headersTimeout: PATIENCE_MS,
    requestTimeout: PATIENCE_MS,
    connectionsCheckingInterval: PATIENCE_MS / 6,
    keepAliveTimeout: IDLE_MS,
  };
  const bodies = new Bodies();
  const server = createServer({ minVersion: 'TLSv1.2', ...timeouts }, (request, response) => {
    answer(options, bodies, request, response).catch((error) => {
      options.log.warn('a question of the API server was not answered', { error: error instanceof Error ? error.message : String(error) });
      reply(response, 503, 'cannot decide now');
    });
  });
  // Scanners and clients that do not trust us yet; each handshake that fails would be a line.
  server.on('tlsClientError', () => undefined);
  await listen(server, options.bind);
  return {
    url: urlOf(server),
    use: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const answer = async ({ rules }: WebhookOptions, bodies: Bodies, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const rule = rules[(request.url ?? '/').split('?')[0] ?? '/'];
  if (rule === undefined) return reply(response, 404, 'there is no such webhook');
  try {
    if (request.method !== 'POST') throw new BadReview('POST an AdmissionReview');
    const { uid, resource, facts } = readReview(await bodies.read(request));
    if (resource !== rule.resource) throw new BadReview(`this is the webhook for ${rule.resource}`);
    reply(response, 200, answerOf(uid, await rule.decide(facts)), 'application/json');
  } catch (error) {
    if (!(error instanceof BadReview)) throw error;
    reply(response, 400, error.message);
  }
};

const reply = (response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
  if (response.destroyed || response.headersSent) return;
  // What was not read of a body that is refused must not be taken for the next request.
  if (status !== 200) response.setHeader('Connection', 'close');
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  response.end(body);
};

const listen = (server: Server, bind: WebhookOptions['bind']): Promise<void> =>
  new Promise((resolve, reject) => {
    const failed = (error: Error): void =>
      reject(new Error(`the webhook cannot listen on ${bind.host ?? ''}:${bind.port}: ${error.message}`, { cause: error }));
    server.once('error', failed);
    server.listen(bind, () => {
      server.off('error', failed);
      resolve();
    });
  });

const urlOf = (server: Server): string => {
  const { address, port } = server.address() as AddressInfo;
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
};
