/** Which requests a fault strikes: exact method, and a regular expression over the path with its query. */
export interface FaultMatch {
  readonly method?: string;
  readonly path?: string;
}

export type FaultEffect =
  | { readonly kind: 'latency'; readonly ms: number }
  | { readonly kind: 'status'; readonly code: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** Without `ms` it never answers. With `applied` the effect takes place at once, else after `ms` or never. */
  | { readonly kind: 'hang'; readonly ms?: number; readonly applied?: boolean }
  | { readonly kind: 'resetBefore' }
  | { readonly kind: 'resetAfter' }
  | { readonly kind: 'staleReads'; readonly ms: number }
  /** `invalidJson`: the body stops in the middle. `missingRest`: half of the items are missing and no next page is named. */
  | { readonly kind: 'truncatePages'; readonly how?: 'invalidJson' | 'missingRest' }
  | { readonly kind: 'pendingEvent' }
  | { readonly kind: 'actionNotFound' }
  | { readonly kind: 'actionErrored' }
  | { readonly kind: 'slowAction'; readonly ms: number }
  | { readonly kind: 'quota' };

export type FaultKind = FaultEffect['kind'];

/** `times`: how many requests it strikes before it is spent; until it is removed when omitted. */
export type FaultSpec = FaultEffect & { readonly match?: FaultMatch; readonly times?: number };

export interface Fault {
  readonly id: number;
  readonly spec: FaultSpec;
  hits: number;
}

export interface FaultHandle {
  readonly id: number;
  /** How many requests it has struck so far. */
  readonly hits: number;
  readonly remove: () => void;
}

export interface Faults {
  readonly add: (spec: FaultSpec) => FaultHandle;
  readonly list: () => readonly Fault[];
  readonly find: (id: number) => Fault | undefined;
  /** False when there is no such fault. */
  readonly remove: (id: number) => boolean;
  readonly clear: () => void;
  /** The effects that strike this request, each counted as a hit. */
  readonly strike: (method: string, path: string) => FaultEffect[];
}

const actionPost = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)\/[^/]+\/actions$/;
const creation = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)$/;
const actionRead = /\/actions(\/\d+)?$/;
const addressRead = /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)(\/[^/]+)?$/;

/** Requests on which a kind can have an effect at all: others are not struck, so that a hit always means one. */
const reach: Partial<Record<FaultKind, { readonly method: string; readonly path: RegExp }>> = {
  pendingEvent: { method: 'POST', path: actionPost },
  actionErrored: { method: 'POST', path: actionPost },
  slowAction: { method: 'POST', path: actionPost },
  quota: { method: 'POST', path: creation },
  actionNotFound: { method: 'GET', path: actionRead },
  staleReads: { method: 'GET', path: addressRead },
  truncatePages: {
    method: 'GET',
    path: /^\/v2\/((reserved_ips|floating_ips|reserved_ipv6|actions|droplets|domains|firewalls)|domains\/[^/]+\/records|\w+\/[^/]+\/actions)$/,
  },
};

/** Kinds that decide the answer alone: only the first of them strikes a request. */
const decisive: ReadonlySet<FaultKind> = new Set(['status', 'hang', 'resetBefore', 'resetAfter', 'pendingEvent', 'quota']);

export function createFaults(): Faults {
  const faults = new Map<number, Fault>();
  let count = 0;
  const remove = (id: number): boolean => faults.delete(id);
  return {
    add: (spec) => {
      count += 1;
      const fault: Fault = { id: count, spec, hits: 0 };
      // A pattern that does not compile must fail here and not at the first request.
      new RegExp(spec.match?.path ?? '');
      faults.set(fault.id, fault);
      return {
        id: fault.id,
        get hits() {
          return fault.hits;
        },
        remove: () => {
          remove(fault.id);
        },
      };
    },
    list: () => [...faults.values()],
    find: (id) => faults.get(id),
    remove,
    clear: () => faults.clear(),
    strike: (method, path) => {
      const struck: FaultEffect[] = [];
      for (const fault of faults.values()) {
        if (!applies(fault, method, path)) continue;
        if (decisive.has(fault.spec.kind) && struck.some((effect) => decisive.has(effect.kind))) continue;
        fault.hits += 1;
        struck.push(fault.spec);
      }
      return struck;
    },
  };
}

function applies(fault: Fault, method: string, path: string): boolean {
  const { spec, hits } = fault;
  if (spec.times !== undefined && hits >= spec.times) return false;
  const within = reach[spec.kind];
  const bare = path.split('?')[0] ?? path;
  if (within !== undefined && (within.method !== method || !within.path.test(bare))) return false;
  if (spec.match?.method !== undefined && spec.match.method !== method) return false;
  return spec.match?.path === undefined || new RegExp(spec.match.path).test(path);
}
