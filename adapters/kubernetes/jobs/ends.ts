import type { JobMessage, JobState } from '../../../actors/ports/job-driver.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { Finding } from '../../../machines/model/types.ts';
import { isRightMissing, messageOf as textOf } from '../client/api-error.ts';
import type { SeenJob, SeenPod } from './reading.ts';
import type { JobWatch } from './watch.ts';

export interface JobEndsOptions {
  readonly clock: Clock;
  readonly watch: JobWatch;
  readonly namespace: string;
}

/** The last observation of the Pods of a running Job. */
interface Sighting {
  /** By the monotonic clock, ms. */
  readonly at: number;
  readonly started: boolean;
  readonly waits: Finding | null;
}

/** How long a Pod may take to start before its wait reason is looked up, ms. */
const PATIENCE_MS = 5_000;
/** The Pods of a Job are deleted at its deadline. If none had started this shortly before, none did, ms. */
const RECENT_MS = 5_000;
/** How long after its deadline the end of a Job is awaited, ms. */
const OVERDUE_MS = 60_000;

const LONGEST_TEXT = 300;
/** Violations of the standard `restricted` make long messages. */
const LONGEST_WAIT = 800;

/** Wait reasons of a container that is about to start, unless an Event says otherwise. */
const BEGINNING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);
/** Valid condition reasons. */
const REASON = /^[A-Z][A-Za-z0-9]{0,126}$/;

/** How Jobs ended, and why Jobs that did not start did not. */
export class JobEnds {
  readonly #options: JobEndsOptions;
  readonly #sightings = new Map<string, Sighting>();

  constructor(options: JobEndsOptions) {
    this.#options = options;
  }

  /** @throws ServerUnreachable | ApiError */
  async stateOf(job: SeenJob, namespace = this.#options.namespace): Promise<JobState> {
    const name = `${namespace}/${job.name}`;
    if (job.end === null && job.deleting) return leaving(name, await this.#options.watch.podsOf(job.name));
    if (job.end === null) {
      const wait = await this.waitOf(job);
      return this.#isOverdue(job) ? this.#overdue(job, name) : { kind: 'running', job: name, ...wait };
    }
    const pods = await this.#options.watch.podsOf(job.name);
    const sighting = this.#sightings.get(job.uid);
    this.#sightings.delete(job.uid);
    if (job.end.kind === 'succeeded') return { kind: 'succeeded', job: name, message: messageOf(pods) };
    return failed(job, name, pods, this.#isRecent(sighting) ? sighting : null);
  }

  #isRecent(sighting: Sighting | undefined): sighting is Sighting {
    return sighting !== undefined && this.#options.clock.monotonic() - sighting.at <= RECENT_MS;
  }

  /** It may still do something, or start to. */
  isAlive(job: SeenJob): boolean {
    return job.end === null && !job.deleting && !this.#isOverdue(job);
  }

  /** Checks whether a running Job has started, and if not, why. @throws ServerUnreachable | ApiError */
  async waitOf(job: SeenJob): Promise<{ readonly waits: Finding } | null> {
    const { clock, watch } = this.#options;
    const before = this.#sightings.get(job.uid);
    if (clock.now() - job.createdAt <= PATIENCE_MS || before?.started) return null;
    const { at, pods } = await watch.recentPods();
    const own = pods.filter((pod) => pod.job === job.name);
    const started = own.some((pod) => pod.started);
    const waits = before?.at === at || started ? (before?.waits ?? null) : await this.#reasonOf(job, own);
    this.#note(job, { at, started, waits });
    return started || !waits || BEGINNING.has(waits.reason) ? null : { waits };
  }

  /** The wait reason in the Pod's status; otherwise the latest warning Event about the Pod, or about the Job while it has no Pod. */
  async #reasonOf({ uid }: SeenJob, [pod]: readonly SeenPod[]): Promise<Finding | null> {
    const said = pod?.waits ?? null;
    if (said && !BEGINNING.has(said.reason)) return cutOff(said);
    try {
      const warning = await this.#options.watch.warningAbout(pod?.uid ?? uid);
      return warning && REASON.test(warning.reason) ? cutOff(warning) : said;
    } catch (error) {
      if (!isRightMissing(error)) throw error;
      return { reason: 'Forbidden', message: textOf(error) };
    }
  }

  #isOverdue({ createdAt, deadlineMs }: SeenJob): boolean {
    return deadlineMs !== null && this.#options.clock.now() - createdAt > deadlineMs + OVERDUE_MS;
  }

  #note({ uid }: SeenJob, sighting: Sighting): void {
    this.#sightings.set(uid, sighting);
    // The end of a Job may be observed by another process, so old sightings are dropped here.
    for (const [key, { at }] of this.#sightings) if (sighting.at - at > 3_600_000) this.#sightings.delete(key);
  }

  /** The Job controller, which would end the Job, does not run. */
  #overdue({ uid, deadlineMs }: SeenJob, name: string): JobState {
    const waits = this.#sightings.get(uid)?.waits?.message ?? '';
    const text = `Job ${name} has not ended ${(deadlineMs ?? 0) / 1000 + OVERDUE_MS / 1000} s after it was created${waits && `; its Pod waits: ${waits}`}`;
    return { kind: 'failed', job: name, exitCode: null, ran: true, text };
  }
}

const cutOff = ({ reason, message }: Finding): Finding => ({ reason, message: message.slice(0, LONGEST_WAIT) });

/** The Job was deleted, but a finalizer keeps it: only its Pods can still show the outcome. */
const leaving = (name: string, pods: readonly SeenPod[]): JobState => {
  if (pods.some(({ ended }) => !ended)) return { kind: 'running', job: name };
  const exits = pods.flatMap((pod) => pod.exits);
  if (exits.length === 0) return { kind: 'vanished', job: name };
  return exits.every(({ code }) => code === 0)
    ? { kind: 'succeeded', job: name, message: messageOf(pods) }
    : (exited(name, pods) ?? { kind: 'vanished', job: name });
};

/** The message of the Pod that succeeded: of several containers, the first that is not empty. */
const messageOf = (pods: readonly SeenPod[]): JobMessage =>
  pods.flatMap((pod) => pod.exits.map(({ message }) => message)).find((message) => Object.keys(message).length > 0) ?? {};

const failed = (job: SeenJob, name: string, pods: readonly SeenPod[], sighting: Sighting | null): JobState => {
  const why = job.end?.kind === 'failed' ? job.end.text : '';
  // A container that is killed at the deadline has a meaningless exit code.
  const exit = isDeadline(job) ? null : exited(name, pods);
  if (exit) return exit;
  const waits = (pods.find((pod) => pod.waits)?.waits ?? sighting?.waits)?.message ?? '';
  const ran = pods.length > 0 ? pods.some(({ started }) => started) || sighting?.started === true : sighting?.started !== false;
  const text = `Job ${name} failed: ${why || 'it gives no reason'}${!ran && waits !== '' ? `; its Pod waited: ${waits.slice(0, LONGEST_TEXT)}` : ''}`;
  return { kind: 'failed', job: name, exitCode: null, ran, text };
};

const exited = (name: string, pods: readonly SeenPod[]): JobState | null => {
  const exit = pods.flatMap((pod) => pod.exits).find(({ code }) => code !== 0);
  if (!exit) return null;
  const text = `Job ${name} ended with exit code ${exit.code}${exit.said && `: ${exit.said.slice(0, LONGEST_TEXT)}`}`;
  return { kind: 'failed', job: name, exitCode: exit.code > LAST_EXIT ? null : exit.code, ran: true, text };
};

/** A higher exit code means that a signal ended the container or a command of its script, e.g. 137 when out of memory. */
const LAST_EXIT = 128;

const isDeadline = ({ end }: SeenJob): boolean => end?.kind === 'failed' && end.isDeadline;
