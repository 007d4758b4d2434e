import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { type FastifyInstance, fastify } from 'fastify';
import type { BullQueues } from './queues.ts';

export interface BoardOptions {
  readonly queues: Pick<BullQueues, 'bull'>;
  /** The names of the queues shown, called for each request: accounts come and go. */
  readonly names: () => readonly string[];
  /** Base path of the board, e.g. `/jobs`: begins with a slash and does not end with one. */
  readonly path: string;
  /** Lets users retry, remove and add jobs. Default false: read-only. */
  readonly writable?: boolean;
}

/** The job dashboard for a plain Node.js server. */
export interface Board {
  /** Handles a request whose path begins with the board's. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
}

// The page loads its fonts from a third-party server, which would learn about every visitor; system fonts suffice.
const FOREIGN_LINK = /<link\b[^>]*\bhref="https?:\/\/[^>]*>/g;

/** Nothing is loaded from other origins, whatever a later version of the page requests. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'";

// Our ids contain no colon: the page has decoded the encoded one of an IPv6 address once too often.
const isJobRequest = (params: unknown): params is { jobId: string } =>
  typeof params === 'object' && params !== null && 'jobId' in params && typeof params.jobId === 'string';

/** Mounts bull-board under a path of `app`. It queries Redis only for requests. */
const mountBoard = async (app: FastifyInstance, { queues, names, path, writable = false }: BoardOptions): Promise<void> => {
  const serverAdapter = new FastifyAdapter().setBasePath(path);
  const shown = new Map<string, BullMQAdapter>();
  const adapterOf = (name: string): BullMQAdapter => {
    const adapter = shown.get(name) ?? new BullMQAdapter(queues.bull(name), { readOnlyMode: !writable, allowRetries: writable });
    shown.set(name, adapter);
    return adapter;
  };
  /** Also drops the adapters of queues that are gone. */
  const shownNow = (): readonly BullMQAdapter[] => {
    const now = new Set(names());
    for (const name of shown.keys()) if (!now.has(name)) shown.delete(name);
    return [...now].map(adapterOf);
  };
  const { replaceQueues } = createBullBoard({
    queues: shownNow(),
    serverAdapter,
    // `showWorkers` looks for a connection per queue with a command that lists all clients of this Redis. Ours is shared: every queue would appear to have none.
    options: { uiConfig: { boardTitle: 'RoutedIP jobs', showWorkers: false } },
  });
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        replaceQueues(shownNow());
        if (writable || request.method === 'GET' || request.method === 'HEAD') return;
        await reply.code(405).send({ error: 'This page only looks on.' });
      });
      scope.addHook('preHandler', async (request) => {
        const { params } = request;
        if (isJobRequest(params)) params.jobId = params.jobId.replaceAll(':', '%3A');
      });
      scope.addHook('onSend', async (_request, reply, payload) => {
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html') && typeof payload === 'string';
        void reply
          .header('content-security-policy', POLICY)
          .header('x-content-type-options', 'nosniff')
          .header('referrer-policy', 'no-referrer');
        return isPage ? payload.replaceAll(FOREIGN_LINK, '') : payload;
      });
      await scope.register(serverAdapter.registerPlugin());
    },
    { prefix: path },
  );
};

export const createBoard = async (options: BoardOptions): Promise<Board> => {
  // Job ids are longer than Fastify's limit of 100 characters.
  const app = fastify({ logger: false, routerOptions: { maxParamLength: 2_000 } });
  await mountBoard(app, options);
  await app.ready();
  return { handle: (request, response) => app.routing(request, response), close: () => app.close() };
};
