import type { JobTemplates } from '../../../../actors/ports/directory.ts';
import type { JobRequest, JobState } from '../../../../actors/ports/job-driver.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { kubernetesJobDriver } from '../../../../adapters/kubernetes/jobs/driver.ts';
import { jobName } from '../../../../adapters/kubernetes/jobs/names.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { redaction } from '../../../../adapters/telemetry/redaction.ts';
import { endedStatus } from '../../../../simulator/kubernetes/job-pods.ts';
import type { KubeObject } from '../../../../simulator/kubernetes/objects.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { connected, simulated } from '../support.ts';
import { NO_SECRETS, openFence, requestOf, templatesOf } from './support.ts';

/** What stands in a Secret of the class. */
export const TOKEN = 'dop_v1_5f3e9c';
export const JOB = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'jobs' };

/** Longer than any test: a Pod that goes on until it is ended. */
export const FOR_EVER_MS = 3_600_000;

/** A simulated cluster with the namespace of Jobs, and a driver there, whose clock is ahead of the cluster's, and which waits for the answer to a creation for `creationMs`. */
export async function jobsCluster(
  templates: Partial<JobTemplates> = {},
  { aheadMs = 0, creationMs = PATIENCE_MS, monotonic = systemClock().monotonic } = {},
) {
  const simulator = await simulated();
  simulator.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'jobs' } });
  const real = connected(simulator.kubeconfig());
  const send: Connection['send'] = (request) => real.send(request.method === 'POST' ? { ...request, deadlineMs: creationMs } : request);
  const connection = { ...real, send };
  const clock = { ...systemClock(), now: () => Date.now() + aheadMs, monotonic };
  const driverOf = (change: Partial<JobTemplates> = {}) =>
    kubernetesJobDriver({ connection, clock, hide: redaction([{ text: TOKEN, what: 'token' }]).hide })(
      templatesOf({ ...templates, ...change }),
      NO_SECRETS,
    );
  const driver = driverOf();
  const fence = openFence();
  const run = (request: JobRequest = requestOf(), known: string | null = null) => driver.run(request, known, fence);
  /** Asks until the Job has ended. */
  const ended = async (request: JobRequest = requestOf(), by = driver): Promise<JobState> => {
    let state: JobState | undefined;
    let known: string | null = null;
    await waitFor('the Job ends', async () => {
      state = await by.run(request, known, fence);
      if (state.kind === 'running') known = state.job;
      return state.kind !== 'running' && state.kind !== 'busy';
    });
    if (!state) throw new Error('nothing was answered');
    return state;
  };
  const jobs = () => simulator.store.list('batch/v1', 'Job', { namespace: 'jobs' });
  const pods = () => simulator.store.list('v1', 'Pod', { namespace: 'jobs' });
  const podRef = ({ metadata }: KubeObject) => ({ apiVersion: 'v1', kind: 'Pod', namespace: 'jobs', name: metadata.name ?? '' });
  /** The kubelet is done with them. */
  const endPods = (): void => {
    for (const pod of pods()) simulator.store.delete(podRef(pod), { gracePeriodSeconds: 0 });
  };
  /** The container of the only Pod ends well and says this, and so does the Job. */
  const complete = (message: string): void => {
    for (const pod of pods()) simulator.store.patch(podRef(pod), { status: endedStatus(pod, 0, message) }, { subresource: 'status' });
    const status = { active: null, succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] };
    for (const { metadata } of jobs()) simulator.store.patch({ ...JOB, name: metadata.name ?? '' }, { status }, { subresource: 'status' });
  };
  /** The only Job is past its deadline: its Pods go. */
  const miss = (): void => {
    endPods();
    const conditions = [
      { type: 'Failed', status: 'True', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' },
    ];
    for (const { metadata } of jobs()) {
      const status = { active: null, failed: 1, conditions };
      simulator.store.patch({ ...JOB, name: metadata.name ?? '' }, { status }, { subresource: 'status' });
    }
  };
  const writes = (method: string) => simulator.requests.filter((each) => each.method === method && each.path.includes('/jobs'));
  return { simulator, driver, driverOf, fence, run, ended, jobs, pods, endPods, complete, miss, writes };
}

export const nameOf = (request: JobRequest = requestOf()): string => `jobs/${jobName(request)}`;
