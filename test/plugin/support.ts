import { reservedIPOf, vipServiceOf } from '../../adapters/kubernetes/cache/trim-vip.ts';
import { Changed, type ClusterAPI, type ClusterFacts, Refused, type Session } from '../../plugin/ports.ts';
import { printable } from '../../plugin/printable.ts';

export const NOW = Date.parse('2026-03-01T12:00:00Z');
/** The time so many seconds from now; before now when negative. */
export const at = (seconds: number): string => new Date(NOW + seconds * 1000).toISOString();

export interface Patch {
  readonly path: string;
  readonly body: unknown;
}

export interface World {
  readonly session: Session;
  /** What was printed, without the last line feed. */
  readonly out: () => string;
  readonly problems: readonly string[];
  readonly patches: readonly Patch[];
}

/** A cluster of these collections and objects by path. A text in the place of an answer is what the API server refuses with; `null` what it does not serve. */
export function world(answers: Readonly<Record<string, unknown>>, more: Partial<Session> = {}): World {
  const out: string[] = [];
  const problems: string[] = [];
  const patches: Patch[] = [];
  const answer = (path: string): unknown => {
    const found = answers[path];
    if (typeof found === 'string') throw found.startsWith('changed') ? new Changed(found) : new Refused(found);
    return found ?? null;
  };
  const api: ClusterAPI = {
    list: async (path) => answer(path) as readonly unknown[] | null,
    get: async (path) => answer(path),
    review: async () => ({}),
    patch: async (path, body) => {
      const found = answer(path);
      patches.push({ path, body });
      return found;
    },
  };
  const session: Session = {
    api,
    facts: NO_FACTS,
    namespace: null,
    output: 'table',
    operatorNamespace: 'routedip-operator',
    journalService: { namespace: 'routedip-operator', service: 'routedip-operator-journal:journal' },
    now: NOW,
    sleep: async () => undefined,
    read: () => '',
    out: (lines) => out.push(printable(lines)),
    problem: (text) => problems.push(printable([text]).slice(0, -1)),
    ...more,
  };
  return { session, out: () => out.join('').slice(0, -1), problems, patches };
}

/** An empty cluster. */
export const NO_FACTS: ClusterFacts = {
  nodes: async () => [],
  pods: async () => [],
  service: async () => null,
  routedIPClass: async () => null,
  user: async () => 'alice@example.com',
  vipService: vipServiceOf,
  reservedIP: reservedIPOf,
};

export const POOLS = '/apis/flipop.digitalocean.com/v1alpha1/floatingippools';
export const RECORD_SETS = '/apis/flipop.digitalocean.com/v1alpha1/nodednsrecordsets';
export const ROUTED_IPS = '/apis/routedip.io/v1alpha1/routedips';
export const IPS = '/apis/paas.org/v1/ips';
export const GROUPS = '/apis/paas.org/v1/ipgroups';
export const SERVICES = '/api/v1/services';

type Fields = Readonly<Record<string, unknown>>;

export const condition = (type: string, status: string, reason: string, message: string, seconds = -60): Fields => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at(seconds),
});

const FINE = [
  condition('Ready', 'True', 'AllActive', '1 of 1 addresses are active'),
  condition('Progressing', 'False', 'Idle', 'nothing is under way'),
  condition('Degraded', 'False', 'AsExpected', 'nothing is wrong'),
];

export const pool = (name: string, status: Fields, more: { readonly spec?: Fields; readonly metadata?: Fields } = {}): Fields => ({
  metadata: { name, namespace: 'default', generation: 1, uid: `uid-${name}`, ...more.metadata },
  spec: { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...more.spec },
  status: { observedGeneration: 1, conditions: FINE, ...status },
});

export const routedIP = (name: string, status: Fields, metadata: Fields = {}): Fields => ({
  metadata: { name, namespace: 'web', generation: 1, uid: `uid-${name}`, ...metadata },
  spec: { className: 'c', serviceRef: { serviceName: name } },
  status: {
    observedGeneration: 1,
    conditions: [
      condition('Ready', 'True', 'Assigned', 'it is on its node'),
      condition('FirewallReady', 'True', 'NoFirewall', 'no firewall is managed'),
    ],
    ...status,
  },
});
