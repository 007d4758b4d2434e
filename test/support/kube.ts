import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../tools/free-ports.mjs';
import { auditsFolder, keepAudit } from './audits.ts';
import { type ApiClient, type ApiRequest, type ApiResponse, apiClient, writeKubeconfig } from './kube-client.ts';
import { apiServerFlags, auditFile, controllerFlags, etcdFlags, type Ports } from './kube-flags.ts';
import { createPki, type Pki } from './kube-pki.ts';
import { type ServerProcess, startServer } from './kube-process.ts';

export interface ClusterOptions {
  /** Controllers of kube-controller-manager to run; empty (default) starts none, and needs no such binary. */
  readonly controllers?: readonly string[];
  /** Record every request, for auditLog(). Default: only where what operators ask for is gathered; `false` where a test asks in their name. */
  readonly audit?: boolean;
  /** Pods of a real node are to reach the server, and Nodes may die: see startNode of kube-node.ts. Default false. */
  readonly runsPods?: boolean;
}

/** A real kube-apiserver with etcd, RBAC on, and no kubelet or scheduler: tests create Nodes and Pods with their status. */
export interface Cluster {
  readonly url: string;
  /** Version of the server without the leading v, for example 1.20.2. */
  readonly version: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** One request as administrator, or as the bearer of `token`. Resolves with whatever status the server answers. */
  send(path: string, options?: ApiRequest): Promise<ApiResponse>;
  /** A token of the ServiceAccount, by the TokenRequest API; valid for an hour. */
  tokenFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Path of a kubeconfig that bears `token`, in this namespace unless it is not said. */
  kubeconfigFor(token: string, namespace?: string): string;
  /** Resources, by their plural names, that a test has taken from the operator, or never given to it: to be refused those is no mistake of the roles. */
  readonly forbidden: Set<string>;
  /** Requests so far, oldest first. @throws Error unless the cluster was started with `audit` */
  auditLog(): readonly AuditEvent[];
  /** Ends the API server at once; what it stored stays. */
  killApiServer(): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  startApiServer(): Promise<void>;
  /** The API server keeps its connections and answers nothing, until resumed. */
  pauseApiServer(): void;
  resumeApiServer(): void;
  /** Ends all processes and removes all files. May be called more than once. */
  stop(): Promise<void>;
}

export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code: number };
  /** When it came. When it was answered is not known from the log: that line is stamped after the client has its answer already. */
  readonly requestReceivedTimestamp: string;
}

/** Environment variable that names the folder with the binaries, as envtest has it. */
export const ASSETS = 'KUBEBUILDER_ASSETS';

const READY_DEADLINE_MS = 60_000;
const POLL_MS = 50;

/** The server makes its own namespaces after it has said that it is ready; what is created before is refused. */
const BEGUN = ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system'];

/** Why no cluster can be started here, or null when one can. */
export const clusterUnavailable = (): string | null => {
  const folder = process.env[ASSETS];
  if (!folder) return `${ASSETS} is not set; it must name a folder with kube-apiserver and etcd (setup-envtest prints one)`;
  const missing = ['kube-apiserver', 'etcd'].filter((name) => !isExecutable(join(folder, name)));
  return missing.length === 0 ? null : `${ASSETS} names ${folder}, which has no executable ${missing.join(' and no executable ')}`;
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const versionOf = (binary: string): string => {
  const version = /v(\d+\.\d+\.\d+)/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))?.[1];
  if (version === undefined) throw new Error(`${binary} --version names no version`);
  return version;
};

/** Starts a cluster of its own on free ports of the loopback address. It ends with this process, even when that is killed.
 *  @throws Error when KUBEBUILDER_ASSETS is unset or incomplete, or a server does not become ready; nothing stays behind then */
export const startCluster = async (options: ClusterOptions = {}): Promise<Cluster> => {
  const unavailable = clusterUnavailable();
  if (unavailable !== null) throw new Error(unavailable);
  const cluster = await RunningCluster.create(process.env[ASSETS] ?? '', options);
  try {
    await cluster.startAll();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
};

class RunningCluster implements Cluster {
  readonly url: string;
  readonly version: string;
  readonly kubeconfig: string;
  readonly forbidden = new Set<string>();
  readonly #assets: string;
  readonly #options: ClusterOptions;
  readonly #folder: string;
  readonly #ports: Ports;
  readonly #pki: Pki;
  readonly #client: ApiClient;
  readonly #processes: ServerProcess[] = [];
  #apiServer: ServerProcess | null = null;
  #kubeconfigs = 0;
  #stopped = false;

  static async create(assets: string, options: ClusterOptions): Promise<RunningCluster> {
    const [api = 0, etcd = 0, peer = 0, controllers = 0] = await freePorts(4);
    return new RunningCluster(assets, options, { api, etcd, peer, controllers });
  }

  private constructor(assets: string, options: ClusterOptions, ports: Ports) {
    this.#assets = assets;
    this.#options = { audit: auditsFolder() !== undefined, ...options };
    this.#ports = ports;
    this.#folder = mkdtempSync(join(tmpdir(), 'kube-'));
    this.#pki = createPki(this.#folder);
    this.url = `https://127.0.0.1:${ports.api}`;
    this.version = versionOf(join(assets, 'kube-apiserver'));
    this.#client = apiClient(this.url, this.#pki);
    this.kubeconfig = this.#kubeconfigOf('admin');
  }

  async startAll(): Promise<void> {
    await this.#start('etcd', etcdFlags(this.#folder, this.#ports, this.version));
    await this.startApiServer();
    const { controllers = [], runsPods = false } = this.#options;
    if (controllers.length === 0) return;
    const kubeconfig = this.#kubeconfigOf('controllerManager');
    const flags = controllerFlags({
      folder: this.#folder,
      ports: this.#ports,
      pki: this.#pki,
      version: this.version,
      kubeconfig,
      controllers,
      runsPods,
    });
    await this.#start('kube-controller-manager', flags);
  }

  send(path: string, options?: ApiRequest): Promise<ApiResponse> {
    return this.#client.send(path, options);
  }

  async tokenFor(namespace: string, serviceAccount: string): Promise<string> {
    const { status, body } = await this.send(`/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`, {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
    });
    if (status !== 201) throw new Error(`token of ${namespace}/${serviceAccount}: ${status} ${JSON.stringify(body)}`);
    return body.status.token;
  }

  kubeconfigFor(token: string, namespace?: string): string {
    this.#kubeconfigs += 1;
    return writeKubeconfig(join(this.#folder, `token-${this.#kubeconfigs}.kubeconfig`), this.url, this.#pki.ca, { token }, namespace);
  }

  auditLog(): readonly AuditEvent[] {
    if (!this.#options.audit) throw new Error('the cluster was started without `audit`');
    const text = readFileSync(auditFile(this.#folder), 'utf8');
    // The last line may be in the middle of being written.
    const lines = text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  async killApiServer(): Promise<void> {
    if (this.#apiServer === null) throw new Error('the API server does not run');
    this.#apiServer.signal('SIGKILL');
    await this.#apiServer.exited;
    this.#apiServer = null;
  }

  async startApiServer(): Promise<void> {
    if (this.#apiServer !== null) throw new Error('the API server runs already');
    this.#apiServer = await this.#start(
      'kube-apiserver',
      apiServerFlags({
        folder: this.#folder,
        ports: this.#ports,
        pki: this.#pki,
        audit: this.#options.audit ?? false,
        runsPods: this.#options.runsPods ?? false,
      }),
    );
    await this.#ready(this.#apiServer);
  }

  pauseApiServer(): void {
    this.#apiServer?.signal('SIGSTOP');
  }

  resumeApiServer(): void {
    this.#apiServer?.signal('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#client.close();
    if (this.#options.audit && !this.#stopped && existsSync(auditFile(this.#folder))) keepAudit(this.auditLog(), this.forbidden);
    this.#stopped = true;
    // All that they stored goes too, so there is nothing to finish.
    for (const server of this.#processes) server.signal('SIGKILL');
    await Promise.all(this.#processes.map((server) => server.exited));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(name: string, flags: readonly string[]): Promise<ServerProcess> {
    const server = await startServer(join(this.#assets, name), flags, this.#folder);
    this.#processes.push(server);
    return server;
  }

  async #ready(server: ServerProcess): Promise<void> {
    const deadline = performance.now() + READY_DEADLINE_MS;
    while (performance.now() < deadline) {
      if (!server.running()) throw new Error(`kube-apiserver ended:\n${server.logTail()}`);
      // Refused connections are what waiting looks like here.
      const answers = await Promise.all(BEGUN.map((path) => this.send(path).catch(() => null)));
      if (answers.every((answer) => answer?.status === 200)) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`kube-apiserver is not ready after ${READY_DEADLINE_MS} ms:\n${server.logTail()}`);
  }

  #kubeconfigOf(name: 'admin' | 'controllerManager'): string {
    const { crt, key } = this.#pki.certificate(name);
    return writeKubeconfig(join(this.#folder, `${name}.kubeconfig`), this.url, this.#pki.ca, {
      'client-certificate': crt,
      'client-key': key,
    });
  }
}
