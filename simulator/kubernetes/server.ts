import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Policies } from './admission/policies.ts';
import { Api } from './api.ts';
import { bootstrap } from './bootstrap.ts';
import type { Handling } from './calls.ts';
import { control } from './control.ts';
import { BackgroundControllers } from './controllers.ts';
import { type CrdSource, DefinitionController, readDefinitions } from './definitions.ts';
import { type Document, documentAt, type ServerFacts } from './documents.ts';
import { ApiError, noSuchPath } from './errors.ts';
import { Faults } from './faults.ts';
import { handle } from './handlers.ts';
import { JobScripts } from './job-scripts.ts';
import { JobController } from './jobs.ts';
import { minorOf } from './kinds/services.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { ObjectStore } from './object-store.ts';
import { isObject } from './objects.ts';
import { OpenApi } from './openapi/openapi.ts';
import { Registry } from './registry.ts';
import { bodyOf, type LoggedRequest } from './requests.ts';
import type { Resource } from './resource.ts';
import { targetOf } from './routes.ts';
import { type Secured, secured, type Tls } from './secured.ts';
import { forward, serviceProxyOf } from './service-proxy.ts';
import { Store } from './store.ts';
import { serviceAccountToken, userOf } from './users.ts';
import { Watches } from './watching.ts';

export interface KubernetesOptions {
  /** 0, the default, takes a free one. Always on 127.0.0.1. */
  port?: number;
  /** Definitions to install: objects, or paths of YAML files. */
  crds?: CrdSource;
  /** Built-in groups and versions, or single resources of them, that are served other than by a new server: `{ 'discovery.k8s.io/v1': false,
   *  'discovery.k8s.io/v1beta1': true, 'authentication.k8s.io/v1/selfsubjectreviews': false }`. */
  apiVersions?: Readonly<Record<string, boolean>>;
  /** Serves the same over TLS too, and there over HTTP/2 as well. */
  tls?: Tls;
  /** What /version says, as `v1.36.3`. Services are dealt with as that version does. */
  version?: string;
  log?: (line: string) => void;
  /** How many changes watches can resume over. */
  historySize?: number;
  bookmarkIntervalMs?: number;
  /** How long a deleted pod lives on, as if kubelets ran. Absent: until it is deleted by force, as on an API server alone. */
  podTerminationMs?: number;
}

export interface KubernetesSimulator {
  url: string;
  port: number;
  /** The text of a kubeconfig for kubectl and client-node, of the administrator or of the bearer of `token`. */
  kubeconfig(token?: string): string;
  /** A token of the ServiceAccount, which admission then knows as its bearer. @throws ApiError 404 when there is no such ServiceAccount */
  tokenFor(namespace: string, serviceAccount: string): string;
  /** The objects, without HTTP; writes reach watches all the same. */
  store: ObjectStore;
  faults: Faults;
  /** How Jobs go; until there is a script nothing happens to them. */
  jobs: JobScripts;
  /** Serves a built-in group and version from now on, or not any more, as a server that was replaced. Its watches are cut. */
  serve(apiVersion: string, served: boolean): void;
  /** Every request answered or under way, oldest first. */
  requests: LoggedRequest[];
  /** The same objects over TLS; null unless that was asked for. */
  secured: Secured | null;
  /** Ends watches and stops listening. */
  close(): Promise<void>;
}

/** Above this many the oldest requests are forgotten. */
const LOGGED_REQUESTS = 100_000;

interface Context extends Handling {
  jobs: JobScripts;
  requests: LoggedRequest[];
  log: (line: string) => void;
  facts: () => ServerFacts;
}

const sendJson = (
  response: ServerResponse,
  code: number,
  value: unknown,
  type = 'application/json',
  warnings: readonly string[] = [],
): void => {
  if (warnings.length > 0)
    response.setHeader(
      'warning',
      warnings.map((warning) => `299 - ${JSON.stringify(warning)}`),
    );
  response.writeHead(code, { 'content-type': type, 'cache-control': 'no-cache, private' });
  response.end(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value));
};

const sendError = (context: Context, response: ServerResponse, error: unknown): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (!(error instanceof ApiError))
    context.log(`simulator failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const refusal = error instanceof ApiError ? error : new ApiError(500, 'InternalError', `Internal error occurred: ${String(error)}`);
  const retryAfter = refusal.code === 503 ? 1 : refusal.details?.retryAfterSeconds;
  if (typeof retryAfter === 'number') response.setHeader('retry-after', retryAfter);
  sendJson(response, refusal.code, refusal.status());
};

const answer = async (context: Context, request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> => {
  const method = request.method ?? 'GET';
  if (url.pathname.startsWith('/_control/')) {
    // JSON whatever it calls itself: `curl -d` says that it sends a form.
    const { value } = await bodyOf(request, 'application/json');
    sendJson(response, 200, control(context, method, url.pathname.slice('/_control/'.length), value));
    return;
  }
  const body = await bodyOf(request);
  const ms = context.faults.takeDelay(method, url.pathname);
  if (ms > 0) await sleep(ms, undefined, { ref: false });
  const proxied = serviceProxyOf(url.pathname);
  if (proxied) {
    await forward(context.api, proxied, { method, search: url.search }, response);
    return;
  }
  const target = targetOf(context.api.registry, url.pathname);
  if (target) {
    const userAgent = request.headers['user-agent'] ?? '';
    const user = userOf(context.api.store, request.headers);
    const { accept } = request.headers;
    const reply = handle(context, { method, target, query: url.searchParams, accept, body, userAgent, user, response });
    if (reply) sendJson(response, reply.code, reply.text, 'application/json', warningsOf(target.resource, reply.warnings));
    return;
  }
  const document = documentAt(context.facts(), url, request.headers.accept);
  if (!document) {
    // Outside of any served group the real server has its plain page; within one it answers with a Status.
    if (withinServed(context.api.registry, url.pathname)) throw noSuchPath();
    sendJson(response, 404, '404 page not found\n', 'text/plain; charset=utf-8');
    return;
  }
  sendDocument(request, response, document);
};

/** A client that has it already is told so. */
const sendDocument = (request: IncomingMessage, response: ServerResponse, { type, body, caching }: Document): void => {
  const content = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  if (caching === undefined) {
    sendJson(response, 200, content, type);
    return;
  }
  const etag = `"${createHash('sha512').update(content).digest('hex').toUpperCase()}"`;
  const headers = { 'cache-control': 'no-cache, private', etag, ...caching };
  const isKnown = request.headers['if-none-match'] === etag;
  response.writeHead(isKnown ? 304 : 200, isKnown ? headers : { 'content-type': type, ...headers });
  response.end(isKnown ? undefined : content);
};

const withinServed = (registry: Registry, path: string): boolean => {
  const [, root, first = '', second = ''] = path.split('/');
  if (root === 'apis') return second !== '' && registry.groups().has(first);
  return root === 'api' && registry.inVersion(first).length > 0;
};

const warningsOf = ({ deprecated }: Resource, others: readonly string[] = []): readonly string[] =>
  deprecated === undefined ? others : [deprecated, ...others];

const broken = (context: Context, response: ServerResponse, path: string): boolean => {
  const mode = path.startsWith('/_control/') ? undefined : context.faults.currentOutage();
  if (mode === 'reset') response.destroy();
  else if (mode === '503') {
    sendError(context, response, new ApiError(503, 'ServiceUnavailable', 'the server is currently unable to handle the request', {}));
  }
  return mode !== undefined;
};

const serve = (context: Context, request: IncomingMessage, response: ServerResponse): void => {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const logged: LoggedRequest = {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.search.slice(1),
    userAgent: request.headers['user-agent'] ?? '',
    at: Date.now(),
    code: undefined,
  };
  if (!url.pathname.startsWith('/_control/')) {
    context.requests.push(logged);
    if (context.requests.length > LOGGED_REQUESTS) context.requests.splice(0, LOGGED_REQUESTS / 10);
    response.on('close', () => {
      logged.code = response.headersSent ? response.statusCode : 0;
      context.log(`${logged.method} ${request.url} ${logged.code} ${Date.now() - logged.at} ms`);
    });
  }
  if (broken(context, response, url.pathname)) return;
  answer(context, request, response, url).catch((error: unknown) => sendError(context, response, error));
};

const tokenFor = (api: Api, namespace: string, name: string): string => {
  const resource = api.registry.find('v1', 'serviceaccounts');
  if (!resource) throw new Error('serviceaccounts are not served');
  return serviceAccountToken(namespace, name, api.entry(resource, namespace, name).object.metadata.uid ?? '');
};

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

/** Starts a Kubernetes API server on loopback. Objects live in memory and end with it. */
export const startKubernetes = async (options: KubernetesOptions = {}): Promise<KubernetesSimulator> => {
  const { historySize = 10_000, bookmarkIntervalMs = 60_000, version = 'v1.36.3', log = () => undefined } = options;
  const store = new Store(historySize);
  const registry = new Registry();
  for (const [apiVersion, served] of Object.entries(options.apiVersions ?? {})) registry.serve(apiVersion, served);
  const api = new Api(store, registry, Date.now, minorOf(version));
  new Policies(api).start();
  const watches = new Watches();
  const faults = new Faults(watches, store);
  const requests: LoggedRequest[] = [];
  let port = 0;
  const url = (): string => `http://127.0.0.1:${port}`;
  new DefinitionController(api).start();
  new BackgroundControllers(api, { log, podTerminationMs: options.podTerminationMs }).start();
  const jobs = new JobScripts();
  new JobController(api, { scripts: jobs, log }).start();
  bootstrap(api);
  const definitions = registry.find('apiextensions.k8s.io/v1', 'customresourcedefinitions');
  for (const definition of readDefinitions(options.crds ?? [])) {
    if (definitions && isObject(definition)) api.create(definitions, undefined, definition);
  }
  const openApi = new OpenApi(registry, version);
  const facts = (): ServerFacts => ({ registry, openApi, version, address: url() });
  const context: Context = { api, faults, jobs, watches, bookmarkIntervalMs, requests, log, facts };
  const listener = (request: IncomingMessage, response: ServerResponse): void => serve(context, request, response);
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  port = await listen(server, options.port ?? 0);
  const overTls = options.tls ? await secured(options.tls, listener, (each) => listen(each, 0)) : null;
  return {
    url: url(),
    port,
    kubeconfig: (token) => kubeconfigText(url(), token),
    tokenFor: (namespace, name) => tokenFor(api, namespace, name),
    store: new ObjectStore(api),
    faults,
    jobs,
    serve: (apiVersion, served) => {
      registry.serve(apiVersion, served);
      faults.cutWatches();
    },
    requests,
    secured: overTls,
    close: async () => {
      faults.clear();
      faults.cutWatches();
      await overTls?.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
};
