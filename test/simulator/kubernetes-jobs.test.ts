import { describe, expect, test } from 'vitest';
import { at, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Cluster, PODS, startCluster } from './kubernetes-support.ts';

const JOBS = '/apis/batch/v1/namespaces/default/jobs';

const jobObject = (name: string, spec: JsonObject = {}, labels: { [key: string]: string } = {}): JsonObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, labels },
  spec: {
    backoffLimit: 0,
    ...spec,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x:1', env: [{ name: 'WHAT', value: 'moved' }] }] } },
  },
});

const jobOf = (cluster: Cluster, name: string) => cluster.store.find({ apiVersion: 'batch/v1', kind: 'Job', name });
const podsOf = (cluster: Cluster, name: string) => cluster.store.list('v1', 'Pod', { labelSelector: `job-name=${name}` });
const condition = (cluster: Cluster, name: string) => at(jobOf(cluster, name), 'status', 'conditions', 0);

describe('Jobs of the simulated cluster', () => {
  test('stay as they are until there is a script', async () => {
    const cluster = await startCluster();
    await cluster.make(JOBS, jobObject('idle'));
    expect(podsOf(cluster, 'idle')).toEqual([]);
    expect(at(jobOf(cluster, 'idle'), 'status')).toEqual({});
  });

  test('go by the first script whose labels are theirs, as often as it says', async () => {
    const cluster = await startCluster();
    for (const script of [
      { selector: 'act=move', count: 1, exitCode: 3, ms: 0, message: '{"message":"$(WHAT)"}' },
      { selector: 'act=move', ms: 0 },
    ]) {
      expect((await cluster.send('POST', '/_control/jobs', script)).code).toBe(200);
    }
    for (const name of ['one', 'two']) {
      await cluster.make(JOBS, jobObject(name, {}, { act: 'move' }));
      await waitFor('it ends', () => condition(cluster, name) !== undefined);
    }
    expect(condition(cluster, 'one')).toMatchObject({ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' });
    expect(at(podsOf(cluster, 'one')[0], 'status')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 3, message: '{"message":"moved"}' } } }],
    });
    expect(condition(cluster, 'two')).toMatchObject({ type: 'Complete', status: 'True' });
    await cluster.make(JOBS, jobObject('other'));
    await waitFor('its Pod is made', () => podsOf(cluster, 'other').length === 1);
    await waitFor('which nobody schedules', () => at(podsOf(cluster, 'other')[0], 'status', 'conditions', 0, 'reason') === 'Unschedulable');
  });

  test('have no Pod while an admission refuses it, which an Event says, and one when it does no more', async () => {
    const cluster = await startCluster();
    cluster.jobs.add({ outcome: 'refused', ms: 200, count: 1, message: 'violates PodSecurity' });
    cluster.jobs.add({ outcome: 'hang' });
    await cluster.make(JOBS, jobObject('late'));
    const uid = jobOf(cluster, 'late')?.metadata.uid;
    const events = () => cluster.store.list('v1', 'Event', { fieldSelector: `involvedObject.uid=${uid},type=Warning` });
    await waitFor('it is told', () => events().length > 0);
    expect([events()[0]?.reason, events()[0]?.message]).toEqual([
      'FailedCreate',
      'Error creating: pods "late-" is forbidden: violates PodSecurity',
    ]);
    await waitFor('its Pod is made', () => podsOf(cluster, 'late').length === 1);
    expect(events()).toHaveLength(1);
  });

  test('end at their deadline, without their Pods', async () => {
    const cluster = await startCluster();
    cluster.jobs.add({ outcome: 'hang' });
    const watch = await cluster.watch(`${PODS}?watch=1`);
    await cluster.make(JOBS, jobObject('long', { activeDeadlineSeconds: 1 }));
    await waitFor('it ends', () => condition(cluster, 'long') !== undefined);
    expect(condition(cluster, 'long')).toMatchObject({ type: 'Failed', reason: 'DeadlineExceeded' });
    await waitFor('its Pod is gone', () => podsOf(cluster, 'long').length === 0);
    const running = () => watch.events.some(({ object }) => at(object, 'status', 'phase') === 'Running');
    await waitFor('its Pod was seen to run, and to go', () => running() && watch.events.at(-1)?.type === 'DELETED');
  });

  test('are tried as often as they allow', async () => {
    const cluster = await startCluster();
    cluster.jobs.add({ outcome: 'exit', exitCode: 1, ms: 0, count: 1 });
    cluster.jobs.add({ outcome: 'exit', ms: 0 });
    await cluster.make(JOBS, jobObject('twice', { backoffLimit: 1 }));
    await waitFor('it ends', () => condition(cluster, 'twice') !== undefined);
    expect(condition(cluster, 'twice')).toMatchObject({ type: 'Complete' });
    expect(podsOf(cluster, 'twice')).toHaveLength(2);
  });

  test('go when their time is over, with their Pods', async () => {
    const cluster = await startCluster();
    cluster.jobs.add({ outcome: 'exit', ms: 0 });
    await cluster.make(JOBS, jobObject('brief', { ttlSecondsAfterFinished: 0 }));
    await waitFor('both are gone', () => jobOf(cluster, 'brief') === undefined && podsOf(cluster, 'brief').length === 0);
  });

  test('are deleted in the middle by a script, and their Pods stop when it says', async () => {
    const cluster = await startCluster();
    cluster.jobs.add({ outcome: 'deleted', ms: 50, lingerMs: 300 });
    await cluster.make(JOBS, jobObject('gone'));
    await waitFor('the Job is gone', () => jobOf(cluster, 'gone') === undefined);
    expect(podsOf(cluster, 'gone')).toHaveLength(1);
    await waitFor('its Pod is gone', () => podsOf(cluster, 'gone').length === 0);
  });

  test('refuse a script that makes no sense, and take all scripts away when asked', async () => {
    const cluster = await startCluster();
    for (const script of [{ outcome: 'dance' }, { ms: -1 }, { message: 3 }]) {
      expect((await cluster.send('POST', '/_control/jobs', script)).code).toBe(400);
    }
    cluster.jobs.add({ outcome: 'exit' });
    expect((await cluster.send('DELETE', '/_control/jobs')).code).toBe(200);
    await cluster.make(JOBS, jobObject('waits'));
    await waitFor('its Pod waits', () => at(podsOf(cluster, 'waits')[0], 'status', 'phase') === 'Pending');
  });

  test('need an image in their template', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', JOBS, {
      metadata: { name: 'bad' },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main' }] } } },
    });
    expect(code).toBe(422);
    expect(body.message).toMatch(/spec\.template\.spec\.containers\[0\]\.image: Required value/);
  });
});
