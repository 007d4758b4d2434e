import { randomBytes } from 'node:crypto';
import type { Api } from './api.ts';
import { endedStatus, podOf, pullingStatus, refusedEvent, runningStatus, unscheduledStatus } from './job-pods.ts';
import type { JobScript, JobScripts } from './job-scripts.ts';
import { at, type JsonObject, type KubeObject, timestamp } from './objects.ts';
import type { Resource } from './resource.ts';

interface JobsOptions {
  scripts: JobScripts;
  log: (line: string) => void;
}

const NODE = 'simulated';
const DEFAULT_MS = 100;

const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Controller and kubelet of Jobs, once there are scripts for them: makes a Pod for each, lets it go as its script says, ends Jobs by their outcome or deadline,
 *  and deletes those that ended when their time is over. */
export class JobController {
  readonly #api: Api;
  readonly #options: JobsOptions;
  readonly #jobs: Resource;
  readonly #pods: Resource;
  readonly #events: Resource;
  /** By the uid of the Job. */
  readonly #begun = new Set<string>();
  /** By the uid of the Job: how long its Pods go on after they were deleted, ms. */
  readonly #lingers = new Map<string, number>();

  constructor(api: Api, options: JobsOptions) {
    const jobs = api.registry.find('batch/v1', 'jobs');
    const pods = api.registry.find('v1', 'pods');
    const events = api.registry.find('v1', 'events');
    if (!jobs || !pods || !events) throw new Error('jobs, pods and events are not served');
    this.#api = api;
    this.#options = options;
    this.#jobs = jobs;
    this.#pods = pods;
    this.#events = events;
  }

  start(): void {
    this.#api.onChange((resource, object, gone) => {
      if (gone || !this.#options.scripts.used) return;
      if (resource.storage === this.#jobs.storage) this.#take(object);
      if (resource.storage === this.#pods.storage && object.metadata.deletionTimestamp !== undefined) this.#stop(object);
    });
  }

  #take(job: KubeObject): void {
    const uid = job.metadata.uid ?? '';
    if (this.#begun.has(uid) || job.metadata.deletionTimestamp !== undefined) return;
    this.#begun.add(uid);
    this.#after(0, () => this.#begin(job));
  }

  #begin(job: KubeObject): void {
    if (!this.#isThere(job)) return;
    this.#status(job, { startTime: timestamp(Date.now()), active: 1 });
    const seconds = number(at(job, 'spec', 'activeDeadlineSeconds'));
    if (seconds !== undefined) this.#after(seconds * 1000, () => this.#miss(job));
    this.#run(job, 0);
  }

  /** `failures` Pods of the Job have failed before. */
  #run(job: KubeObject, failures: number): void {
    const script = this.#options.scripts.take(job);
    if (script.outcome === 'refused') {
      this.#refuse(job, script, failures);
      return;
    }
    this.#lingers.set(job.metadata.uid ?? '', script.lingerMs ?? 0);
    const node = script.outcome === 'unscheduled' ? null : NODE;
    const { namespace } = job.metadata;
    const pod = this.#api.create(this.#pods, namespace, podOf(job, `${job.metadata.name}-${randomBytes(3).toString('hex')}`, node));
    if (script.outcome === 'unscheduled') this.#podStatus(pod, unscheduledStatus());
    else if (script.outcome === 'imagePull') this.#podStatus(pod, pullingStatus(pod));
    else this.#podStatus(pod, runningStatus(pod));
    const { ms = DEFAULT_MS } = script;
    if (script.outcome === 'exit') this.#after(ms, () => this.#exit(job, pod, script, failures));
    if (script.outcome === 'deleted') {
      this.#after(
        ms,
        () => this.#isThere(job) && this.#api.remove(this.#jobs, namespace, job.metadata.name ?? '', { propagationPolicy: 'Background' }),
      );
    }
  }

  #refuse(job: KubeObject, { ms = DEFAULT_MS, message = '' }: JobScript, failures: number): void {
    this.#api.create(this.#events, job.metadata.namespace, refusedEvent(job, message));
    this.#after(ms, () => this.#isLive(job) && this.#run(job, failures));
  }

  #exit(job: KubeObject, pod: KubeObject, { exitCode = 0, message = '' }: JobScript, failures: number): void {
    const seen = this.#find(this.#pods, pod);
    if (!seen) return;
    this.#podStatus(seen, endedStatus(seen, exitCode, message));
    if (!this.#isLive(job)) return;
    if (exitCode === 0) this.#end(job, { succeeded: 1, completionTime: timestamp(Date.now()) }, condition('Complete', '', ''));
    else if (failures < (number(at(job, 'spec', 'backoffLimit')) ?? 6)) this.#run(job, failures + 1);
    else {
      const why = condition('Failed', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit');
      this.#end(job, { failed: failures + 1 }, why);
    }
  }

  /** The deadline has passed: its Pods go. */
  #miss(job: KubeObject): void {
    if (!this.#isLive(job)) return;
    for (const pod of this.#podsOf(job)) this.#api.remove(this.#pods, pod.metadata.namespace, pod.metadata.name ?? '');
    this.#end(job, { failed: 1 }, condition('Failed', 'DeadlineExceeded', 'Job was active longer than specified deadline'));
  }

  #end(job: KubeObject, counts: JsonObject, why: JsonObject): void {
    this.#status(job, { active: null, ...counts, conditions: [why] });
    const seconds = number(at(job, 'spec', 'ttlSecondsAfterFinished'));
    const { namespace, name = '' } = job.metadata;
    if (seconds === undefined) return;
    this.#after(
      seconds * 1000,
      () => this.#isThere(job) && this.#api.remove(this.#jobs, namespace, name, { propagationPolicy: 'Background' }),
    );
  }

  /** As the kubelet does, once its containers have stopped. */
  #stop(pod: KubeObject): void {
    const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'Job');
    if (!owner || !this.#begun.has(owner.uid) || pod.metadata.deletionGracePeriodSeconds === 0) return;
    this.#after(this.#lingers.get(owner.uid) ?? 0, () => {
      if (!this.#find(this.#pods, pod)) return;
      this.#api.remove(this.#pods, pod.metadata.namespace, pod.metadata.name ?? '', { gracePeriodSeconds: 0 });
    });
  }

  #podsOf(job: KubeObject): KubeObject[] {
    const { entries } = this.#api.store.list(this.#pods.storage);
    return entries
      .map(({ object }) => object)
      .filter(
        ({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === job.metadata.uid) && metadata.deletionTimestamp === undefined,
      );
  }

  #find(resource: Resource, { metadata }: KubeObject): KubeObject | undefined {
    const found = this.#api.store.get(resource.storage, `${metadata.namespace}/${metadata.name}`)?.object;
    return found?.metadata.uid === metadata.uid ? found : undefined;
  }

  #isThere(job: KubeObject): boolean {
    return this.#find(this.#jobs, job) !== undefined;
  }

  /** It is there and has not ended. */
  #isLive(job: KubeObject): boolean {
    const found = this.#find(this.#jobs, job);
    return found !== undefined && at(found, 'status', 'conditions') === undefined;
  }

  #status(job: KubeObject, status: JsonObject): void {
    const { namespace, name = '' } = job.metadata;
    this.#api.patch(this.#jobs, namespace, name, { type: 'application/merge-patch+json', body: { status } }, { subresource: 'status' });
  }

  #podStatus({ metadata }: KubeObject, status: JsonObject): void {
    const body = { type: 'application/merge-patch+json', body: { status } };
    this.#api.patch(this.#pods, metadata.namespace, metadata.name ?? '', body, { subresource: 'status' });
  }

  /** A client sees the reply to its own request before the consequences. */
  #after(ms: number, work: () => unknown): void {
    setTimeout(() => {
      try {
        work();
      } catch (error) {
        this.#options.log(`job controller: ${error instanceof Error ? error.message : String(error)}`);
      }
    }, ms).unref();
  }
}

const condition = (type: string, reason: string, message: string): JsonObject => ({
  type,
  status: 'True',
  ...(reason === '' ? {} : { reason, message }),
  lastTransitionTime: timestamp(Date.now()),
});
