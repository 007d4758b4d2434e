import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError, Unreachable } from '../../../../actors/ports/errors.ts';
import { jobName, subjectLabel } from '../../../../adapters/kubernetes/jobs/names.ts';
import { at } from '../../../../simulator/kubernetes/objects.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { jobsCluster as cluster, FOR_EVER_MS, JOB, nameOf, TOKEN } from './cluster.ts';
import { firewallRequestOf, jobSpec, requestOf } from './support.ts';

/** Of another RoutedIP, and about another address. */
const ELSEWHERE = { subject: 'uid-2', env: { ROUTEDIP_ADDRESS: '192.0.2.11' } };

describe('the Jobs of a class', () => {
  test('run and answer what their container said at its end', async () => {
    const { simulator, run, ended, jobs } = await cluster();
    simulator.jobs.add({ outcome: 'exit', message: '{"address":"$(ROUTEDIP_ADDRESS)","providerID":"$(ROUTEDIP_NODE_PROVIDER_ID)"}' });
    expect(await run()).toEqual({ kind: 'running', job: nameOf() });
    expect(await ended()).toEqual({ kind: 'succeeded', job: nameOf(), message: { address: '192.0.2.10', providerID: 'example://7' } });
    expect(jobs()).toHaveLength(1);
  });

  test.each([['no JSON'], ['["a list"]'], ['{"address": 7}'], [''], [`{"message":"${'x'.repeat(5000)}"}`]])(
    'say nothing when their message is %.20s',
    async (message) => {
      const { simulator, ended } = await cluster();
      simulator.jobs.add({ outcome: 'exit', message });
      expect(await ended()).toEqual({ kind: 'succeeded', job: nameOf(), message: {} });
    },
  );

  test('that fail answer the exit code and the last message', async () => {
    const { simulator, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', exitCode: 75, message: '{"message":"no answer"}' });
    expect(await ended()).toEqual({
      kind: 'failed',
      job: nameOf(),
      exitCode: 75,
      ran: true,
      text: `Job ${nameOf()} ended with exit code 75: no answer`,
    });
  });

  test('whose container was killed say nothing of what they did', async () => {
    const { simulator, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', exitCode: 137, message: '' });
    const text = `Job ${nameOf()} ended with exit code 137`;
    expect(await ended()).toEqual({ kind: 'failed', job: nameOf(), exitCode: null, ran: true, text });
  });

  test.each([
    ['in its message', `{"message":"401 for ${TOKEN}"}`],
    ['outside of JSON, where the text is cut off in the middle of it', `${'x'.repeat(290)} ${TOKEN}`],
  ])('that print a secret %s do not show it', async (_, message) => {
    const { simulator, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', exitCode: 1, message });
    const state = await ended();
    expect(state).toMatchObject({ kind: 'failed', text: expect.stringContaining('[redacted') });
    expect(JSON.stringify(state)).not.toContain(TOKEN.slice(0, 8));
  });

  test('that succeed and print a secret do not show it, and answer the address all the same', async () => {
    const { simulator, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', message: `{"address":"192.0.2.10","message":"done with ${TOKEN}"}` });
    expect(await ended()).toMatchObject({ kind: 'succeeded', message: { address: '192.0.2.10', message: 'done with [redacted: token]' } });
  });

  test.each([
    ['nobody schedules', 'unscheduled', /Unschedulable: 0\/1 nodes/],
    ['pull no image', 'imagePull', /ImagePullBackOff: Back-off pulling image "curl:8"/],
  ] as const)('that %s fail at their deadline without having run', async (_, outcome, why) => {
    let passedMs = 0;
    const { simulator, run, ended, pods, miss } = await cluster({}, { aheadMs: 10_000, monotonic: () => passedMs });
    simulator.jobs.add({ outcome });
    await run();
    await waitFor('its Pod waits', () => at(pods()[0], 'status', 'phase') === 'Pending');
    expect(await run(requestOf(), nameOf())).toMatchObject({ kind: 'running' });
    miss();
    passedMs += 1_000;
    const state = await ended();
    expect(state).toMatchObject({ kind: 'failed', exitCode: null, ran: false });
    expect(state).toMatchObject({ text: expect.stringMatching(/DeadlineExceeded: .*; its Pod waited: /) });
    expect(state).toMatchObject({ text: expect.stringMatching(why) });
  });

  test('that run until their deadline may have done anything', async () => {
    const { simulator, ended } = await cluster({ updateRoutedIP: jobSpec({ spec: { activeDeadlineSeconds: 1 } }) });
    simulator.jobs.add({ outcome: 'hang' });
    expect(await ended()).toMatchObject({ kind: 'failed', exitCode: null, ran: true });
  });

  test('that somebody deletes in the middle have vanished', async () => {
    const { simulator, run, ended } = await cluster();
    simulator.jobs.add({ outcome: 'deleted', ms: 300 });
    expect(await run()).toMatchObject({ kind: 'running' });
    expect(await ended()).toEqual({ kind: 'vanished', job: nameOf() });
  });

  test('go with their Pods once they are cleared, and clearing them again is no trouble', async () => {
    const { simulator, driver, ended, jobs, pods } = await cluster();
    simulator.jobs.add({ outcome: 'exit' });
    await ended();
    expect(pods()).toHaveLength(1);
    await driver.clear(nameOf());
    await waitFor('Job and Pod are gone', () => jobs().length + pods().length === 0);
    await driver.clear(nameOf());
  });

  test('are adopted by whoever asks for the same try, on whatever process', async () => {
    const { driverOf, run, fence, writes } = await cluster();
    await run();
    expect(await driverOf().run(requestOf(), null, fence)).toEqual({ kind: 'running', job: nameOf() });
    expect(writes('POST')).toHaveLength(1);
  });

  test('are adopted when the answer to their creation was lost', async () => {
    const { simulator, run, jobs } = await cluster({}, { creationMs: 2_000 });
    simulator.faults.delay({ ms: 2_500, method: 'POST', path: '/apis/batch', count: 1 });
    await expect(run()).rejects.toThrow(Unreachable);
    await waitFor('the Job is created all the same', () => jobs().length === 1);
    expect(await run()).toEqual({ kind: 'running', job: nameOf() });
    expect(jobs()).toHaveLength(1);
  });

  test('go on from their old template when it is edited; the next one is made from the new one', async () => {
    const { driverOf, run, fence, jobs } = await cluster();
    await run();
    const edited = driverOf({ updateRoutedIP: jobSpec({ container: { image: 'curl:9' } }) });
    expect(await edited.run(requestOf(), nameOf(), fence)).toEqual({ kind: 'running', job: nameOf() });
    await edited.run(requestOf(ELSEWHERE), null, fence);
    expect(
      jobs()
        .map((job) => at(job, 'spec', 'template', 'spec', 'containers', 0, 'image'))
        .sort(),
    ).toEqual(['curl:8', 'curl:9']);
  });

  test('are completed for the Pod security standard that their namespace enforces by then', async () => {
    const { simulator, run, jobs } = await cluster();
    const enforce = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } };
    await run();
    simulator.store.patch({ apiVersion: 'v1', kind: 'Namespace', name: 'jobs' }, enforce);
    await run(requestOf(ELSEWHERE));
    const contexts = jobs().map((job) => at(job, 'spec', 'template', 'spec', 'containers', 0, 'securityContext', 'runAsNonRoot'));
    expect(contexts.toSorted()).toEqual([true, undefined]);
  });

  test('are asked for by few requests however many look', async () => {
    const { simulator, run } = await cluster();
    await run();
    const before = simulator.requests.length;
    const startedAt = performance.now();
    for (let look = 0; look < 50; look++) expect(await run(requestOf(), nameOf())).toMatchObject({ kind: 'running' });
    // Jobs and Pods, and on a machine that stands still both once more.
    const renewals = Math.floor((performance.now() - startedAt) / 400);
    expect(simulator.requests.length - before).toBeLessThanOrEqual(3 + 2 * renewals);
  });
});

describe('a Job that never ends', () => {
  test('since nobody runs Jobs in the cluster, is given up a minute after its deadline', async () => {
    const { run } = await cluster({}, { aheadMs: 361_000 });
    await run();
    expect(await run(requestOf(), nameOf())).toMatchObject({
      kind: 'failed',
      exitCode: null,
      ran: true,
      text: expect.stringMatching(/has not ended 360 s after/),
    });
  });
});

describe('a Job about the same RoutedIP', () => {
  test('is waited for, whatever it does, and one about another RoutedIP is not', async () => {
    const { run, jobs } = await cluster();
    await run(requestOf({ action: 'find', attempt: 'other' }));
    expect(await run()).toMatchObject({ kind: 'busy', job: `Job ${nameOf(requestOf({ action: 'find', attempt: 'other' }))}` });
    expect(await run(requestOf(ELSEWHERE))).toMatchObject({ kind: 'running' });
    expect(await run(firewallRequestOf())).toMatchObject({ kind: 'running' });
    expect(jobs()).toHaveLength(3);
  });

  test('that has ended makes room, and goes unless it is about another address, or made one of which nobody has heard', async () => {
    const { simulator, run, ended, jobs } = await cluster();
    const actions = () => jobs().map(({ metadata }) => metadata.labels?.['routedip.io/action']);
    simulator.jobs.add({ outcome: 'exit', message: '{"address":"192.0.2.10"}' });
    await ended(requestOf({ action: 'find', attempt: 'former' }));
    await ended(requestOf({ action: 'create', env: { ROUTEDIP_ADDRESS: '' } }));
    // Asked at the same time: what was made, and, since a person has named another address meanwhile, where that one is.
    const asking = requestOf({ action: 'find', env: { ROUTEDIP_ADDRESS: '' } });
    await ended(asking);
    await ended(requestOf({ action: 'find', attempt: 'named', env: { ROUTEDIP_ADDRESS: '192.0.2.77' } }));
    expect(actions().sort()).toEqual(['create', 'find', 'find', 'find']);
    expect(await run(asking, nameOf(asking))).toMatchObject({ kind: 'succeeded' });
    expect(await run()).toMatchObject({ kind: 'running' });
    await waitFor('those about its address are gone', () => jobs().length === 3);
    expect(actions().sort()).toEqual(['assign', 'find', 'find']);
  });

  test('whose Pod is left behind is alive until that has ended', async () => {
    const { simulator, run, jobs, pods, endPods } = await cluster();
    simulator.jobs.add({ outcome: 'hang', count: 1, lingerMs: FOR_EVER_MS });
    const prune = firewallRequestOf({ action: 'prune' });
    await run(prune);
    await waitFor('its Pod runs', () => pods().some((pod) => at(pod, 'status', 'phase') === 'Running'));
    simulator.store.delete({ ...JOB, name: jobName(prune) }, { propagationPolicy: 'Background' });
    await waitFor('the Job is gone', () => jobs().length === 0);
    expect(pods()).toHaveLength(1);
    expect(await run(firewallRequestOf())).toMatchObject({ kind: 'busy', job: expect.stringMatching(/^Pod jobs\/rip-f-/) });
    endPods();
    await waitFor('another one is created', async () => (await run(firewallRequestOf())).kind === 'running');
    expect(pods().filter((pod) => at(pod, 'status', 'phase') === 'Running')).toEqual([]);
  });

  test('that prunes by what was wanted once is ended, with its Pod, before anything else is opened', async () => {
    const { simulator, run, jobs, pods, endPods } = await cluster();
    simulator.jobs.add({ outcome: 'hang', count: 1, lingerMs: FOR_EVER_MS });
    await run(firewallRequestOf({ action: 'prune' }));
    await waitFor('its Pod runs', () => pods().length === 1);
    expect(await run(firewallRequestOf())).toMatchObject({ kind: 'busy' });
    expect(jobs()[0]?.metadata.finalizers).toContain('foregroundDeletion');
    endPods();
    await waitFor('the other one is created', async () => (await run(firewallRequestOf())).kind === 'running');
    expect(jobs().map(({ metadata }) => metadata.labels?.['routedip.io/action'])).toEqual(['open']);
  });

  test('that prunes by what is still wanted is waited for', async () => {
    const { run, jobs } = await cluster();
    await run(firewallRequestOf({ action: 'prune' }));
    expect(await run(firewallRequestOf({ action: 'prune', attempt: 'try-2' }))).toMatchObject({ kind: 'busy' });
    expect(jobs()[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('that opens is never ended by another one', async () => {
    const { run, jobs } = await cluster();
    await run(firewallRequestOf());
    expect(await run(firewallRequestOf({ action: 'prune' }))).toMatchObject({ kind: 'busy' });
    expect(jobs()[0]?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('a Job about an address', () => {
  test('waits for one that works on it for another RoutedIP, of which the end stays that one’s', async () => {
    const { simulator, run, ended, jobs } = await cluster();
    simulator.jobs.add({ outcome: 'exit', ms: 500 });
    await run();
    const others = requestOf({ subject: 'uid-2', action: 'find' });
    expect(await run(others)).toMatchObject({ kind: 'busy', job: `Job ${nameOf()}` });
    await ended();
    expect(await run(others)).toMatchObject({ kind: 'running' });
    expect(jobs().map(({ metadata }) => metadata.name)).toContain(jobName(requestOf()));
  });
});

describe('a Job that creates', () => {
  const creating = requestOf({ action: 'create', env: { ROUTEDIP_ADDRESS: '' } });
  const named = { ...JOB, name: jobName(creating) };

  test('cannot be deleted by others before it was heard of: then it has vanished, and that it was there is still known', async () => {
    const { simulator, driver, run, pods, jobs } = await cluster();
    simulator.jobs.add({ outcome: 'hang' });
    await run(creating);
    await waitFor('its Pod runs', () => at(pods()[0], 'status', 'phase') === 'Running');
    simulator.store.delete(named, { propagationPolicy: 'Foreground' });
    await waitFor('its Pod is gone', () => pods().length === 0);
    await waitFor('it has vanished', async () => (await driver.look(creating))?.kind === 'vanished');
    await driver.clear(nameOf(creating));
    expect([jobs(), await driver.look(creating)]).toEqual([[], null]);
  });

  test('and is deleted goes on as long as its Pod does, and what that says is heard', async () => {
    const { simulator, driver, run, pods, complete } = await cluster();
    simulator.jobs.add({ outcome: 'hang' });
    await run(creating);
    await waitFor('its Pod runs', () => at(pods()[0], 'status', 'phase') === 'Running');
    simulator.store.delete(named, { propagationPolicy: 'Background' });
    expect(await driver.look(creating)).toMatchObject({ kind: 'running' });
    complete('{"address":"192.0.2.10"}');
    await waitFor('it ends', async () => (await driver.look(creating))?.kind === 'succeeded');
    expect(await driver.look(creating)).toMatchObject({ message: { address: '192.0.2.10' } });
  });

  test('goes once what it made is known', async () => {
    const { simulator, driver, ended, jobs } = await cluster();
    simulator.jobs.add({ outcome: 'exit' });
    await ended(creating);
    await ended(requestOf({ ...creating, subject: 'uid-2' }));
    expect(jobs()).toHaveLength(2);
    await driver.conclude('uid-1');
    expect(jobs().map(({ metadata }) => metadata.labels?.['routedip.io/subject'])).toEqual([subjectLabel('uid-2')]);
  });

  test('stays while its address is being deleted, and goes once that is gone', async () => {
    const { simulator, driver, run, pods, jobs, complete } = await cluster();
    simulator.jobs.add({ outcome: 'hang' });
    await run(creating);
    await waitFor('its Pod runs', () => at(pods()[0], 'status', 'phase') === 'Running');
    complete('{"address":"192.0.2.10"}');
    await waitFor('it ends', async () => (await driver.look(creating))?.kind === 'succeeded');
    const deleting = requestOf({ action: 'delete', env: { ROUTEDIP_ADDRESS: '192.0.2.10' } });
    await run(deleting);
    const names = () => jobs().map(({ metadata }) => metadata.name);
    expect(names()).toEqual(expect.arrayContaining([jobName(creating), jobName(deleting)]));
    await driver.conclude('uid-1', '192.0.2.11');
    expect(names()).toContain(jobName(creating));
    await driver.conclude('uid-1', '192.0.2.10');
    expect(names()).toEqual([jobName(deleting)]);
  });

  test('does not go before it has ended', async () => {
    const { driver, run, jobs } = await cluster();
    await run(creating);
    await driver.conclude('uid-1');
    expect(jobs()[0]?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('a Job that may not be created', () => {
  const failing = async (run: () => Promise<unknown>): Promise<unknown> =>
    run().then(
      () => null,
      (error: unknown) => error,
    );

  test('is not when another process decides by now', async () => {
    const { driver, jobs } = await cluster();
    const fence = { read: () => Promise.reject(new Fenced('another command is waited for')), assertFresh: () => undefined };
    await expect(driver.run(requestOf(), null, fence)).rejects.toThrow(Fenced);
    const stale = {
      read: async () => undefined,
      assertFresh: () => {
        throw new Fenced('too old', 'stale');
      },
    };
    await expect(driver.run(requestOf(), null, stale)).rejects.toThrow(Fenced);
    expect(jobs()).toEqual([]);
  });

  test('is not when another process decides by now, and no Job that has ended goes for it', async () => {
    const { simulator, driver, ended, jobs, writes } = await cluster();
    simulator.jobs.add({ outcome: 'exit', message: '{}' });
    await ended(requestOf({ action: 'find' }));
    const fence = { read: () => Promise.reject(new Fenced('another command is waited for')), assertFresh: () => undefined };
    await expect(driver.run(requestOf(), null, fence)).rejects.toThrow(Fenced);
    expect(jobs()).toHaveLength(1);
    expect(writes('DELETE')).toEqual([]);
  });

  test("says in the API server's words what is wrong with its template", async () => {
    const { run } = await cluster({ updateRoutedIP: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'x' }] } } } });
    const error = await failing(() => run());
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: 'Invalid', conditionReason: 'RoutedIPJobFailed', unknownOutcome: false });
    expect(String(error)).toMatch(/spec\.template\.spec\.containers\[0\]\.image: Required value/);
  });

  test('names the namespace that does not exist', async () => {
    const { run } = await cluster({ namespace: 'elsewhere' });
    const error = await failing(() => run());
    expect(error).toMatchObject({ kind: 'Unsupported', message: expect.stringMatching(/namespaces "elsewhere" not found/) });
  });

  test('is tried again when the API server is away', async () => {
    const { simulator, run } = await cluster();
    simulator.faults.outage('503', 60_000);
    await expect(run()).rejects.toThrow(Unreachable);
  });
});

describe('a Job that somebody looks for', () => {
  test('is found by its intent when it creates, though it would be told of other ports by now', async () => {
    const { simulator, driver, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', message: '{"address":"192.0.2.10"}' });
    await ended(requestOf({ action: 'create', env: { ROUTEDIP_PORTS: 'tcp/80' } }));
    const asked = requestOf({ action: 'create', env: { ROUTEDIP_PORTS: 'tcp/80,tcp/443' } });
    expect(await driver.look(asked)).toMatchObject({ kind: 'succeeded', message: { address: '192.0.2.10' } });
    expect(await driver.look({ ...asked, attempt: 'try-2' })).toBeNull();
  });

  test('is not created', async () => {
    const { driver, jobs } = await cluster();
    expect(await driver.look(requestOf())).toBeNull();
    expect(jobs()).toEqual([]);
  });

  test('is found as it is', async () => {
    const { simulator, driver, ended } = await cluster();
    simulator.jobs.add({ outcome: 'exit', message: '{"address":"192.0.2.10"}' });
    await ended(requestOf({ action: 'create' }));
    expect(await driver.look(requestOf({ action: 'create' }))).toMatchObject({ kind: 'succeeded', message: { address: '192.0.2.10' } });
  });
});
