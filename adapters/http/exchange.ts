import { Agent as HttpAgent, type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Probe } from '../../actors/ports/observers.ts';
import type { Call } from '../../actors/ports/provider.ts';
import { proxyFor } from './proxy.ts';

/** One running verb of the port. */
export interface Verb {
  /** Names it in messages: `create DNS record A nodes 203.0.113.7 in example.com`. */
  readonly what: string;
  readonly call: Call;
  /** For all its requests together, by `performance.now()`. */
  readonly deadlineAt: number;
}

/** The connections to one API. */
export interface Wire {
  readonly secure: boolean;
  readonly agent: HttpAgent;
  readonly probe: Probe | undefined;
  readonly heard?: Listener | undefined;
}

export interface Wanted {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** A raw response. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request with its response. Request headers are omitted: they contain the token. */
export interface Heard {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  readonly reply: Reply;
  /** From sending it to the end of the response. */
  readonly tookMs: number;
  /** When the response was complete, ms since the epoch. */
  readonly at: number;
}

/** Called for every response, whatever its status. */
export type Listener = (heard: Heard) => void;

/** Shorter than the idle timeout of servers and load balancers, so that a request rarely uses a closing connection. */
const idleSocketMs = 30_000;

/** Maximum size of a response, bytes: two hundred objects of the largest kind take less than one million. */
const longestAnswer = 8 * 2 ** 20;

export function openWire(baseURL: string, probe: Probe | undefined, heard?: Listener): Wire {
  const secure = baseURL.startsWith('https:');
  const proxy = proxyFor(baseURL, process.env);
  const proxyEnv = proxy === null ? {} : { proxyEnv: secure ? { HTTPS_PROXY: proxy } : { HTTP_PROXY: proxy } };
  const options = { keepAlive: true, timeout: idleSocketMs, scheduling: 'lifo', ...proxyEnv } as const;
  return { secure, agent: new (secure ? HttpsAgent : HttpAgent)(options), probe, heard };
}

/** Everything but a GET may change something. */
export const isWrite = (method: string): boolean => method !== 'GET';

/**
 * Sends one request and reads the whole response, whatever its status. Does not use fetch: only the socket shows whether anything was sent, i.e. whether a
 * write failed or may have taken effect.
 * @throws ProviderError Unavailable; Fenced before anything was sent
 */
export function exchange({ secure, agent, probe, heard }: Wire, verb: Verb, { method, url, headers, body }: Wanted): Promise<Reply> {
  const write = isWrite(method);
  // A verb reads before it writes: distinguishes the two for a probe that ends the process at one of them.
  const about = write ? verb.what : `read to ${verb.what}`;
  return new Promise((resolve, reject) => {
    let sent = false;
    let sentAt = 0;
    const lost = (cause: Error): void => {
      clearTimeout(timer);
      const how = sent ? 'no answer' : 'no connection';
      reject(new ProviderError('Unavailable', `${verb.what}: ${how} (${cause.message})`, { cause, unknownOutcome: write && sent }));
    };
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = (secure ? requestHttps : requestHttp)(url, {
      method,
      headers: { accept: 'application/json', ...headers, ...length },
      agent,
    });
    const expire = (): void => {
      const error = new Error('deadline exceeded');
      // While a proxy opens a tunnel the request has no socket, and reports its destruction only once that ends.
      lost(error);
      request.destroy(error);
    };
    const timer = setTimeout(expire, Math.max(1, verb.deadlineAt - performance.now()));
    const begin = (): void => {
      if (request.destroyed) return;
      try {
        probe?.('beforeSend', about);
        // From here to `end` nothing may be awaited: the fence holds for this moment only.
        if (write) verb.call.fence?.assertFresh();
      } catch (error) {
        clearTimeout(timer);
        reject(error);
        request.destroy();
        return;
      }
      sent = true;
      sentAt = performance.now();
      request.end(body);
    };
    // The fence is checked once the connection is established, however long that took: a request handed over earlier would be sent regardless.
    request.once('socket', (socket) => {
      const isReady = !socket.connecting && !(secure && (socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting);
      if (isReady) begin();
      else socket.once(secure ? 'secureConnect' : 'connect', begin);
    });
    request.once('error', lost);
    request.once('response', (response) => {
      probe?.('beforeReplyRead', about);
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length > longestAnswer) response.destroy(new Error(`it is longer than ${longestAnswer} bytes`));
      });
      response.once('error', lost);
      response.once('end', () => {
        clearTimeout(timer);
        probe?.('afterReply', about);
        const reply = { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') };
        heard?.({ method, url, body, reply, tookMs: performance.now() - sentAt, at: Date.now() });
        resolve(reply);
      });
    });
  });
}
