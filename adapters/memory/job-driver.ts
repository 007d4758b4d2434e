import { ProviderError } from '../../actors/ports/errors.ts';
import type { Fence } from '../../actors/ports/fence.ts';
import type { JobDriver, JobMessage, JobRequest, JobState } from '../../actors/ports/job-driver.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { MemoryPlatform } from './job-platform.ts';
import { type Duration, durationOf } from './random.ts';

/** How a Job scripted by a test behaves. Without a script it performs its request, and reports so. */
export type JobScript =
  /** The container exits with this code; with 0 after performing its request. `says` replaces its message. */
  | { readonly kind: 'exit'; readonly code: number; readonly says?: JobMessage; readonly afterMs?: number }
  /** Its container is killed, e.g. when out of memory; `does`: after performing its request. */
  | { readonly kind: 'killed'; readonly does: boolean; readonly afterMs?: number }
  /** It exits with 0, and nothing was done. */
  | { readonly kind: 'pretend'; readonly says: JobMessage }
  /** No container starts, and Kubernetes says why; after `forMs` it behaves as without a script, without `forMs` never. */
  | { readonly kind: 'stuck'; readonly reason?: string; readonly why: string; readonly forMs?: number }
  /** It runs until its deadline; `does`: after performing its request. */
  | { readonly kind: 'hang'; readonly does?: boolean };

/** The platform that Jobs work on. */
export interface JobPlatform {
  /** Performs the request of a Job, like a correct template. Null when the address does not exist. @throws ProviderError */
  carryOut(request: JobRequest): JobMessage | null | Promise<JobMessage | null>;
}

export interface MemoryJob {
  readonly name: string;
  readonly request: JobRequest;
  /** The template it was created from. */
  readonly template: string;
  /** Virtual ms. */
  readonly createdAt: number;
  state: Exclude<JobState, { readonly kind: 'busy' }>;
  /** It no longer exists. */
  gone: boolean;
}

export interface MemoryJobsOptions {
  /** How long a Job takes to perform its request, ms. */
  readonly takesMs?: number;
  /** How much later its end is observed, ms. Default 0. */
  readonly tellsMs?: Duration;
  readonly deadlineMs?: number;
  /** Position of each duration in its range: 0 ≤ n < 1. Default: its start. */
  readonly random?: () => number;
}

const nameOf = ({ subject, purpose, action, epoch, attempt }: JobRequest): string =>
  `jobs/${[purpose, action, subject, epoch, attempt].join('+')}`;

const hasMade = ({ state }: MemoryJob, address: string): boolean => state.kind === 'succeeded' && state.message.address === address;

/** The Jobs of a cluster in memory, and the platform behind them. */
export class MemoryJobs<Platform extends JobPlatform = MemoryPlatform> {
  readonly platform: Platform;
  /** All Jobs ever created, oldest first. */
  readonly created: MemoryJob[] = [];
  /** Jobs created while another one about the same subject was alive. There must be none. */
  readonly overlaps: string[] = [];
  /** Why requests about Jobs are refused now; null when they are not. */
  refused: Error | null = null;
  /** The template of Jobs created from now on. */
  template = 'first';
  readonly #clock: Clock;
  readonly #options: Required<MemoryJobsOptions>;
  readonly #scripts: { readonly action: JobRequest['action']; readonly script: JobScript }[] = [];
  #isMended = false;

  constructor(clock: Clock, options: MemoryJobsOptions = {}, platform?: Platform) {
    this.platform = platform ?? (new MemoryPlatform() as JobPlatform as Platform);
    this.#clock = clock;
    this.#options = { takesMs: 2_000, tellsMs: 0, deadlineMs: 300_000, random: () => 0, ...options };
  }

  /** The next Job of this action follows the script. */
  script(action: JobRequest['action'], script: JobScript): void {
    this.#scripts.push({ action, script });
  }

  /** The template is correct from now on: Jobs that end, succeed. */
  mend(): void {
    this.#scripts.length = 0;
    this.#isMended = true;
  }

  /** Deletes the running Jobs of this action with their Pods, as a user may; what they have not done yet is never done. A create Job remains as vanished. */
  remove(action: JobRequest['action']): number {
    const running = this.present.filter(({ request, state }) => request.action === action && state.kind === 'running');
    for (const job of running) {
      job.state = { kind: 'vanished', job: job.name };
      job.gone = action !== 'create';
    }
    return running.length;
  }

  /** The actions of all created Jobs, oldest first. */
  get actions(): readonly string[] {
    return this.created.map(({ request }) => request.action);
  }

  /** The Jobs that still exist. */
  get present(): readonly MemoryJob[] {
    return this.created.filter(({ gone }) => !gone);
  }

  driver({ addresses = true, firewalls = true }: Partial<Pick<JobDriver, 'addresses' | 'firewalls'>> = {}): JobDriver {
    return {
      addresses,
      firewalls,
      run: (request, known, fence) => this.#run(request, known, fence),
      look: async (request) => this.#find(nameOf(request))?.state ?? null,
      clear: async (name) => {
        const found = this.#find(name);
        if (found) found.gone = true;
      },
      conclude: async (subject, address) => {
        const made = this.present.filter(
          (job) =>
            job.request.action === 'create' &&
            job.state.kind !== 'running' &&
            job.request.subject === subject &&
            (address === undefined || hasMade(job, address)),
        );
        for (const job of made) job.gone = true;
      },
    };
  }

  #find(name: string): MemoryJob | undefined {
    return this.present.find((job) => job.name === name);
  }

  async #run(request: JobRequest, known: string | null, fence: Fence): Promise<JobState> {
    if (this.refused) throw this.refused;
    const name = known ?? nameOf(request);
    const found = this.#find(name);
    if (found) return found.state;
    if (known !== null) return { kind: 'vanished', job: known };
    const other = this.#aliveAbout(request);
    // A prune Job may be outdated: any other request stops it.
    if (other?.request.action === 'prune') other.gone = true;
    if (other) return { ...other.state, kind: 'busy', job: `Job ${other.name}` };
    await fence.read();
    fence.assertFresh();
    for (const job of this.#endedAbout(request)) job.gone = true;
    return this.#create(name, request).state;
  }

  #aliveAbout({ subject, purpose, env: { ROUTEDIP_ADDRESS: address } }: JobRequest): MemoryJob | undefined {
    const isAbout = ({ request }: MemoryJob): boolean =>
      request.subject === subject || (Boolean(address) && request.env.ROUTEDIP_ADDRESS === address);
    return this.present.find((job) => job.state.kind === 'running' && job.request.purpose === purpose && isAbout(job));
  }

  #endedAbout({ subject, purpose, action, env }: JobRequest): readonly MemoryJob[] {
    const isHeard = (job: MemoryJob): boolean =>
      job.request.action === 'create'
        ? action !== 'delete' && hasMade(job, env.ROUTEDIP_ADDRESS ?? '')
        : job.request.env.ROUTEDIP_ADDRESS === env.ROUTEDIP_ADDRESS;
    return this.present.filter((job) => job.request.subject === subject && job.request.purpose === purpose && isHeard(job));
  }

  #create(name: string, request: JobRequest): MemoryJob {
    const other = this.#aliveAbout(request);
    if (other) this.overlaps.push(`${name} beside ${other.name}`);
    const job: MemoryJob = {
      name,
      request,
      template: this.template,
      createdAt: this.#clock.monotonic(),
      state: { kind: 'running', job: name },
      gone: false,
    };
    this.created.push(job);
    this.#go(job);
    return job;
  }

  #go(job: MemoryJob): void {
    const { request } = job;
    const index = this.#scripts.findIndex(({ action }) => action === request.action);
    const script: JobScript = index < 0 ? { kind: 'exit', code: 0 } : (this.#scripts.splice(index, 1)[0]?.script ?? { kind: 'hang' });
    this.#carryOut(job, script);
  }

  #carryOut(job: MemoryJob, script: JobScript): void {
    const { name, request } = job;
    const isAlive = (): boolean => job.state.kind === 'running' && !job.gone;
    const failed = (exitCode: number | null, text: string, ran = true): MemoryJob['state'] => ({
      ...{ kind: 'failed', job: name, exitCode, ran },
      text: `Job ${name} ${text}`,
    });
    const end = (ms: number, state: MemoryJob['state']): void => {
      if (ms === 0 && isAlive()) job.state = state;
      else
        this.#clock.after(ms, () => {
          if (isAlive()) job.state = state;
        });
    };
    const { takesMs, deadlineMs, tellsMs, random } = this.#options;
    switch (script.kind) {
      case 'stuck':
        job.state = { kind: 'running', job: name, waits: { reason: script.reason ?? 'Unschedulable', message: script.why } };
        if (script.forMs !== undefined) {
          this.#clock.after(script.forMs, () => {
            if (!isAlive()) return;
            job.state = { kind: 'running', job: name };
            this.#carryOut(job, { kind: 'exit', code: 0 });
          });
          return;
        }
        end(deadlineMs, failed(null, `failed: DeadlineExceeded; its Pod waited: ${script.why}`, false));
        return;
      case 'hang':
        if (script.does) this.#clock.after(takesMs, () => isAlive() && this.#does(request, () => undefined));
        end(deadlineMs, failed(null, 'failed: DeadlineExceeded'));
        return;
      case 'killed':
        this.#clock.after(script.afterMs ?? takesMs, () => {
          if (!isAlive()) return;
          if (script.does) this.#does(request, () => undefined);
          end(durationOf(tellsMs, random), failed(null, 'ended with exit code 137'));
        });
        return;
      case 'pretend':
        end(takesMs, { kind: 'succeeded', job: name, message: script.says });
        return;
      case 'exit':
        end(deadlineMs, failed(null, 'failed: DeadlineExceeded'));
        this.#clock.after(script.afterMs ?? takesMs, () => {
          const { code, says } = script;
          if (!isAlive()) return;
          if (code !== 0 && !this.#isMended) {
            job.state = failed(code, `ended with exit code ${code}${says?.message ? `: ${says.message}` : ''}`);
            return;
          }
          this.#does(request, (done) => {
            const ms = durationOf(tellsMs, random);
            if (done instanceof ProviderError) end(ms, failed(exitOf(done), `ended with exit code ${exitOf(done)}: ${done.message}`));
            else if (done) end(ms, { kind: 'succeeded', job: name, message: says ?? done });
            else end(ms, failed(65, 'ended with exit code 65: there is no such address'));
          });
        });
    }
  }

  /** Performs the request, whatever happens to the Job meanwhile. */
  #does(request: JobRequest, told: (done: JobMessage | null | ProviderError) => void): void {
    const threw = (error: unknown): void => {
      if (!(error instanceof ProviderError)) throw error;
      told(error);
    };
    try {
      const done = this.platform.carryOut(request);
      if (done instanceof Promise) done.then(told, threw);
      else told(done);
    } catch (error) {
      threw(error);
    }
  }
}

/** The exit code of a template for an error of its platform. */
const exitOf = ({ kind }: ProviderError): number => (kind === 'Invalid' ? 65 : kind === 'Unauthorized' ? 77 : 75);
