import type { JobName } from '../../machines/jobs.ts';
import type { ActorId, Finding } from '../../machines/model/types.ts';

// ---------------------------------------------------------------- time

/** The only source of time and timers in actors/ and machines/. */
export interface Clock {
  /** Wall clock, ms since the epoch. May jump. */
  now(): number;
  /** Monotonic clock, ms; comparable within one process only. */
  monotonic(): number;
  /** Calls `run` once, `ms` from now at the earliest. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Null as long as the present turn of the event loop is short; otherwise resolves in a later one. Call it before each piece of long work, so that neither the Lease nor
   *  the locks of jobs wait for all of it. `turnMs`: what counts as short. Absent where time does not pass by itself. */
  yieldToEventLoop?(turnMs?: number): Promise<void> | null;
}

// ---------------------------------------------------------------- records: the state of every actor

/** Data that survives JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What an actor waits for under one invoke id or send id: THE fence. An outcome or a timer with another command id is dropped. */
export interface Waiting {
  readonly commandId: string;
  /** When a timer is due, ms since the epoch; absent for jobs and sends. */
  readonly dueAt?: number;
  /** The queue of a job; absent for timers and sends, and in records written by earlier versions. */
  readonly queue?: string;
  /** What a job waits for, for users; absent or null for nothing. */
  readonly waits?: Finding | null;
}

/** The stored state of one actor. */
export interface ActorRecord {
  readonly chart: string;
  readonly chartVersion: number;
  readonly snapshot: { readonly value: Json; readonly context: Json };
  readonly waiting: Readonly<Record<string, Waiting>>;
  /** 1 for the first write, then one more each time. */
  readonly version: number;
  readonly term: number;
}

/** An effect that was decided and saved; stays in the outbox until it was dispatched. Dispatching one again is harmless. */
export type Command = JobCommand | TimerCommand | SendCommand;

export interface JobCommand {
  readonly kind: 'job';
  readonly id: string;
  readonly actor: ActorId;
  readonly invokeId: string;
  /** The queue it runs on: the provider's name, or `kubernetes` for jobs that write to the API server only. */
  readonly queue: string;
  readonly job: JobName;
  /** The title in the job dashboard, e.g. `assign 203.0.113.7 → node-a`. */
  readonly title: string;
  readonly input: Json;
  /** Lower runs first; 1 failover, 5 the rest, 9 housekeeping. */
  readonly priority: number;
  /** The command that this one replaces after a restart: its progress is taken over. */
  readonly resumes?: string;
}

export interface TimerCommand {
  readonly kind: 'timer';
  readonly id: string;
  readonly actor: ActorId;
  readonly sendId: string;
  readonly dueAt: number;
  /** The whole wait, ms; absent in records written by earlier versions. */
  readonly waitMs?: number;
}

export interface SendCommand {
  readonly kind: 'send';
  readonly id: string;
  readonly actor: ActorId;
  readonly to: ActorId;
  readonly event: Json;
}

/** `owner` holds `node` at `provider`; no node has more owners than `limit`. */
export interface Claim {
  readonly provider: string;
  readonly node: string;
  readonly owner: ActorId;
  readonly limit: number;
}

/** One turn of one cell, saved all or nothing. */
export interface CellWrite {
  readonly cell: ActorId;
  readonly term: number;
  /** `record` null deletes; `expected` is the version that must be stored now, 0 for none. */
  readonly records: readonly { readonly actor: ActorId; readonly expected: number; readonly record: ActorRecord | null }[];
  readonly outbox: { readonly add: readonly Command[]; readonly clear: readonly string[] };
  readonly claims: { readonly take: readonly Claim[]; readonly free: readonly Omit<Claim, 'limit'>[] };
  /** Last handled send per sending actor; null for an actor whose sends can no longer come again. */
  readonly seen: Readonly<Record<ActorId, string | null>>;
  readonly journal: readonly JournalEntry[];
  /** Written even if another server of the store has opened the term: a new leader completes that store. */
  readonly overwrites?: boolean;
}

/** One transition, for users: kept in a capped list per cell. */
export interface JournalEntry {
  readonly actor: ActorId;
  readonly at: number;
  readonly event: string;
  readonly from: Json;
  readonly to: Json;
  readonly note?: string;
  /** For an address: the version of its chart, the event without type and time, and the context before it as far as it differs from a new one. Absent where they were too
   *  long to be kept. */
  readonly chart?: number;
  readonly data?: Json;
  readonly was?: Json;
}

export type SaveResult =
  | { readonly kind: 'saved' }
  /** Another process wrote since, or leads with a higher term. This process must load again. */
  | { readonly kind: 'stale'; readonly what: 'version' | 'term' }
  /** The store was emptied, went back in time, or is another server than the one that opened the term: what was acknowledged to us may not be there. */
  | { readonly kind: 'lost' }
  /** Nothing was written: these nodes are taken. */
  | { readonly kind: 'claimsFull'; readonly nodes: readonly string[] };

/** All that is stored of one cell. */
export interface StoredCell {
  readonly records: Readonly<Record<ActorId, ActorRecord>>;
  readonly outbox: readonly Command[];
  readonly seen: Readonly<Record<ActorId, string>>;
}

/** Names of possible problems with a store, used as metric labels. */
export const STORE_FAULTS = [
  'OldVersion',
  'EvictingPolicy',
  'UnknownPolicy',
  'NoAppendOnlyFile',
  'AcknowledgesAlone',
  'ForeignValues',
] as const;

export interface StoreFault {
  readonly reason: (typeof STORE_FAULTS)[number];
  /** For users: what is wrong, and what to change. */
  readonly message: string;
  /** No term is opened with it. */
  readonly isFatal: boolean;
}

export interface Fencing {
  readonly commandId: string | null;
  readonly term: number | null;
  /** The term was opened on another server than the one that answers, or on the same one before a restart: later decisions may be missing here. */
  readonly isElsewhere: boolean;
}

/** Where records live. Every method throws `Unreachable` when the store does not answer in time. */
export interface RecordStore {
  /** What is wrong with the configuration of the store now. @throws Unreachable */
  judge(): Promise<readonly StoreFault[]>;
  /** The same check before the store is used. @throws Error with what to change, e.g. an evicting policy; Unreachable */
  check(): Promise<void>;
  /** The term last opened and the identity of the running server; term null when nothing of ours is there. */
  state(): Promise<{ readonly term: number | null; readonly runId: string }>;
  /** Makes `term` the only one that may write. False when a higher one is there already. */
  openTerm(term: number): Promise<boolean>;
  cells(): Promise<readonly ActorId[]>;
  load(cell: ActorId): Promise<StoredCell | null>;
  /** One atomic call. */
  save(write: CellWrite): Promise<SaveResult>;
  /** Forgets a cell: records, outbox, journal. Claims are freed by its last write. False under a stale term. */
  drop(cell: ActorId, term: number): Promise<boolean>;
  /** Replaces all stored claims of a provider with exactly these. False under a stale term. */
  resetClaims(provider: string, claims: readonly Claim[], term: number): Promise<boolean>;
  /** What one actor waits for under `invokeId`, and the open term, read in one call. */
  fence(cell: ActorId, actor: ActorId, invokeId: string): Promise<Fencing>;
  /** The newest transitions of a cell, newest first. */
  journal(cell: ActorId, limit: number): Promise<readonly JournalEntry[]>;
  /** Whether the store ends with this process: what a successor has to know is then written to the status before its effect. Never, when absent. */
  isFleeting?(): boolean;
  close(): Promise<void>;
}
