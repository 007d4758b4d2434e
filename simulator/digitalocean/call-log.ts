/** One request to the API as it came and ended. It never holds the token. */
export interface Call {
  /** Counts from 1. */
  readonly n: number;
  /** When it arrived, milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: unknown;
  readonly requestId: string;
  /** Tells tokens apart without showing them. */
  readonly tokenHash: string;
  status: number | null;
  /** `answered`, cut by a fault (`reset`), or given up by the client (`aborted`); null while it is under way. */
  outcome: 'answered' | 'reset' | 'aborted' | null;
  /** What `ratelimit-remaining` said; null if it did not get that far. */
  remaining: number | null;
  latencyMs: number | null;
  /** The kinds of the faults that struck it. */
  readonly faults: string[];
}

export interface CallFilter {
  /** Only calls whose number is greater. */
  readonly since?: number;
  /** Only POST, PUT, PATCH and DELETE. */
  readonly writes?: boolean;
}

export interface CallLog {
  readonly all: () => readonly Call[];
  readonly select: (filter: CallFilter) => Call[];
  readonly open: (call: Omit<Call, 'n' | 'status' | 'outcome' | 'remaining' | 'latencyMs' | 'faults'>) => Call;
  readonly clear: () => void;
}

/** Numbers go on after `clear`, so that `since` stays valid. */
export function createCallLog(): CallLog {
  let calls: Call[] = [];
  let count = 0;
  return {
    all: () => calls,
    select: ({ since = 0, writes = false }) => calls.filter((call) => call.n > since && (!writes || call.method !== 'GET')),
    open: (arrived) => {
      count += 1;
      const call: Call = { n: count, ...arrived, status: null, outcome: null, remaining: null, latencyMs: null, faults: [] };
      calls.push(call);
      return call;
    },
    clear: () => {
      calls = [];
    },
  };
}
