import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { parse } from 'yaml';
import { fieldsOf } from '../../../machines/model/types.ts';
import { proxyFor } from '../../http/proxy.ts';
import { KubeConfig } from './library.ts';

type AgentOptions = Parameters<KubeConfig['createDispatcherOptions']>[1];
type DispatcherOptions = ReturnType<KubeConfig['createDispatcherOptions']>;

/** An idle connection is closed after this, ms: before a Go server closes it (90 s and more), so that a request never uses a closing connection. */
const KEEP_ALIVE_MS = 60_000;

/** Set in every Pod. */
const IN_CLUSTER_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** How the requests of a configuration are distributed over connections. */
interface Transport {
  /** Over HTTP/2 where the server supports it, a hundred at a time on one connection; otherwise each on a connection of its own. */
  readonly shares: boolean;
  /** The server must begin to respond within this, ms; 0 for no limit. */
  readonly headersMs: number;
  /** Maximum number of connections: further requests wait. Null for no limit. */
  readonly connections: number | null;
}

/** Each request has a connection to itself: a stalled request does not delay another. */
const ALONE: Transport = { shares: false, headersMs: 0, connections: null };

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

/** Tokens are rotated in their file, so it is read for each request. */
const TOKEN_FILE = {
  name: 'token-file',
  isAuthProvider: ({ authProvider }) => authProvider?.name === 'token-file',
  applyAuthentication: async ({ authProvider }, options) => {
    const token = readFileSync(authProvider.config.path, 'utf8').trim();
    options.headers = { ...options.headers, Authorization: `Bearer ${token}` };
  },
} satisfies Authenticator & { readonly name: string };

/** A KubeConfig that keeps its connections. The library makes a new dispatcher, and so a new TLS connection, for every request; this one
 *  keeps the dispatcher until the certificates change, as they do with credential plugins. */
export class KeptConfig extends KubeConfig {
  #kept: Dispatcher | null = null;
  #keptFor = '';
  #own: { readonly connect: object; readonly proxy?: Pick<ProxyAgent.Options, 'uri' | 'requestTls'> } | null = null;
  #closed = false;
  #transport = ALONE;

  constructor() {
    super();
    this.addAuthenticator(TOKEN_FILE);
  }

  /** The same configuration for hundreds of concurrent long requests, which share connections. A connection on which the server does not begin to respond within
   *  `headersMs` is pinged, and not used until it replies. `headersMs` must be shorter than the deadline of a request, which would otherwise retry on
   *  the same connection. */
  sharing(headersMs: number, connections: number | null = null): KeptConfig {
    const shared = new KeptConfig();
    const { clusters, users, contexts, currentContext } = this;
    shared.loadFromOptions({ clusters, users, contexts, currentContext });
    shared.#transport = { shares: true, headersMs, connections };
    return shared;
  }

  /** Supports the `tokenFile` of users, which the library expects under another name. */
  override loadFromFile(file: string, options?: Parameters<KubeConfig['loadFromFile']>[1]): void {
    super.loadFromFile(file, options);
    const users: unknown = fieldsOf(parse(readFileSync(file, 'utf8'))).users;
    const files = new Map(
      (Array.isArray(users) ? users : []).map(fieldsOf).map(({ name, user }) => [name, fieldsOf(user).tokenFile] as const),
    );
    this.users = this.users.map((user) => {
      const path = files.get(user.name);
      if (typeof path !== 'string' || path === '') return user;
      const { token: _, ...rest } = user;
      return { ...rest, authProvider: { name: TOKEN_FILE.name, config: { path: resolve(dirname(file), path) } } };
    });
  }

  override createDispatcherOptions(
    cluster: Parameters<KubeConfig['createDispatcherOptions']>[0],
    options: AgentOptions,
  ): DispatcherOptions {
    const made = super.createDispatcherOptions(cluster, options);
    const fingerprint = JSON.stringify(made);
    if (fingerprint === this.#keptFor && this.#kept !== null) return { type: 'none' };
    this.#keptFor = fingerprint;
    this.#own = ownOptions(made);
    // Our own dispatchers have timeouts that suit watches, and one is shared by concurrent requests; for SOCKS the library's is used.
    return this.#own === null ? made : { type: 'none' };
  }

  /** @throws Error once it is closed: another server may listen at that address by then */
  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    if (this.#closed) throw new Error('the connection is closed');
    const made = context.getDispatcher() ?? this.#ownAgent();
    if (made !== null) this.#replace(made);
    if (this.#kept !== null) context.setDispatcher(this.#kept);
  }

  /** Closes all connections, including requests in flight. Nothing is sent afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    const kept = this.#kept;
    this.#kept = null;
    await kept?.destroy();
  }

  #ownAgent(): Dispatcher | null {
    const own = this.#own;
    this.#own = null;
    if (own === null) return null;
    const { shares, headersMs, connections } = this.#transport;
    // Requests have deadlines, and a watch may be silent for minutes.
    const limits = { keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: headersMs, bodyTimeout: 0, connections };
    if (own.proxy) return new ProxyAgent({ ...own.proxy, ...limits });
    return new Agent({ ...limits, connect: own.connect, allowH2: shares });
  }

  #replace(made: Dispatcher): void {
    const former = this.#kept;
    this.#kept = made;
    // Requests in flight finish on the old connections, and report their own errors.
    former?.close().catch(() => undefined);
  }
}

function ownOptions(
  made: DispatcherOptions,
): { readonly connect: object; readonly proxy?: Pick<ProxyAgent.Options, 'uri' | 'requestTls'> } | null {
  switch (made.type) {
    case 'none':
      return { connect: {} };
    case 'agent':
      return { connect: made.connect };
    case 'proxy':
      return { connect: {}, proxy: { uri: made.uri, requestTls: made.requestTls as NonNullable<ProxyAgent.Options['requestTls']> } };
    case 'socks':
      return null;
  }
}

/** The configuration from `path`, else KUBECONFIG, else ~/.kube/config, else the Pod's own; with the given context, else the current one.
 *  @throws Error when it names no server */
export const loadConfig = (path?: string, context?: string): KeptConfig => {
  const config = new KeptConfig();
  if (path === undefined) config.loadFromDefault();
  else config.loadFromFile(path);
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(`${path ?? 'the kubeconfig'} names no cluster for its current context "${config.getCurrentContext()}"`);
  if (cluster.server.startsWith('http://') && !cluster.skipTLSVerify) {
    // The library refuses plain HTTP otherwise, although there is no TLS to verify.
    config.clusters = config.clusters.map((one) => (one === cluster ? { ...one, skipTLSVerify: true } : one));
  }
  const proxy = cluster.proxyUrl ? null : proxyFor(cluster.server, process.env);
  if (proxy !== null) config.clusters = config.clusters.map((one) => (one.name === cluster.name ? { ...one, proxyUrl: proxy } : one));
  return config;
};

/** The operator's own namespace: that of the kubeconfig's context, else the Pod's, else `default`. */
export const ownNamespace = (config: KubeConfig, podFile = IN_CLUSTER_NAMESPACE): string => {
  const ofContext = config.getContextObject(config.getCurrentContext())?.namespace;
  if (ofContext !== undefined && ofContext !== '') return ofContext.trim();
  const ofPod = existsSync(podFile) ? readFileSync(podFile, 'utf8').trim() : '';
  return ofPod === '' ? 'default' : ofPod;
};
