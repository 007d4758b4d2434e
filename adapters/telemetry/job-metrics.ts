import type { JobObserver, JobRun, Observer } from '../../actors/ports/observers.ts';
import { Counter, Histogram, type Registry } from './prom-client.ts';

/** The label `outcome` of a run: whether its job was over after it. */
const OUTCOMES: Readonly<Record<JobRun['outcome'], 'success' | 'error' | 'fenced' | 'again'>> = {
  success: 'success',
  error: 'error',
  fenced: 'fenced',
  unfinished: 'again',
  rateLimited: 'again',
  unreachable: 'again',
  stale: 'again',
};

/** Measures the provider jobs that this replica runs: how long they wait, run and take in total, and how often and why they run again. The label is `job_name`,
 *  since Prometheus uses `job` for the scrape target. */
export function jobMetrics(registry: Registry): JobObserver & Required<Pick<Observer, 'jobGivenUp'>> {
  const registers = [registry];
  const wait = new Histogram({
    name: 'routedip_job_wait_seconds',
    help: 'From the time a job was queued to its first start.',
    labelNames: ['job_name'] as const,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers,
  });
  const run = new Histogram({
    name: 'routedip_job_run_duration_seconds',
    help: 'From the start of a run of a job to its end.',
    labelNames: ['job_name', 'outcome'] as const,
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const whole = new Histogram({
    name: 'routedip_job_duration_seconds',
    help: 'From the time a job was queued until its outcome was told.',
    labelNames: ['job_name', 'outcome'] as const,
    buckets: [0.05, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 600],
    registers,
  });
  const retries = new Counter({
    name: 'routedip_job_retries_total',
    help: 'Runs after which a job was to run again, by the reason.',
    labelNames: ['job_name', 'reason'] as const,
    registers,
  });
  const givenUp = new Counter({
    name: 'routedip_jobs_given_up_total',
    help: 'Jobs that are not run any more since the processes that ran them ended: defects.',
    labelNames: ['queue'] as const,
    registers,
  });
  // Initialized to 0: alerts do not see an increase from an absent series.
  for (const queue of ['cloudflare', 'digitalocean', 'job', 'outcomes', 'timers', 'vip']) givenUp.inc({ queue }, 0);
  return {
    jobGivenUp: (queue) => givenUp.inc({ queue }),
    jobRan: ({ job: job_name, outcome, waitedMs, ranMs, sinceQueuedMs }) => {
      if (waitedMs !== null) wait.observe({ job_name }, waitedMs / 1000);
      run.observe({ job_name, outcome: OUTCOMES[outcome] }, ranMs / 1000);
      if (OUTCOMES[outcome] === 'again') retries.inc({ job_name, reason: outcome });
      else if (outcome !== 'fenced') whole.observe({ job_name, outcome }, sinceQueuedMs / 1000);
    },
  };
}
