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
  /** Lists only. `invalidJson`: the body stops in the middle. `missingRest`: half of the items are missing, and the totals still count them. */
  | { readonly kind: 'truncatePages'; readonly how?: 'invalidJson' | 'missingRest' };

/** `times`: how many requests it strikes before it is spent; until it is removed when omitted. */
export type FaultSpec = FaultEffect & { readonly match?: FaultMatch; readonly times?: number };

export interface Fault {
  readonly id: number;
  readonly spec: FaultSpec;
  /** How many requests it has struck so far. */
  hits: number;
}

export interface Faults {
  readonly add: (spec: FaultSpec) => Readonly<Fault>;
  readonly list: () => readonly Readonly<Fault>[];
  /** False when there is no such fault. */
  readonly remove: (id: number) => boolean;
  readonly clear: () => void;
  /** The effects that strike this request, each counted as a hit. */
  readonly strike: (method: string, path: string) => FaultEffect[];
}

const lists = /\/(zones|dns_records)$/;

/** Kinds that decide the answer alone: only the first of them strikes a request. */
const decisive: ReadonlySet<FaultEffect['kind']> = new Set(['status', 'hang', 'resetBefore', 'resetAfter']);

export function createFaults(): Faults {
  const faults = new Map<number, Fault>();
  let count = 0;
  return {
    add: (spec) => {
      // A pattern that does not compile must fail here and not at the first request.
      new RegExp(spec.match?.path ?? '');
      count += 1;
      const fault: Fault = { id: count, spec, hits: 0 };
      faults.set(fault.id, fault);
      return fault;
    },
    list: () => [...faults.values()],
    remove: (id) => faults.delete(id),
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

function applies({ spec, hits }: Fault, method: string, path: string): boolean {
  if (spec.times !== undefined && hits >= spec.times) return false;
  if (spec.kind === 'truncatePages' && (method !== 'GET' || !lists.test(path.split('?')[0] ?? path))) return false;
  if (spec.match?.method !== undefined && spec.match.method !== method) return false;
  return spec.match?.path === undefined || new RegExp(spec.match.path).test(path);
}
