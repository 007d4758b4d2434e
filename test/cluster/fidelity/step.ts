import type { Json, JsonObject } from '../../../simulator/kubernetes/objects.ts';

/** One request; the same one goes to the simulator and to a real API server, and the replies are compared. */
export interface Step {
  /** What it shows, as a sentence without its subject. */
  title: string;
  method: string;
  path: string;
  body?: Json;
  /** Content type; JSON when absent. */
  type?: string;
  accept?: string;
}

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';

export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
export const APPLY = 'application/apply-patch+yaml';

export const NS = 'fidelity';
export const core = (plural: string, rest = ''): string => `/api/v1/namespaces/${NS}/${plural}${rest}`;
export const pools = (rest = ''): string => `/apis/flipop.digitalocean.com/v1alpha1/namespaces/${NS}/floatingippools${rest}`;
export const nodes = (rest = ''): string => `/api/v1/nodes${rest}`;
export const leases = (rest = ''): string => `/apis/coordination.k8s.io/v1/namespaces/${NS}/leases${rest}`;

export const named = (name: string, more: JsonObject = {}): JsonObject => ({ metadata: { name }, ...more });
export const pool = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name },
  spec,
});
export const pod = (name: string, spec: JsonObject = {}): JsonObject =>
  named(name, { spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec } });

export const applied = (data: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data });
export const reporting = (type: string): JsonObject => {
  const { spec: _spec, ...head } = pool('applied', {});
  const condition = { type, status: 'True', reason: 'R', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' };
  return { ...head, status: { conditions: [condition] } };
};

export const step = (title: string, method: string, path: string, more: Partial<Step> = {}): Step => ({ title, method, path, ...more });
