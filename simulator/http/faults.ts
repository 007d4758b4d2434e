/** Which requests a fault strikes: exact method, and a regular expression over the path with its query. */
export interface FaultMatch {
  readonly method?: string;
  readonly path?: string;
}

/** What can go wrong with any API over HTTP. */
export type HttpEffect =
  | { readonly kind: 'latency'; readonly ms: number }
  | { readonly kind: 'status'; readonly code: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** Without `ms` it never answers. With `applied` the effect takes place at once, else after `ms` or never. */
  | { readonly kind: 'hang'; readonly ms?: number; readonly applied?: boolean }
  | { readonly kind: 'resetBefore' }
  | { readonly kind: 'resetAfter' }
  /** The body comes in small pieces with this pause after each, and nobody says how long it is. */
  | { readonly kind: 'dripBody'; readonly ms: number }
  /** The connection ends with the answer. */
  | { readonly kind: 'closeConnection' }
  /** The clock of the API is off by so much. */
  | { readonly kind: 'clockOff'; readonly ms: number }
  /** A request that does not say which program sends it is refused. */
  | { readonly kind: 'needsUserAgent' }
  /** Lists only. `invalidJson`: the body stops in the middle. `missingRest`: half of the items are missing, and the totals still count them. */
  | { readonly kind: 'truncatePages'; readonly how?: 'invalidJson' | 'missingRest' };

/** Any effect, also of kinds that one API alone has. */
export interface AnyEffect {
  readonly kind: string;
}

/** `after`: how many requests that it could strike it lets pass first; none when omitted. `times`: how many it strikes before it is spent; until it is removed when omitted. */
export type FaultSpec<E extends AnyEffect = HttpEffect> = E & {
  readonly match?: FaultMatch;
  readonly after?: number;
  readonly times?: number;
};

export interface Fault<E extends AnyEffect = HttpEffect> {
  readonly id: number;
  readonly spec: FaultSpec<E>;
  /** How many requests it has struck so far. */
  readonly hits: number;
  readonly remove: () => void;
}

export interface Faults<E extends AnyEffect = HttpEffect> {
  /** @throws SyntaxError for a pattern that does not compile */
  readonly add: (spec: FaultSpec<E>) => Fault<E>;
  readonly list: () => readonly Fault<E>[];
  readonly find: (id: number) => Fault<E> | undefined;
  /** False when there is no such fault. */
  readonly remove: (id: number) => boolean;
  readonly clear: () => void;
  /** The effects that strike this request, each counted as a hit. */
  readonly strike: (method: string, path: string) => E[];
}

export interface FaultRules {
  /** Requests on which a kind can have an effect at all (the path without its query): others are not struck, so that a hit always means one. */
  readonly reach: Readonly<Record<string, { readonly method: string; readonly path: RegExp }>>;
  /** Kinds of this API that decide the answer alone, beside those of HTTP. */
  readonly decisive?: readonly string[];
}

const decisiveKinds: readonly HttpEffect['kind'][] = ['status', 'hang', 'resetBefore', 'resetAfter'];

/** Of the kinds that decide the answer alone only the first strikes a request. */
export function createFaults<E extends AnyEffect = HttpEffect>({ reach, decisive = [] }: FaultRules): Faults<E> {
  const faults = new Map<number, Fault<E> & { hits: number; passed: number }>();
  const decides = ({ kind }: AnyEffect): boolean => decisive.includes(kind) || decisiveKinds.some((one) => one === kind);
  let count = 0;
  return {
    add: (spec) => {
      // A pattern that does not compile must fail here and not at the first request.
      new RegExp(spec.match?.path ?? '');
      count += 1;
      const id = count;
      const fault = { id, spec, hits: 0, passed: 0, remove: () => void faults.delete(id) };
      faults.set(id, fault);
      return fault;
    },
    list: () => [...faults.values()],
    find: (id) => faults.get(id),
    remove: (id) => faults.delete(id),
    clear: () => faults.clear(),
    strike: (method, path) => {
      const struck: E[] = [];
      for (const fault of faults.values()) {
        if (!applies(fault, reach[fault.spec.kind], method, path)) continue;
        if (decides(fault.spec) && struck.some(decides)) continue;
        if (fault.passed < (fault.spec.after ?? 0)) {
          fault.passed += 1;
          continue;
        }
        fault.hits += 1;
        struck.push(fault.spec);
      }
      return struck;
    },
  };
}

type Reach = FaultRules['reach'][string] | undefined;

function applies({ spec, hits }: Fault<AnyEffect>, within: Reach, method: string, path: string): boolean {
  if (spec.times !== undefined && hits >= spec.times) return false;
  const bare = path.split('?')[0] ?? path;
  if (within !== undefined && (within.method !== method || !within.path.test(bare))) return false;
  if (spec.match?.method !== undefined && spec.match.method !== method) return false;
  return spec.match?.path === undefined || new RegExp(spec.match.path).test(path);
}

/** Those of `effects` that are of this kind. */
export function ofKind<E extends AnyEffect, K extends E['kind']>(effects: readonly E[], kind: K): Extract<E, { kind: K }>[] {
  return effects.filter((effect): effect is Extract<E, { kind: K }> => effect.kind === kind);
}
