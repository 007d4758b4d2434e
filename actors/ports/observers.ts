import type { JobName } from '../../machines/jobs.ts';
import type { ActorId, ObjectRef } from '../../machines/model/types.ts';
import type { ActorRecord } from './records.ts';

/** The sender of an event. `outside`: the runtime, with what it observed in the cluster or at the provider, or because it begins or resumes an actor. */
export type Sender =
  | { readonly kind: 'actor'; readonly actor: ActorId }
  | { readonly kind: 'job'; readonly invokeId: string }
  | { readonly kind: 'timer' }
  | { readonly kind: 'outside' };

/** One event as an actor received it, with its whole payload. Not a copy: do not change it or keep it beyond the call. */
export interface HeardEvent {
  /** Its position among all events of the turn. */
  readonly order: number;
  readonly event: { readonly type: string; readonly [field: string]: unknown };
  readonly from: Sender;
}

/** One actor's part in a turn that was saved. */
export interface Transition {
  readonly actor: ActorId;
  readonly chart: string;
  /** The types of the events that it received, in order. */
  readonly events: readonly string[];
  /** The same events in full. */
  readonly heard: readonly HeardEvent[];
  /** Commands whose outcomes, timers or answers are among the events: each was waited for. */
  readonly consumed: readonly string[];
  readonly before: ActorRecord | null;
  readonly after: ActorRecord | null;
}

/** A saved turn. Observers project it; nothing they do flows back. */
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
  /** `success` and `error` were reported to the actor and ended the job. `fenced` ended it silently: its command is no longer waited for. After the others it runs again:
   *  it waits for the provider, for the request budget or a 429, for a store that does not answer, or knows too little of the leader to send. */
  readonly outcome: 'success' | 'error' | 'fenced' | 'unfinished' | 'rateLimited' | 'unreachable' | 'stale';
  /** From the time it was added to its first start, ms; null for later starts. */
  readonly waitedMs: number | null;
  readonly ranMs: number;
  /** From the time it was added to the end of this run, ms. */
  readonly sinceQueuedMs: number;
}

/** An event that is not applied, since its handling threw: a defect. */
export interface SetAside {
  readonly actor: ActorId;
  readonly event: string;
  /** For an outcome, a timer, a claim or the answer to one: which actor still waits for which command, and under which key. */
  readonly awaited?: { readonly actor: ActorId; readonly key: string; readonly commandId: string };
}

/** One step of an address on its way to a node, or its end. `served`: it is where it may be. `gone`: it was given up. */
export interface MoveStep {
  readonly step: 'lost' | 'elected' | 'assigned' | 'opened' | 'refused' | 'served' | 'gone';
  readonly actor: ActorId;
  /** When the turn of this step began, ms since the epoch. The turn is saved by now. */
  readonly at: number;
  /** The fields to log. */
  readonly fields: LogFields;
}

export interface Observer {
  turnSaved(turn: SavedTurn): void;
  eventSetAside?(event: SetAside): void;
  /** A job of this queue, or of an account of this cloud, is no longer run: the process that ran it ended time and again. */
  jobGivenUp?(queue: string): void;
  /** This process no longer leads, or starts over: drop what was shown. */
  reset?(): void;
}

/** Observes jobs as well, also on a replica that does not lead. */
export interface JobObserver {
  jobRan(run: JobRun): void;
}

/** Every key of a log line besides `level`, `time` and `msg`, for searches and log-based metrics. docs/operations.md says what each means. */
export const LOG_KEYS = [
  ...(['object', 'objects', 'address', 'from', 'to', 'nodes', 'ports', 'namespace', 'provider'] as const),
  ...(['reason', 'message', 'error', 'stack'] as const),
  ...(['durationMs', 'retryInMs', 'attempt', 'count'] as const),
  ...(['term', 'storedTerm', 'begins', 'records', 'cells', 'holder', 'lease', 'aheadMs', 'runId'] as const),
  ...(['cell', 'actor', 'sender', 'event', 'awaited'] as const),
  ...(['job', 'jobName', 'title', 'queue', 'unknownOutcome'] as const),
  ...(['path', 'labelSelector', 'fieldSelector', 'api', 'url', 'jobsUrl', 'names', 'admission', 'observeOnly', 'signal'] as const),
] as const;

export type LogFields = { readonly [key in (typeof LOG_KEYS)[number]]?: unknown };

/** Constant message, then fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** An object as the log names it: `RoutedIP web/shop`, `IPGroup edge`. */
export const objectName = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace === '' ? name : `${namespace}/${name}`}`;

/** Named points at which a crash is survivable. Tests end the process there; production does nothing. */
export type KillPoint = 'beforeWrite' | 'afterWrite' | 'afterDispatch' | 'beforeSend' | 'beforeReplyRead' | 'afterReply';

export type Probe = (point: KillPoint, about: string) => void;
