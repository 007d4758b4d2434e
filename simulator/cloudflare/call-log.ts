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
  /** Tells tokens apart without showing them. */
  readonly tokenHash: string;
  status: number | null;
  /** `answered`, cut by a fault (`reset`), or given up by the client (`aborted`); null while it is under way. */
  outcome: 'answered' | 'reset' | 'aborted' | null;
  latencyMs: number | null;
  /** The kinds of the faults that struck it. */
  readonly faults: string[];
}

export interface CallLog {
  readonly all: () => readonly Call[];
  /** Only calls whose number is greater than `since`; with `writes` only POST, PUT, PATCH and DELETE. */
  readonly select: (filter: { readonly since?: number; readonly writes?: boolean }) => Call[];
  readonly open: (call: Pick<Call, 'at' | 'method' | 'path' | 'body' | 'tokenHash'>) => Call;
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
      const call: Call = { n: count, ...arrived, status: null, outcome: null, latencyMs: null, faults: [] };
      calls.push(call);
      return call;
    },
    clear: () => {
      calls = [];
    },
  };
}
