import type { Clock } from '../../../actors/ports/records.ts';
import type { Finding } from '../../../machines/model/types.ts';
import { listAll } from '../cache/pages.ts';
import type { Connection } from '../client/connection.ts';
import { LABELS } from './names.ts';
import { type Hide, readEvent, readJob, readPod, type SeenJob, type SeenPod } from './reading.ts';

export interface JobWatchOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly namespace: string;
  /** Value of the class label. */
  readonly className: string;
  readonly hide: Hide;
}

/** Maximum age of a cached list of Jobs, ms. */
const FRESH_MS = 450;
/** Maximum age of the cached Pods while a Job has not started, ms. */
const PODS_FRESH_MS = 2_000;

interface Cached<T> {
  readonly begunAt: number;
  readonly result: Promise<ReadonlyMap<string, T>>;
}

/** The Jobs of one class and their Pods. Lists of Jobs are shared, about two a second however many jobs read them. */
export class JobWatch {
  readonly #options: JobWatchOptions;
  #jobs: Cached<SeenJob> | null = null;
  #pods: Cached<SeenPod> | null = null;

  constructor(options: JobWatchOptions) {
    this.#options = options;
  }

  /** All Jobs of the class by name, at most slightly stale. @throws ServerUnreachable | ApiError */
  recentJobs(): Promise<ReadonlyMap<string, SeenJob>> {
    if (!this.#isFresh(this.#jobs, FRESH_MS)) return this.jobsNow();
    return this.#jobs.result;
  }

  /** All Jobs of the class as of the call, or later. @throws ServerUnreachable | ApiError */
  jobsNow(): Promise<ReadonlyMap<string, SeenJob>> {
    const { namespace, className, hide } = this.#options;
    const path = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`;
    const listed = this.#begun(this.#list(path, `${LABELS.class}=${className}`, (object) => readJob(object, hide)));
    this.#jobs = listed;
    listed.result.catch(() => {
      if (this.#jobs === listed) this.#jobs = null;
    });
    return listed.result;
  }

  /** Pods of Jobs of the class as of `at` or later, at most slightly stale; `at` is on the monotonic clock. @throws ServerUnreachable | ApiError */
  async recentPods(): Promise<{ readonly at: number; readonly pods: readonly SeenPod[] }> {
    const listed = this.#isFresh(this.#pods, PODS_FRESH_MS)
      ? this.#pods
      : this.#begun(this.#listPods(`${LABELS.class}=${this.#options.className}`));
    this.#pods = listed;
    listed.result.catch(() => {
      if (this.#pods === listed) this.#pods = null;
    });
    return { at: listed.begunAt, pods: [...(await listed.result).values()] };
  }

  /** The current Pods of one Job, newest first. @throws ServerUnreachable | ApiError */
  async podsOf(job: string): Promise<readonly SeenPod[]> {
    const pods = await this.#listPods(`job-name=${job}`);
    return [...pods.values()].sort((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? 1 : -1));
  }

  /** Pods of all Jobs about one subject and purpose, including deleted Jobs. @throws ServerUnreachable | ApiError */
  async podsAbout({ subject, purpose }: Pick<SeenJob, 'subject' | 'purpose'>): Promise<readonly SeenPod[]> {
    return [...(await this.#listPods(`${LABELS.subject}=${subject},${LABELS.purpose}=${purpose}`)).values()];
  }

  /** The latest warning Event about a Job or a Pod; null for none. FailedScheduling is ignored: it may be outdated, and the Pod's status shows it
   *  while it lasts. @throws ServerUnreachable | ApiError */
  async warningAbout(uid: string): Promise<Finding | null> {
    const path = `/api/v1/namespaces/${encodeURIComponent(this.#options.namespace)}/events`;
    const fieldSelector = `involvedObject.uid=${uid},type=Warning,reason!=FailedScheduling`;
    const events: ReturnType<typeof readEvent>[] = [];
    await listAll(this.#options.connection, { path, labelSelector: '', fieldSelector }, (object) => {
      events.push(readEvent(object, this.#options.hide));
      return null;
    });
    return events.sort((a, b) => b.at - a.at)[0]?.finding ?? null;
  }

  #listPods(labelSelector: string): Promise<ReadonlyMap<string, SeenPod>> {
    const { namespace, hide } = this.#options;
    return this.#list(`/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, labelSelector, (object) => readPod(object, hide));
  }

  async #list<T extends { readonly name: string }>(
    path: string,
    labelSelector: string,
    read: (object: unknown) => T,
  ): Promise<ReadonlyMap<string, T>> {
    const found = new Map<string, T>();
    await listAll(this.#options.connection, { path, labelSelector }, (object) => {
      const seen = read(object);
      found.set(seen.name, seen);
      return null;
    });
    return found;
  }

  #begun<T>(result: Promise<ReadonlyMap<string, T>>): Cached<T> {
    return { begunAt: this.#options.clock.monotonic(), result };
  }

  #isFresh<T>(cached: Cached<T> | null, maxMs: number): cached is Cached<T> {
    return cached !== null && this.#options.clock.monotonic() - cached.begunAt <= maxMs;
  }
}
