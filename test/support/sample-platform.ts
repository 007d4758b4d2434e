import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export const PLATFORM_TOKEN = 'secret';
/** The address that it has to give away. */
export const CREATED = '192.0.2.10';

/** The platform that the script of crds/samples/routedip-jobs.yaml talks to, as far as its comment describes it. */
export interface SamplePlatform {
  readonly url: string;
  readonly addresses: Map<string, { server: string | null; owner?: string }>;
  readonly rules: Map<string, unknown>;
  /** Answers every request with this instead, once set. */
  refuse: number | null;
  /** Method and path of each request, oldest first. */
  readonly calls: string[];
  close(): void;
}

interface Answer {
  readonly code: number;
  readonly body?: unknown;
}

/** Starts one on a free port of loopback, or of another address of this machine. */
export async function startPlatform(host = '127.0.0.1'): Promise<SamplePlatform> {
  const server = createServer((request, response) => {
    platform.calls.push(`${request.method} ${request.url}`);
    answerOf(platform, request).then(
      ({ code, body }) =>
        response.writeHead(code, { 'content-type': 'application/json' }).end(body === undefined ? '' : JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  const platform: SamplePlatform = {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    addresses: new Map(),
    rules: new Map(),
    refuse: null,
    calls: [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return platform;
}

async function answerOf(platform: SamplePlatform, request: IncomingMessage): Promise<Answer> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://platform');
  const [, kind, name = '', , rule] = pathname.split('/');
  if (request.headers.authorization !== `Bearer ${PLATFORM_TOKEN}`) return { code: 401 };
  if (platform.refuse !== null) return { code: platform.refuse };
  const sent = request.method === 'PUT' ? await json(request) : null;
  return kind === 'firewalls'
    ? firewallAnswer(platform, request.method, { name, rule }, sent)
    : addressAnswer(platform, request.method, { name, owner: searchParams.get('owner') }, sent);
}

function addressAnswer(
  { addresses }: SamplePlatform,
  method: string | undefined,
  { name, owner }: { readonly name: string; readonly owner: string | null },
  sent: unknown,
): Answer {
  const taken = [...addresses].find(([, one]) => owner !== null && one.owner === owner)?.[0];
  if (method === 'GET' && owner !== null && taken === undefined) return { code: 404 };
  const address = name || taken || CREATED;
  if (owner !== null && taken === undefined) addresses.set(address, { server: null, owner });
  const found = addresses.get(address);
  if (!found) return { code: 404 };
  if (method === 'PUT' && owner === null) found.server = (sent as { server: string }).server;
  if (method === 'DELETE') addresses.delete(address);
  return { code: 200, body: { address, server: found.server } };
}

function firewallAnswer(
  { rules }: SamplePlatform,
  method: string | undefined,
  { name, rule }: { readonly name: string; readonly rule: string | undefined },
  sent: unknown,
): Answer {
  if (name !== 'ingress') return { code: 404 };
  if (rule === undefined) return { code: 200, body: [...rules.keys()].map((one) => ({ name: one })) };
  if (method === 'PUT') rules.set(rule, sent);
  if (method === 'DELETE') rules.delete(rule);
  return { code: 200, body: {} };
}
