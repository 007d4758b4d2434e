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

/** What is known of a call when it arrives. */
export type Arrived = Pick<Call, 'at' | 'method' | 'path' | 'body' | 'tokenHash'>;

interface CallFilter {
  /** Only calls whose number is greater. */
  readonly since?: number;
  /** Only POST, PUT, PATCH and DELETE. */
  readonly writes?: boolean;
}

/** `More` is what one API keeps of its calls beside that. */
export interface CallLog<More = unknown> {
  readonly all: () => readonly (Call & More)[];
  readonly select: (filter: CallFilter) => (Call & More)[];
  /** Numbers the call and keeps it. */
  readonly open: (arrived: Arrived & More) => Call & More;
  readonly clear: () => void;
}

/** Numbers go on after `clear`, so that `since` stays valid. */
export function createCallLog<More = unknown>(): CallLog<More> {
  let calls: (Call & More)[] = [];
  let count = 0;
  return {
    all: () => calls,
    select: ({ since = 0, writes = false }) => calls.filter((call) => call.n > since && (!writes || call.method !== 'GET')),
    open: (arrived) => {
      count += 1;
      const call = { n: count, ...arrived, status: null, outcome: null, latencyMs: null, faults: [] };
      calls.push(call);
      return call;
    },
    clear: () => {
      calls = [];
    },
  };
}
