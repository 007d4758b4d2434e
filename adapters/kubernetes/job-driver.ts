import { ProviderError } from '../../actors/errors.ts';
import type { JobTemplates, SecretRef } from '../../actors/ports/directory.ts';
import type { JobDriver, JobRequest, JobState } from '../../actors/ports/job-driver.ts';
import type { Clock, Fence } from '../../actors/ports.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { Connection } from './connection.ts';
import { JobEnds } from './job-ends.ts';
import { classified, refused } from './job-errors.ts';
import { inputHash, jobName, labelValue, placeOf, subjectLabel } from './job-names.ts';
import { readJob, type SeenJob, type SeenPod } from './job-reading.ts';
import { deadlineMsOf, renderJob } from './job-render.ts';
import { JobWatch } from './job-watch.ts';

export interface JobDriverOptions {
  readonly connection: Connection;
  readonly clock: Clock;
}

/** How long after its deadline a Pod may still be seen that runs no more: the kubelet of a node that is gone does not say so, ms. */
const SLACK_MS = 60_000;

/** Runs Jobs in the cluster by the templates of one class; `secrets` stand in their environment. */
export const kubernetesJobDriver =
  (options: JobDriverOptions) =>
  (templates: JobTemplates, secrets: readonly SecretRef[]): JobDriver =>
    new KubernetesJobs(options, templates, secrets);

class KubernetesJobs implements JobDriver {
  readonly addresses: boolean;
  readonly firewalls: boolean;
  readonly #options: JobDriverOptions;
  readonly #templates: JobTemplates;
  readonly #secrets: readonly SecretRef[];
  readonly #watch: JobWatch;
  readonly #ends: JobEnds;

  constructor(options: JobDriverOptions, templates: JobTemplates, secrets: readonly SecretRef[]) {
    this.#options = options;
    this.#templates = templates;
    this.#secrets = secrets;
    this.addresses = templates.updateRoutedIP !== null;
    this.firewalls = templates.updateFirewall !== null;
    const { namespace, owner } = templates;
    this.#watch = new JobWatch({ ...options, namespace, className: labelValue(owner.name) });
    this.#ends = new JobEnds({ clock: options.clock, watch: this.#watch, namespace });
  }

  run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState> {
    return classified(request, async () => {
      const name = jobName(request);
      if (known !== null && known !== this.#pathOf(name)) return await this.#lookAt(known);
      const seen = (await this.#watch.recentJobs()).get(name);
      if (seen) return await this.#ends.stateOf(seen);
      const jobs = await this.#watch.jobsNow();
      const mine = jobs.get(name);
      if (mine) return await this.#ends.stateOf(mine);
      if (known !== null) return { kind: 'vanished', job: known };
      return (await this.#hindrance(request, jobs, fence)) ?? (await this.#create(request, fence));
    });
  }

  look(request: JobRequest): Promise<JobState | null> {
    return classified(request, async () => {
      const found = (await this.#watch.jobsNow()).get(jobName(request));
      return found ? await this.#ends.stateOf(found) : null;
    });
  }

  async clear(job: string): Promise<void> {
    try {
      await this.#delete(job, { propagationPolicy: 'Background' });
    } catch (error) {
      if (!isNotFound(error)) throw refused(error, `delete Job ${job}`, undefined);
    }
  }

  #pathOf(name: string): string {
    return `${this.#templates.namespace}/${name}`;
  }

  /** A Job that an earlier try created, perhaps where Jobs of the class ran before. */
  async #lookAt(job: string): Promise<JobState> {
    const { namespace, name } = placeOf(job);
    const isHere = namespace === this.#templates.namespace;
    const recent = isHere ? (await this.#watch.recentJobs()).get(name) : undefined;
    const seen = recent ?? (isHere ? (await this.#watch.jobsNow()).get(name) : await this.#get(job));
    return seen ? await this.#ends.stateOf(seen, namespace) : { kind: 'vanished', job };
  }

  async #get(job: string): Promise<SeenJob | undefined> {
    try {
      return readJob(await this.#options.connection.send({ method: 'GET', path: jobPath(job) }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** What has to end before the Job may be created; null for nothing. Jobs about the same that have ended, and of which nobody wants to hear, go. */
  async #hindrance(request: JobRequest, jobs: ReadonlyMap<string, SeenJob>, fence: Fence): Promise<JobState | null> {
    const { purpose } = request;
    const subject = subjectLabel(request.subject);
    const about = [...jobs.values()].filter((job) => job.subject === subject && job.purpose === purpose);
    const alive = about.filter(({ end }) => end === null);
    for (const job of alive) if (isOutdated(job, request)) await this.#abort(job, fence);
    const [first] = alive;
    if (first) return { kind: 'busy', job: `Job ${this.#pathOf(first.name)}` };
    const pod = (await this.#watch.podsAbout({ subject, purpose })).find((each) => this.#isAlive(each, request));
    if (pod) return { kind: 'busy', job: `Pod ${this.#pathOf(pod.name)}` };
    for (const job of about) if (job.action !== 'create' && !job.deleting) await this.#sweep(job);
    return null;
  }

  /** What it says of its end is not to be believed for ever: the node may be gone. */
  #isAlive({ ended, goneBy, createdAt }: SeenPod, request: JobRequest): boolean {
    if (ended) return false;
    return this.#options.clock.now() < (goneBy ?? createdAt + deadlineMsOf(this.#templateOf(request))) + SLACK_MS;
  }

  /** A Job that takes away what may be wanted by now ends before anything else is done. */
  async #abort({ name, uid, deleting }: SeenJob, fence: Fence): Promise<void> {
    if (deleting) return;
    await fence.read();
    fence.assertFresh();
    await this.#delete(this.#pathOf(name), { propagationPolicy: 'Foreground', preconditions: { uid } }).catch(unlessGone);
  }

  async #sweep({ name, uid }: SeenJob): Promise<void> {
    await this.#delete(this.#pathOf(name), { propagationPolicy: 'Background', preconditions: { uid } }).catch(unlessGone);
  }

  async #delete(
    job: string,
    options: { readonly propagationPolicy: string; readonly preconditions?: { readonly uid: string } },
  ): Promise<void> {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...options };
    await this.#options.connection.send({ method: 'DELETE', path: jobPath(job), body });
  }

  #templateOf({ purpose, action }: JobRequest): unknown {
    const template = this.#templates[purpose];
    if (template === null)
      throw new ProviderError('Unsupported', `${action}: class ${this.#templates.owner.name} has no template ${purpose}`);
    return template;
  }

  async #create(request: JobRequest, fence: Fence): Promise<JobState> {
    const { namespace } = this.#templates;
    const template = this.#templateOf(request);
    await fence.read();
    const body = renderJob({ templates: this.#templates, template, secrets: this.#secrets, request, now: this.#options.clock.now() });
    const job = this.#pathOf(jobName(request));
    fence.assertFresh();
    try {
      await this.#options.connection.send({
        method: 'POST',
        path: `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`,
        body,
      });
    } catch (error) {
      // An earlier run of the same try has created it: its answer was lost.
      if (!isConflict(error)) throw error;
      return await this.#lookAt(job);
    }
    return { kind: 'running', job };
  }
}

const jobPath = (job: string): string => {
  const { namespace, name } = placeOf(job);
  return `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs/${encodeURIComponent(name)}`;
};

/** It prunes by what was wanted once. */
const isOutdated = (job: SeenJob, request: JobRequest): boolean => job.action === 'prune' && job.inputHash !== inputHash(request);

/** Another one bears the name by now, or none: it is gone. */
const unlessGone = (error: unknown): void => {
  if (!isNotFound(error) && !isConflict(error)) throw error;
};
