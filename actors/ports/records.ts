import type { JobName } from '../../machines/jobs.ts';
import type { ActorId, Finding } from '../../machines/model/types.ts';

// ---------------------------------------------------------------- time

/** Time and timers, so that nothing else in actors/ or machines/ has any. */
export interface Clock {
  /** Wall clock, ms since the epoch. May jump. */
  now(): number;
  /** Monotonic clock, ms; comparable within one process only. */
  monotonic(): number;
  /** Calls `run` once, `ms` from now at the earliest. Answers what cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Null as long as the present turn of the event loop is short; then resolves in a later one. Asked before each piece of a long work, so that neither the Lease nor
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
  /** On which a job was put; absent for timers and sends, and in what was stored before. */
  readonly queue?: string;
  /** What a job waits for that people are to know; absent or null for nothing. */
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
  /** What people read in the job dashboard, e.g. `assign 203.0.113.7 → node-a`. */
  readonly title: string;
  readonly input: Json;
  /** Lower runs first; 1 failover, 5 the rest, 9 housekeeping. */
  readonly priority: number;
  /** The command that this one takes the place of after a restart: its progress is taken over. */
  readonly resumes?: string;
}

export interface TimerCommand {
  readonly kind: 'timer';
  readonly id: string;
  readonly actor: ActorId;
  readonly sendId: string;
  readonly dueAt: number;
  /** How long it is to wait in all, ms; absent in what was stored before. */
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
  /** Last handled send per sending actor; null for one of which no send can come again. */
  readonly seen: Readonly<Record<ActorId, string | null>>;
  readonly journal: readonly JournalEntry[];
  /** It is written also where another server of the store has opened the term: a new leader makes that one complete. */
  readonly overwrites?: boolean;
}

/** One transition, for people: kept in a capped list per cell. */
export interface JournalEntry {
  readonly actor: ActorId;
  readonly at: number;
  readonly event: string;
  readonly from: Json;
  readonly to: Json;
  readonly note?: string;
  /** Of an address: the version of its chart, the event without type and time, and the context before it as far as it differs from a new one. Absent where they
   *  were too long to be kept. */
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

/** Names of what may be wrong with a store: labels of a series. */
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
  /** For people: what is wrong, and what to change. */
  readonly message: string;
  /** No term is opened with it. */
  readonly isFatal: boolean;
}

export interface Fencing {
  readonly commandId: string | null;
  readonly term: number | null;
  /** Another server has opened the term than the one that answers, or the same one before it was started again: what was decided since may not have come here. */
  readonly isElsewhere: boolean;
}

/** Where records live. Every method throws `Unreachable` when the store does not answer in time. */
export interface RecordStore {
  /** What is wrong with the way in which the store is set up now. @throws Unreachable */
  judge(): Promise<readonly StoreFault[]>;
  /** The same, before it is used. @throws Error with what to change, e.g. an evicting policy; Unreachable */
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
  /** Puts exactly these claims in the place of all stored ones of a provider. False under a stale term. */
  resetClaims(provider: string, claims: readonly Claim[], term: number): Promise<boolean>;
  /** What one actor waits for under `invokeId`, and the open term, read in one call. */
  fence(cell: ActorId, actor: ActorId, invokeId: string): Promise<Fencing>;
  /** The newest transitions of a cell, newest first. */
  journal(cell: ActorId, limit: number): Promise<readonly JournalEntry[]>;
  /** Whether all of it ends with this process: what a successor has to know then stands in the status before its effect. Never, when absent. */
  isFleeting?(): boolean;
  close(): Promise<void>;
}
