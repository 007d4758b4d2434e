import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { at, isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';

export interface ClientRef {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
}

export interface PatchOptions {
  subresource?: 'status';
  /** The content type; a merge patch when absent. */
  type?: string;
  /** In whose name the fields are written. */
  fieldManager?: string;
}

/** A refusal of the API server: its status code, and the `reason` and `message` of its Status. */
export class KubeClientError extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.name = 'KubeClientError';
    this.code = code;
    this.reason = reason;
  }
}

/** The little that scenarios need of a cluster; runs against the simulator and against a real API server alike. All methods throw KubeClientError. */
export interface KubeClient {
  create(object: JsonObject): Promise<KubeObject>;
  get(ref: ClientRef): Promise<KubeObject>;
  /** `selector` is a label selector. */
  list(apiVersion: string, kind: string, options?: { namespace?: string; selector?: string }): Promise<KubeObject[]>;
  patch(ref: ClientRef, body: Json, options?: PatchOptions): Promise<KubeObject>;
  /** Deletes at once, without a pod's grace period. */
  delete(ref: ClientRef): Promise<void>;
  close(): void;
}

export interface Connection {
  url: string;
  /** PEM texts, for a server on https. */
  ca?: string;
  cert?: string;
  key?: string;
  token?: string;
}

const fromBase64 = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? Buffer.from(value, 'base64').toString() : undefined;

const named = (list: Json | undefined, name: Json | undefined): Json | undefined =>
  (Array.isArray(list) ? list : []).find((item) => at(item, 'name') === name);

/** The connection that the current context of a kubeconfig names. Certificates are read from `…-data` fields only. */
export const connectionOf = (kubeconfig: string): Connection => {
  const config = parse(kubeconfig) as JsonObject;
  const context = named(config.contexts, config['current-context']);
  const cluster = at(named(config.clusters, at(context, 'context', 'cluster')), 'cluster');
  const user = at(named(config.users, at(context, 'context', 'user')), 'user');
  const url = at(cluster, 'server');
  if (typeof url !== 'string') throw new Error('the kubeconfig names no server for its current context');
  const parts = {
    ca: fromBase64(at(cluster, 'certificate-authority-data')),
    cert: fromBase64(at(user, 'client-certificate-data')),
    key: fromBase64(at(user, 'client-key-data')),
    token: at(user, 'token') as string | undefined,
  };
  return { url, ...Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) };
};

export interface RawReply {
  code: number;
  text: string;
  headers: IncomingHttpHeaders;
}

export interface RawRequest {
  body?: Json | undefined;
  /** The body's content type; JSON when absent. */
  type?: string | undefined;
  accept?: string | undefined;
}

export interface RawClient {
  /** Whatever the server answers. */
  send(method: string, path: string, request?: RawRequest): Promise<RawReply>;
  /** The lines of an answer that goes on until the server or `close` ends it, each given to `take` as it comes, then `ended`. Resolves when the answer begins. */
  stream(path: string, take: (line: string) => void, ended?: () => void): Promise<void>;
  close(): void;
}

/** Plain requests over kept connections, to http and https servers. */
export const rawClient = (connection: Connection): RawClient => {
  const secure = connection.url.startsWith('https:');
  const { ca, cert, key } = connection;
  const agent = secure
    ? new HttpsAgent({ keepAlive: true, maxSockets: 16, ca, cert, key })
    : new HttpAgent({ keepAlive: true, maxSockets: 16 });

  const open = (method: string, path: string, request: RawRequest): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const text = request.body === undefined ? undefined : JSON.stringify(request.body);
      const headers = {
        accept: request.accept ?? 'application/json',
        // Named, since Node sends the body of a DELETE without any framing otherwise.
        ...(text === undefined ? {} : { 'content-type': request.type ?? 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(connection.token === undefined ? {} : { authorization: `Bearer ${connection.token}` }),
      };
      const call = (secure ? httpsRequest : httpRequest)(new URL(path, connection.url), { method, headers, agent }, resolve);
      call.on('error', reject);
      call.end(text);
    });

  return {
    send: async (method, path, request = {}) => {
      const response = await open(method, path, request);
      return { code: response.statusCode ?? 0, text: await text(response), headers: response.headers };
    },
    stream: async (path, take, ended = () => undefined) => {
      const lines = createInterface(await open('GET', path, {}));
      lines.on('line', take);
      lines.on('close', ended);
      // After it comes `close`.
      lines.on('error', () => undefined);
    },
    close: () => agent.destroy(),
  };
};

/** A client for a base URL, or for a kubeconfig's text read by `connectionOf`. Resource names come from the server's discovery. */
export const kubeClient = (connection: Connection): KubeClient => {
  const http = rawClient(connection);
  const discovered = new Map<string, Promise<Json>>();

  const call = async (method: string, path: string, body?: Json, type = 'application/json'): Promise<Json> => {
    const reply = await http.send(method, path, { type, body });
    const { code } = reply;
    const value = JSON.parse(reply.text) as Json;
    if (code < 400) return value;
    throw new KubeClientError(code, String(at(value, 'reason') ?? ''), `${method} ${path}: ${code} ${String(at(value, 'message') ?? '')}`);
  };

  const rootOf = (apiVersion: string): string => (apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`);

  const collection = async (apiVersion: string, kind: string, namespace: string | undefined): Promise<string> => {
    const root = rootOf(apiVersion);
    const known = discovered.get(root) ?? call('GET', root);
    discovered.set(root, known);
    const resources = at(await known, 'resources');
    const found = (Array.isArray(resources) ? resources : []).find(
      (resource) => at(resource, 'kind') === kind && !String(at(resource, 'name')).includes('/'),
    );
    if (!found) {
      // It may be served a moment later: a definition that was just created.
      discovered.delete(root);
      throw new KubeClientError(404, 'NotFound', `${connection.url} does not serve ${kind} in ${apiVersion}`);
    }
    const plural = String(at(found, 'name'));
    return at(found, 'namespaced') === true && namespace !== undefined ? `${root}/namespaces/${namespace}/${plural}` : `${root}/${plural}`;
  };

  const pathOf = async (ref: ClientRef): Promise<string> =>
    `${await collection(ref.apiVersion, ref.kind, ref.namespace ?? 'default')}/${ref.name}`;

  return {
    create: async (object) => {
      const { apiVersion, kind, metadata } = object;
      const namespace = isObject(metadata) && typeof metadata.namespace === 'string' ? metadata.namespace : 'default';
      return (await call('POST', await collection(String(apiVersion), String(kind), namespace), object)) as KubeObject;
    },
    get: async (ref) => (await call('GET', await pathOf(ref))) as KubeObject,
    list: async (apiVersion, kind, options = {}) => {
      const query = options.selector === undefined ? '' : `?labelSelector=${encodeURIComponent(options.selector)}`;
      const items = at(await call('GET', (await collection(apiVersion, kind, options.namespace)) + query), 'items');
      return (Array.isArray(items) ? items : []) as KubeObject[];
    },
    patch: async (ref, body, options = {}) => {
      const manager = options.fieldManager === undefined ? '' : `?fieldManager=${encodeURIComponent(options.fieldManager)}`;
      const path = (await pathOf(ref)) + (options.subresource ? `/${options.subresource}` : '') + manager;
      return (await call('PATCH', path, body, options.type ?? 'application/merge-patch+json')) as KubeObject;
    },
    delete: async (ref) => {
      await call('DELETE', await pathOf(ref), { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 });
    },
    close: () => http.close(),
  };
};
