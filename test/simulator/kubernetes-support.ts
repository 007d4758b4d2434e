import { get, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { at, type Json, type JsonObject, type KubeObject } from '../../simulator/kubernetes/objects.ts';
import { type KubernetesOptions, type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';

export const POOLS_CRD = fileURLToPath(new URL('../../crds/floatingippools.yaml', import.meta.url));

export interface Reply {
  code: number;
  headers: Headers;
  body: JsonObject;
}

export interface Cluster extends KubernetesSimulator {
  send(method: string, path: string, body?: Json, headers?: Record<string, string>): Promise<Reply>;
  /** The reply to a POST that must succeed. */
  make(path: string, body: JsonObject): Promise<KubeObject>;
  watch(path: string): Promise<TestWatch>;
}

export interface TestEvent {
  type: string;
  object: KubeObject;
}

export interface TestWatch {
  events: TestEvent[];
  /** The code of the answer. */
  code: number;
  /** Resolves as soon as that many events have come. */
  until(count: number): Promise<TestEvent[]>;
  /** Resolves when the stream is over: true after a clean end, false when the connection broke. */
  ended: Promise<boolean>;
}

const DEADLINE_MS = 30_000;

const openWatch = (url: string): Promise<TestWatch> =>
  new Promise((resolve, reject) => {
    const request = get(url, (response: IncomingMessage) => {
      const events: TestEvent[] = [];
      const waiting: (() => void)[] = [];
      const lines = createInterface(response);
      lines.on('line', (line) => {
        events.push(JSON.parse(line) as TestEvent);
        for (const check of waiting) check();
      });
      // The interface repeats the stream's errors; `ended` tells of them.
      lines.on('error', () => undefined);
      const ended = new Promise<boolean>((done) => {
        response.on('end', () => done(true));
        response.on('error', () => done(false));
      });
      const until = (count: number): Promise<TestEvent[]> =>
        new Promise((enough, late) => {
          const timer = setTimeout(
            () => late(new Error(`${events.length} of ${count} events came: ${JSON.stringify(events)}`)),
            DEADLINE_MS,
          );
          const check = (): void => {
            if (events.length < count) return;
            clearTimeout(timer);
            enough(events);
          };
          waiting.push(check);
          check();
        });
      resolve({ events, code: response.statusCode ?? 0, until, ended });
    });
    request.on('error', reject);
    onTestFinished(() => void request.destroy());
  });

/** A simulator of its own, which ends with the test. FloatingIPPools are served. */
export const startCluster = async (options: KubernetesOptions = {}): Promise<Cluster> => {
  const simulator = await startKubernetes({ crds: [POOLS_CRD], ...options });
  onTestFinished(() => simulator.close());
  const send: Cluster['send'] = async (method, path, body, headers = {}) => {
    const response = await fetch(simulator.url + path, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json');
    return { code: response.status, headers: response.headers, body: json ? (JSON.parse(text) as JsonObject) : { text } };
  };
  const make: Cluster['make'] = async (path, body) => {
    const { code, body: made } = await send('POST', path, body);
    if (code !== 201) throw new Error(`POST ${path}: ${code} ${JSON.stringify(made)}`);
    return made as KubeObject;
  };
  return { ...simulator, send, make, watch: (path) => openWatch(simulator.url + path) };
};

export const NODES = '/api/v1/nodes';
export const PODS = '/api/v1/namespaces/default/pods';
export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
export const POOLS = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools';

export const node = (name: string, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  ...more,
});

export const pod = (name: string, nodeName: string, labels: { [key: string]: string } = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { nodeName, containers: [{ name: 'main', image: 'registry.example/app:1.0' }] },
});

export const configMap = (name: string, data: { [key: string]: string } = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

export const pool = (name: string, spec: JsonObject = { provider: 'digitalocean', desiredIPs: 2 }): JsonObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name },
  spec,
});

export const namesOf = (list: JsonObject): string[] =>
  (Array.isArray(list.items) ? list.items : []).map((item) => String(at(item, 'metadata', 'name')));

export const MERGE = { 'content-type': 'application/merge-patch+json' };
export const STRATEGIC = { 'content-type': 'application/strategic-merge-patch+json' };
export const JSON_PATCH = { 'content-type': 'application/json-patch+json' };
