import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../adapters/kubernetes/client/api-error.ts';
import { JobEnds } from '../../../../adapters/kubernetes/jobs/ends.ts';
import { classified } from '../../../../adapters/kubernetes/jobs/errors.ts';
import { readJob, readPod } from '../../../../adapters/kubernetes/jobs/reading.ts';
import type { JobWatch } from '../../../../adapters/kubernetes/jobs/watch.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { redaction } from '../../../../adapters/telemetry/redaction.ts';
import { at } from '../../../../simulator/kubernetes/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { FOR_EVER_MS, JOB, jobsCluster, nameOf, TOKEN } from './cluster.ts';
import { requestOf } from './support.ts';

/** Cut off after 300 characters it would be told in half, and not be known any more. */
const LONG = `${'x'.repeat(260)} ${TOKEN}`;

const HALF = TOKEN.slice(0, 8);

/** A Pod that waits, seen once while its Job lives. */
async function waiting(reason: string) {
  let passedMs = 0;
  const cluster = await jobsCluster({}, { aheadMs: 10_000, monotonic: () => passedMs });
  const { simulator, run, pods } = cluster;
  simulator.jobs.add({ outcome: 'hang' });
  await run();
  await waitFor('its Pod is there', () => at(pods()[0], 'status', 'phase') === 'Running');
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'jobs', name: pods()[0]?.metadata.name ?? '' };
  const containerStatuses = [{ name: 'platform', state: { waiting: { reason, message: LONG } } }];
  simulator.store.patch(ref, { status: { phase: 'Pending', containerStatuses } }, { subresource: 'status' });
  passedMs += 2_500;
  return { ...cluster, state: await run(requestOf(), nameOf()), pass: (ms: number) => (passedMs += ms) };
}

describe('a secret of the class is not told', () => {
  test('where the condition of a Job that failed holds it', async () => {
    const { simulator, run, pods, endPods, ended, jobs } = await jobsCluster();
    simulator.jobs.add({ outcome: 'hang', ms: FOR_EVER_MS });
    await run();
    await waitFor('its Pod is there', () => pods().length === 1);
    endPods();
    const conditions = [{ type: 'Failed', status: 'True', reason: 'PodFailurePolicy', message: `container said ${TOKEN}` }];
    for (const { metadata } of jobs())
      simulator.store.patch(
        { ...JOB, name: metadata.name ?? '' },
        { status: { active: null, failed: 1, conditions } },
        { subresource: 'status' },
      );
    expect(await ended()).toMatchObject({ text: `Job ${nameOf()} failed: PodFailurePolicy: container said [redacted: token]` });
  });

  test.each(['CreateContainerConfigError', 'ContainerCreating'])('where a Pod waits (%s) until the deadline of its Job', async (reason) => {
    const { state, miss, pass, ended } = await waiting(reason);
    expect(JSON.stringify(state)).not.toContain(HALF);
    miss();
    pass(1_000);
    const end = await ended();
    expect(end).toMatchObject({ kind: 'failed', text: expect.stringContaining('; its Pod waited: ') });
    expect(JSON.stringify(end)).not.toContain(HALF);
  });

  test('where a Pod that is still there waited when its Job failed', async () => {
    const { hide } = redaction([{ text: TOKEN, what: 'token' }]);
    const containerStatuses = [{ state: { waiting: { reason: 'CreateContainerConfigError', message: LONG } } }];
    const pods = [readPod({ metadata: { name: 'p' }, status: { phase: 'Pending', containerStatuses } }, hide)];
    const job = { metadata: { name: 'j' }, status: { conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }] } };
    const watch = { podsOf: async () => pods } as unknown as JobWatch;
    const end = await new JobEnds({ clock: systemClock(), watch, namespace: 'jobs' }).stateOf(readJob(job, hide));
    expect(end).toMatchObject({ kind: 'failed', text: expect.stringContaining('CreateContainerConfigError') });
    expect(JSON.stringify(end)).not.toContain(HALF);
  });

  test('where the API server refuses the Job and repeats what stands in it', async () => {
    const { hide } = redaction([{ text: TOKEN, what: 'token' }]);
    const refused = classified(requestOf(), hide, () => Promise.reject(new ApiError('Invalid', 422, `Invalid value: "${TOKEN}"`)));
    await expect(refused).rejects.toThrow('updateRoutedIP Job (assign): Invalid value: "[redacted: token]"');
  });
});
