import type { JobName } from '../machines/jobs.ts';
import type { ActorId, Address, DNSRecord, DNSZone, Family, ObservedAddress, Port, ProviderID } from '../machines/types.ts';
import type { JobDriver } from './ports/job-driver.ts';

// ---------------------------------------------------------------- time

/** Time and timers, so that nothing else in actors/ or machines/ has any. */
export interface Clock {
  /** Wall clock, ms since the epoch. May jump. */
  now(): number;
  /** Monotonic clock, ms; comparable within one process only. */
  monotonic(): number;
  /** Calls `run` once, `ms` from now at the earliest. Answers what cancels it. */
  after(ms: number, run: () => void): () => void;
}

// ---------------------------------------------------------------- records: the state of every actor

/** Data that survives JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What an actor waits for under one invoke id or send id: THE fence. An outcome or a timer with another command id is dropped. */
export interface Waiting {
  readonly commandId: string;
  /** When a timer is due, ms since the epoch; absent for jobs and sends. */
  readonly dueAt?: number;
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
  /** Last handled send per sending actor. */
  readonly seen: Readonly<Record<ActorId, string>>;
  readonly journal: readonly JournalEntry[];
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
  /** The store was emptied, replaced or went back in time: what was acknowledged to us is not there. */
  | { readonly kind: 'lost' }
  /** Nothing was written: these nodes are taken. */
  | { readonly kind: 'claimsFull'; readonly nodes: readonly string[] };

/** All that is stored of one cell. */
export interface StoredCell {
  readonly records: Readonly<Record<ActorId, ActorRecord>>;
  readonly outbox: readonly Command[];
  readonly seen: Readonly<Record<ActorId, string>>;
}

/** Where records live. Every method throws `Unreachable` when the store does not answer in time. */
export interface RecordStore {
  /** Checks that the store may be used and is not going to drop keys. @throws Error with what to change, e.g. an evicting policy. */
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
  fence(cell: ActorId, actor: ActorId, invokeId: string): Promise<{ readonly commandId: string | null; readonly term: number | null }>;
  /** The newest transitions of a cell, newest first. */
  journal(cell: ActorId, limit: number): Promise<readonly JournalEntry[]>;
  /** Whether all of it ends with this process: what a successor has to know then stands in the status before its effect. Never, when absent. */
  isFleeting?(): boolean;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- queues: jobs, outcomes, timers

export interface NewJob {
  /** Never repeats; adding an id that is still kept is a no-op. */
  readonly id: string;
  readonly title: string;
  readonly data: Json;
  readonly delayMs?: number;
  readonly priority?: number;
}

/** A job that this process runs now. */
export interface ActiveJob {
  readonly id: string;
  readonly data: Json;
  /** What the last try of this job left with `keep` or `again`; null at first. */
  readonly progress: Json;
  /** True when an earlier run of this job may have got anywhere before its process died. */
  readonly rerun: boolean;
  /** When it was added, ms since the epoch by the clock of whoever added it. */
  readonly queuedAt: number;
  /** 1 when it is started for the first time, one more with each later start on whatever process. */
  readonly starts: number;
  /** Stores progress at once, durably. */
  keep(progress: Json): Promise<void>;
  /** Monotonic time (ms) at which the lock was last known renewed, and how long it holds, ms. */
  lock(): { readonly renewedAt: number; readonly durationMs: number };
}

export type JobStep = { readonly kind: 'done' } | { readonly kind: 'again'; readonly afterMs: number; readonly progress: Json };

/** A durable queue. A job is one try: a handler that throws ends it as failed, and only its owner's chart tries again. */
export interface JobQueue {
  /** Resolves once stored. Throws `Unreachable`. */
  add(jobs: readonly NewJob[]): Promise<void>;
  /** Best effort; an active job goes on. */
  remove(id: string): Promise<void>;
  /** Whether a job of this id is kept, finished or not. */
  has(id: string): Promise<boolean>;
  /** Progress of a job that is still kept, finished or not; null when it left none or is gone. */
  progressOf(id: string): Promise<Json>;
  /** Starts to run jobs, at most `concurrency` at once. A job whose process died runs again on some consumer. */
  consume(run: (job: ActiveJob) => Promise<JobStep>, concurrency: number): Consumer;
  counts(): Promise<Readonly<Record<'waiting' | 'active' | 'delayed' | 'failed', number>>>;
}

export interface Consumer {
  /** Takes no more jobs and resolves once the running ones ended, at the latest after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface Queues {
  queue(name: string): JobQueue;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- provider: the verbs of an issuer

/** Why a call is made: a failover and its confirmation may use the whole budget between them, the others leave them a reserve. `create` is for the
 *  creation itself, of which a provider allows few; `intend` for the lists before and after it. */
export type Purpose = 'failover' | 'confirm' | 'create' | 'intend' | 'verify' | 'dns' | 'firewall';

/** Asked by the HTTP client after the budget is paid: `read` asks the record store, `assertFresh` runs synchronously just before the send. Both throw `Fenced`. */
export interface Fence {
  read(): Promise<void>;
  assertFresh(): void;
}

/** The object for whose sake a call is made. */
export interface CallOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Call {
  readonly purpose: Purpose;
  /** Absent for reads. */
  readonly fence?: Fence;
  /** Absent when the call is made for many objects or for none. For metrics only. */
  readonly owner?: CallOwner;
}

export interface ListCall extends Call {
  /** The family that is asked for; absent for all. A provider may keep each in a list of its own, that costs calls of its own. */
  readonly family?: Family;
}

/** A provider's handle on an action that goes on after the call returned. */
export type ActionRef = string;

export interface Firewall {
  readonly id: string;
  readonly name: string;
  /** `tcp/80`, sorted. */
  readonly ports: readonly string[];
  readonly nodes: readonly ProviderID[];
  /** True while changes are not applied everywhere. */
  readonly pending: boolean;
  /** Rules that no text of a port says: outbound ones, ranges, other protocols. */
  readonly otherRules: number;
}

/** The verbs of an issuer. Every one may be repeated, ends within the call deadline, and throws `ProviderError` only (or `Fenced` before anything was sent). */
export interface Provider {
  readonly name: string;
  readonly capabilities: {
    readonly addresses: boolean;
    readonly dns: boolean;
    readonly firewalls: boolean;
    readonly ipv6: boolean;
    /** Addresses of one family that one node can hold at most. */
    readonly addressesPerNode: number;
    /** What a node's providerID starts with, e.g. `digitalocean://`. */
    readonly providerIDPrefix: string;
  };
  /** Runs what Jobs of the cluster do in the place of these verbs. */
  readonly jobs?: JobDriver;
  /** What the provider reports now. @throws NotFound */
  findRoutedIP(address: Address, call: Call): Promise<ObservedAddress>;
  /** All addresses of the token, or of one family, complete or an error: a page that failed or came back cut is an error. */
  listRoutedIPs(call: ListCall): Promise<readonly ObservedAddress[]>;
  /** Whether the machine behind a node still exists. */
  findNode(providerID: ProviderID, call: Call): Promise<'present' | 'gone'>;
  /** A new IPv4 address in the region, attached to nothing. NOT idempotent at the provider: callers record an intent first. @throws Invalid when a quota is reached. */
  createRoutedIP(region: string, call: Call): Promise<Address>;
  /** Deletes; an address that is gone counts as deleted. */
  deleteRoutedIP(address: Address, call: Call): Promise<void>;
  /** Points `address` at the node. Resolves when the provider accepted, not when traffic flows: poll findRoutedIP; the ref, when there is one, only hints when to look.
   *  Already there counts as success (null). @throws NotFound | NodeInUse | InProgress | Invalid | … */
  assignRoutedIP(address: Address, providerID: ProviderID, call: Call): Promise<ActionRef | null>;
  /** How an action goes on; `unknown` when the provider does not know it (any more): then only the address itself tells. */
  actionState(address: Address, action: ActionRef, call: Call): Promise<'running' | 'completed' | 'errored' | 'unknown'>;
  /** Detaches. Only ever asked for by a person. */
  unassignRoutedIP(address: Address, call: Call): Promise<void>;
  /** The firewall of that name, or null. */
  findRoutedIPFirewall(name: string, call: Call): Promise<Firewall | null>;
  /** Those of the firewalls that exist, by their names or ids, read by one list of all; complete or an error. */
  listRoutedIPFirewalls(names: readonly string[], call: Call): Promise<readonly Firewall[]>;
  addRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  addRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  deleteRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  deleteRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  /** All records of a zone, complete or an error; `zone` is its name, or its id where the provider has ids. @throws NotFound | Unauthorized | Unsupported */
  listDNSRecords(zone: string, call: Call): Promise<DNSZone>;
  /** A new record, never proxied. NOT idempotent: callers list first. @throws NotFound | Invalid | Conflict when it exists, or a CNAME is in the way */
  createDNSRecord(zone: string, record: Omit<DNSRecord, 'id'>, call: Call): Promise<void>;
  /** Makes the record of that id what is given, never proxied. Repeating it is harmless. @throws NotFound | Invalid | Conflict as for a new record */
  updateDNSRecord(zone: string, record: DNSRecord, call: Call): Promise<void>;
  /** A record that is gone, with its zone or without, counts as deleted. */
  deleteDNSRecord(zone: string, id: string, call: Call): Promise<void>;
}

/** The request budget of one token, shared by all replicas. */
export interface Budget {
  /** Takes `calls` (1 unless given) out of the budget, all or none; as many as the purpose may ever use when that is less. Answers 0 when they may be sent
   *  now, else after how many ms to ask again: those that wait for one purpose are given different times, so that they do not all come back for one
   *  place. Throws `Unreachable`. */
  pay(purpose: Purpose, calls?: number): Promise<number>;
  /** What the provider said of its limit in a reply. */
  observe(limits: { readonly remaining: number; readonly resetAtMs: number }): void;
  /** Nobody sends for `ms`: the provider answered 429. */
  close(ms: number): Promise<void>;
}

/** One of the limits that a budget keeps. */
export interface BudgetWindow {
  /** Calls per minute, calls per hour, creations per minute. */
  readonly window: 'minute' | 'hour' | 'create';
  readonly limit: number;
  /** Calls that could be made now, 0 or more. */
  readonly left: number;
}

/** A budget to look at. */
export interface BudgetReading {
  /** As it stands now; takes nothing. While it is closed nothing is left in any window. @throws Unreachable */
  left(): Promise<readonly BudgetWindow[]>;
}

// ---------------------------------------------------------------- looking on

/** One actor's part in a turn that was saved. */
export interface Transition {
  readonly actor: ActorId;
  readonly chart: string;
  readonly events: readonly string[];
  /** Commands whose outcomes, timers or answers are among the events: each was waited for. */
  readonly consumed: readonly string[];
  readonly before: ActorRecord | null;
  readonly after: ActorRecord | null;
}

/** A turn that was saved. Observers project it; nothing they do flows back. */
export interface SavedTurn {
  readonly cell: ActorId;
  readonly term: number;
  /** When the turn began, ms since the epoch. */
  readonly at: number;
  readonly transitions: readonly Transition[];
}

/** One run of a provider job on this replica. */
export interface JobRun {
  readonly job: JobName;
  /** `success` and `error` were told to the actor and ended the job. `fenced` ended it in silence: its command is not waited for any more.
   *  After the others it runs again: it waits for the provider, for the request budget or a 429, for a store that does not answer, or knows
   *  too little of the leader to send. */
  readonly outcome: 'success' | 'error' | 'fenced' | 'unfinished' | 'rateLimited' | 'unreachable' | 'stale';
  /** From the time it was added to its first start, ms; null for later starts. */
  readonly waitedMs: number | null;
  readonly ranMs: number;
  /** From the time it was added to the end of this run, ms. */
  readonly sinceQueuedMs: number;
}

export interface Observer {
  turnSaved(turn: SavedTurn): void;
  /** This process leads no longer, or starts over: forget what was shown. */
  reset?(): void;
}

/** Looks on at jobs as well, on a replica that does not lead, too. */
export interface JobObserver {
  jobRan(run: JobRun): void;
}

/** Constant message, then fields. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Named places at which a crash is survivable. Tests end the process there; in production nobody listens. */
export type KillPoint = 'beforeWrite' | 'afterWrite' | 'afterDispatch' | 'beforeSend' | 'beforeReplyRead' | 'afterReply';

export type Probe = (point: KillPoint, about: string) => void;
