import type { JobPlatform, MemoryJob, MemoryJobs } from '../../adapters/memory/job-driver.ts';

/** What must hold at every moment of Jobs of a class. */
export type JobRule =
  /** What a Job that assigned may have done before it was killed or deleted is found out first. */
  'finds before a Job assigns again';

/** Looks at all Jobs that were created; to be asked once, at the end. */
export class JobRules {
  readonly violations: { readonly rule: JobRule; readonly at: number; readonly text: string }[] = [];
  readonly #jobs: MemoryJobs<JobPlatform>;

  constructor(jobs: MemoryJobs<JobPlatform>) {
    this.#jobs = jobs;
  }

  check(): void {
    const assigns = this.#jobs.created.filter(({ request }) => request.action === 'assign');
    for (const [index, job] of assigns.entries()) {
      const former = assigns.slice(0, index).findLast((each) => each.request.subject === job.request.subject && isSameAddress(each, job));
      if (former && isUnknown(former) && !this.#isFound(former, job))
        this.#note(
          'finds before a Job assigns again',
          job.createdAt,
          `${job.name} was created, and nobody knows what became of ${former.name}`,
        );
    }
  }

  #isFound(former: MemoryJob, job: MemoryJob): boolean {
    return this.#jobs.created.some(
      (each) =>
        each.request.action === 'find' &&
        isSameAddress(each, job) &&
        each.createdAt >= former.createdAt &&
        each.createdAt <= job.createdAt &&
        each.state.kind !== 'running',
    );
  }

  #note(rule: JobRule, at: number, text: string): void {
    this.violations.push({ rule, at, text });
  }
}

const isSameAddress = (a: MemoryJob, b: MemoryJob): boolean => a.request.env.ROUTEDIP_ADDRESS === b.request.env.ROUTEDIP_ADDRESS;

const isUnknown = ({ state }: MemoryJob): boolean =>
  state.kind === 'vanished' || (state.kind === 'failed' && state.exitCode === null && state.ran);
