import { describe, expect, test } from 'vitest';
import { jobName } from '../../../../adapters/kubernetes/jobs/names.ts';
import { runningStatus } from '../../../../simulator/kubernetes/job-pods.ts';
import { at } from '../../../../simulator/kubernetes/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { FOR_EVER_MS, JOB, jobsCluster, nameOf, TOKEN } from './cluster.ts';
import { requestOf } from './support.ts';

describe('Jobs of a class that do not begin', () => {
  test('since they have no Pod say why while that is so, in the words of whoever refuses it, without secrets', async () => {
    let passedMs = 0;
    const { simulator, run, pods } = await jobsCluster({}, { aheadMs: 10_000, monotonic: () => passedMs });
    simulator.jobs.add({ outcome: 'refused', ms: FOR_EVER_MS, message: `exceeded quota: pods=1, and ${TOKEN}` });
    await run();
    const waiting = async () => {
      passedMs += 2_500;
      return run(requestOf(), nameOf());
    };
    await waitFor('it is told', async () => 'waits' in (await waiting()));
    expect(await waiting()).toEqual({
      kind: 'running',
      job: nameOf(),
      waits: {
        reason: 'FailedCreate',
        message: `FailedCreate: Error creating: pods "${jobName(requestOf())}-" is forbidden: exceeded quota: pods=1, and [redacted: token]`,
      },
    });
    // Whoever has another Job in the way hears the same of it.
    expect(await run(requestOf({ action: 'find', attempt: 'other' }))).toMatchObject({ kind: 'busy', waits: { reason: 'FailedCreate' } });
    const job = simulator.store.find({ ...JOB, name: jobName(requestOf()) });
    const metadata = { name: 'late', namespace: 'jobs', labels: job?.metadata.labels ?? {} };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, labels: { ...metadata.labels, 'job-name': jobName(requestOf()) } },
    };
    simulator.store.create({ ...pod, spec: { containers: [{ name: 'platform', image: 'curl:8' }] } });
    expect(pods()).toHaveLength(1);
    expect(await waiting()).toEqual({ kind: 'running', job: nameOf() });
  });

  test.each([
    ['imagePull', { reason: 'ImagePullBackOff', message: 'ImagePullBackOff: Back-off pulling image "curl:8"' }],
    ['unscheduled', { reason: 'Unschedulable', message: 'Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.' }],
  ] as const)('whose Pod does not begin (%s) say so, and no more once it has', async (outcome, waits) => {
    let passedMs = 0;
    const { simulator, run, pods } = await jobsCluster({}, { aheadMs: 10_000, monotonic: () => passedMs });
    simulator.jobs.add({ outcome });
    await run();
    await waitFor('its Pod waits', () => at(pods()[0], 'status', 'phase') === 'Pending');
    passedMs += 2_500;
    expect(await run(requestOf(), nameOf())).toEqual({ kind: 'running', job: nameOf(), waits });
    for (const pod of pods()) {
      const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'jobs', name: pod.metadata.name ?? '' };
      simulator.store.patch(ref, { status: runningStatus(pod) }, { subresource: 'status' });
    }
    passedMs += 2_500;
    expect(await run(requestOf(), nameOf())).toEqual({ kind: 'running', job: nameOf() });
  });

  test('whose Pod is being made say nothing, unless an Event says that it cannot be', async () => {
    let passedMs = 0;
    const { simulator, run, pods } = await jobsCluster({}, { aheadMs: 10_000, monotonic: () => passedMs });
    simulator.jobs.add({ outcome: 'hang' });
    await run();
    await waitFor('its Pod is there', () => at(pods()[0], 'status', 'phase') === 'Running');
    const [pod] = pods();
    const { name = '', uid = '' } = pod?.metadata ?? {};
    const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'jobs', name };
    const creating = { containerStatuses: [{ name: 'platform', state: { waiting: { reason: 'ContainerCreating' } } }] };
    simulator.store.patch(ref, { status: { phase: 'Pending', ...creating } }, { subresource: 'status' });
    passedMs += 2_500;
    expect(await run(requestOf(), nameOf())).toEqual({ kind: 'running', job: nameOf() });
    for (const [reason, second] of [
      ['FailedMount', '01'],
      ['FailedScheduling', '02'],
    ]) {
      simulator.store.create({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `${name}.${second}`, namespace: 'jobs' },
        involvedObject: { kind: 'Pod', namespace: 'jobs', name, uid },
        type: 'Warning',
        reason,
        message: 'configmap "platform" not found',
        lastTimestamp: `2026-11-02T10:00:${second}Z`,
      });
    }
    passedMs += 2_500;
    expect(await run(requestOf(), nameOf())).toMatchObject({
      waits: { reason: 'FailedMount', message: 'FailedMount: configmap "platform" not found' },
    });
  });
});
