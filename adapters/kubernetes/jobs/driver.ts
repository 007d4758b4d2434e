import type { JobTemplates, SecretRef } from '../../../actors/ports/directory.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Fence } from '../../../actors/ports/fence.ts';
import type { JobDriver, JobRequest, JobState } from '../../../actors/ports/job-driver.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { Connection } from '../client/connection.ts';
import { JobEnds } from './ends.ts';
import { classified, refused } from './errors.ts';
import { addressLabel, inputHash, jobName, labelValue, placeOf, subjectLabel } from './names.ts';
import { JobObjects } from './objects.ts';
import type { Hide, SeenJob, SeenPod } from './reading.ts';
import { deadlineMsOf, renderJob } from './render.ts';
import { JobWatch } from './watch.ts';

export interface JobDriverOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly hide: Hide;
}

/** How long after its deadline a Pod still counts as possibly running, ms: the kubelet of a lost node does not report its end. */
const SLACK_MS = 60_000;

/** Runs Jobs in the cluster from the templates of one class; `secrets` are exposed in their environment. */
export const kubernetesJobDriver =
  (options: JobDriverOptions) =>
  (templates: JobTemplates, secrets: readonly SecretRef[]): JobDriver =>
    new KubernetesJobs(options, templates, secrets);

class KubernetesJobs implements JobDriver {
  readonly addresses: boolean;
  readonly firewalls: boolean;
  readonly #clock: Clock;
  readonly #hide: Hide;
  readonly #templates: JobTemplates;
  readonly #secrets: readonly SecretRef[];
  readonly #objects: JobObjects;
  readonly #watch: JobWatch;
  readonly #ends: JobEnds;

  constructor(options: JobDriverOptions, templates: JobTemplates, secrets: readonly SecretRef[]) {
    this.#clock = options.clock;
    this.#hide = options.hide;
    this.#templates = templates;
    this.#secrets = secrets;
    this.addresses = templates.updateRoutedIP !== null;
    this.firewalls = templates.updateFirewall !== null;
    const { namespace, owner } = templates;
    this.#objects = new JobObjects(options.connection, options.hide);
    this.#watch = new JobWatch({ ...options, namespace, className: labelValue(owner.name) });
    this.#ends = new JobEnds({ clock: options.clock, watch: this.#watch, namespace });
  }

  run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState> {
    return classified(request, this.#hide, async () => {
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
    return classified(request, this.#hide, async () => {
      const found = (await this.#watch.jobsNow()).get(jobName(request));
      return found ? await this.#ends.stateOf(found) : null;
    });
  }

  clear(job: string): Promise<void> {
    return this.#clearing(`delete Job ${job}`, async () => {
      const seen = await this.#objects.get(job);
      if (seen) await this.#objects.release(job, seen);
    });
  }

  conclude(subject: string, address?: string): Promise<void> {
    return this.#clearing(`delete Jobs about ${subject}`, async () => {
      const jobs = [...(await this.#watch.jobsNow()).values()];
      const made = jobs.filter((job) => job.action === 'create' && job.subject === subjectLabel(subject) && !this.#ends.isAlive(job));
      for (const job of made)
        if (address === undefined || (await this.#hasMade(job, address))) await this.#objects.release(this.#pathOf(job.name), job);
    });
  }

  async #clearing(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw refused(error, { what, hide: this.#hide });
    }
  }

  #pathOf(name: string): string {
    return `${this.#templates.namespace}/${name}`;
  }

  /** A Job created by an earlier attempt, perhaps in a namespace that the class used before. */
  async #lookAt(job: string): Promise<JobState> {
    const { namespace, name } = placeOf(job);
    const isHere = namespace === this.#templates.namespace;
    const recent = isHere ? (await this.#watch.recentJobs()).get(name) : undefined;
    const seen = recent ?? (isHere ? (await this.#watch.jobsNow()).get(name) : await this.#objects.get(job));
    return seen ? await this.#ends.stateOf(seen, namespace) : { kind: 'vanished', job };
  }

  /** What must end before the Job may be created; null for nothing. Deletes ended Jobs about the same subject whose outcome is no longer needed: the outcome
   *  of a Job about another address, or about none, may still be needed by another actor of the RoutedIP. */
  async #hindrance(request: JobRequest, jobs: ReadonlyMap<string, SeenJob>, fence: Fence): Promise<JobState | null> {
    const { purpose } = request;
    const subject = subjectLabel(request.subject);
    const address = addressLabel(request);
    const all = [...jobs.values()].filter((job) => job.purpose === purpose);
    const about = all.filter((job) => job.subject === subject);
    // A released RoutedIP may have left a Job that still works on its address.
    const alive = all.filter((job) => (about.includes(job) || (address !== '' && job.address === address)) && this.#ends.isAlive(job));
    for (const job of alive) if (isOutdated(job, request)) await this.#abort(job, fence);
    const [first] = alive;
    if (first) return { kind: 'busy', job: `Job ${this.#pathOf(first.name)}`, ...(await this.#ends.waitOf(first)) };
    // A Job that is being deleted may still have running Pods.
    const pod = (await this.#watch.podsAbout({ subject, purpose })).find((each) => this.#mayRun(each, request));
    if (pod) return { kind: 'busy', job: `Pod ${this.#pathOf(pod.name)}` };
    const heard: SeenJob[] = [];
    for (const job of about) if (await this.#isHeard(job, request)) heard.push(job);
    // After a leader change the new leader may still need their outcome: check the fence first.
    if (heard.length > 0) await pass(fence);
    for (const job of heard) await this.#objects.release(this.#pathOf(job.name), job);
    return null;
  }

  /** Whether the outcome of the Job is known. For a created address, only a later request for that same address shows it: a user may have set another one
   *  meanwhile. A delete does not count: the Job may be the only record of the address. */
  async #isHeard(job: SeenJob, request: JobRequest): Promise<boolean> {
    if (job.action !== 'create') return job.address === addressLabel(request);
    return request.action !== 'delete' && (await this.#hasMade(job, request.env.ROUTEDIP_ADDRESS ?? ''));
  }

  async #hasMade(job: SeenJob, address: string): Promise<boolean> {
    if (job.end?.kind !== 'succeeded') return false;
    const state = await this.#ends.stateOf(job);
    return state.kind === 'succeeded' && state.message.address === address;
  }

  /** A Pod does not count as running forever: its node may be gone and never report the end. */
  #mayRun({ ended, goneBy, createdAt }: SeenPod, request: JobRequest): boolean {
    if (ended) return false;
    return this.#clock.now() < (goneBy ?? createdAt + deadlineMsOf(this.#templateOf(request))) + SLACK_MS;
  }

  /** A Job that may remove something that is wanted by now is stopped first. */
  async #abort(job: SeenJob, fence: Fence): Promise<void> {
    await pass(fence);
    await this.#objects.delete(this.#pathOf(job.name), job, 'Foreground');
  }

  #templateOf({ purpose, action }: JobRequest): unknown {
    const template = this.#templates[purpose];
    if (template !== null) return template;
    throw new ProviderError('Unsupported', `${action}: class ${this.#templates.owner.name} has no template ${purpose}`);
  }

  async #create(request: JobRequest, fence: Fence): Promise<JobState> {
    const template = this.#templateOf(request);
    const standard = await this.#objects.standardOf(this.#templates.namespace);
    await fence.read();
    const body = renderJob({ templates: this.#templates, template, secrets: this.#secrets, request, standard, now: this.#clock.now() });
    const job = this.#pathOf(jobName(request));
    fence.assertFresh();
    const isNew = await this.#objects.create(this.#templates.namespace, body);
    // An earlier run of the same attempt created it, but its response was lost.
    return isNew ? { kind: 'running', job } : await this.#lookAt(job);
  }
}

/** @throws Fenced | Unreachable */
async function pass(fence: Fence): Promise<void> {
  await fence.read();
  fence.assertFresh();
}

/** It prunes according to an outdated request. */
const isOutdated = (job: SeenJob, request: JobRequest): boolean => job.action === 'prune' && job.inputHash !== inputHash(request);
