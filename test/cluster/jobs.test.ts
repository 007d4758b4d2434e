import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { JobTemplates } from '../../actors/ports/directory.ts';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { JobDriver, JobRequest, JobState } from '../../actors/ports/job-driver.ts';
import type { Connection } from '../../adapters/kubernetes/client/connection.ts';
import { kubernetesJobDriver } from '../../adapters/kubernetes/jobs/driver.ts';
import { jobName } from '../../adapters/kubernetes/jobs/names.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { firewallRequestOf, jobSpec, NO_SECRETS, openFence, requestOf, templatesOf } from '../adapters/kubernetes/jobs/support.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, createNamespace, installCrds, installRoles } from '../support/kube-apply.ts';
import { connectBy } from '../support/kube-connection.ts';
import { routedIPClass } from '../support/routedip-manifests.ts';
import { waitFor } from '../support/wait-for.ts';

const NAMESPACE = 'routedip-operator';
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

let cluster: Cluster;
let connection: Connection;
let uid: string;
let subjects = 0;

/** A driver with the shipped roles, for a class that exists. */
const driverOf = (change: Partial<JobTemplates> = {}): JobDriver => {
  const owner = { kind: 'ClusterRoutedIPClass', namespace: '', name: 'wrong', uid };
  return kubernetesJobDriver({ connection, clock: systemClock(), hide: (text) => text })(
    templatesOf({ owner, namespace: NAMESPACE, ...change }),
    NO_SECRETS,
  );
};

beforeAll(async () => {
  cluster = await startCluster({ controllers: ['job', 'garbagecollector'] });
  await installCrds(cluster);
  await installRoles(cluster);
  await createNamespace(cluster, 'elsewhere');
  await createNamespace(cluster, 'before');
  uid = (await apply(cluster, routedIPClass())).body.metadata.uid;
  connection = connectBy(cluster.kubeconfigFor(await cluster.tokenFor(NAMESPACE, NAMESPACE)));
});

afterAll(async () => {
  await connection?.close();
  await cluster?.stop();
});

let driver: JobDriver;
let request: JobRequest;
const fence = openFence();

beforeEach(() => {
  subjects += 1;
  driver = driverOf();
  // A Job waits for one that works on its address.
  const env = { ...requestOf().env, ROUTEDIP_ADDRESS: `192.0.2.${subjects}` };
  request = requestOf({ subject: `uid-${subjects}`, attempt: `try-${subjects}`, env });
});

const get = async (path: string) => (await cluster.send(path)).body;
const jobOf = (of: JobRequest = request) => get(`${JOBS}/${jobName(of)}`);
const podsOf = async (of: JobRequest = request) => (await get(`${PODS}?labelSelector=job-name%3D${jobName(of)}`)).items ?? [];

/** The Pod that the Job controller has made. */
const podOf = async (of: JobRequest = request) => {
  await waitFor('the Job has a Pod', async () => (await podsOf(of)).length > 0, 25_000);
  return (await podsOf(of))[0];
};

/** What a kubelet writes. */
const setPod = async (name: string, phase: string, state: object): Promise<void> => {
  const status = { phase, containerStatuses: [{ name: 'platform', image: 'curl:8', imageID: '', ready: false, restartCount: 0, state }] };
  const { status: code } = await cluster.send(`${PODS}/${name}/status`, { method: 'PATCH', body: { status } });
  expect(code).toBe(200);
};

const stateOf = async (of: JobRequest = request): Promise<JobState> => driver.run(of, null, fence);

/** Asks until the Job is in that state. */
const until = async (kind: JobState['kind'], of: JobRequest = request): Promise<JobState> => {
  let state: JobState | undefined;
  await waitFor(
    kind,
    async () => {
      state = await stateOf(of);
      return state.kind === kind;
    },
    30_000,
  );
  return state as JobState;
};

describe('a Job on a real API server', () => {
  test('is accepted as it is rendered, belongs to its class and has a Pod that knows the request', async () => {
    expect(await stateOf()).toMatchObject({ kind: 'running' });
    const { metadata, spec } = await jobOf();
    expect(metadata).toMatchObject({ ownerReferences: [{ kind: 'ClusterRoutedIPClass', uid, controller: true }] });
    expect(metadata.labels['routedip.io/routedip-name']).toBe('ingress');
    expect(spec).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 300 });
    const pod = await podOf();
    expect(pod.metadata.annotations['routedip.io/request']).toBe('{}');
    expect(pod.spec.containers[0].env).toContainEqual({ name: 'ROUTEDIP_ADDRESS', value: request.env.ROUTEDIP_ADDRESS });
    expect(pod.spec.volumes).toContainEqual(expect.objectContaining({ name: 'routedip-request', downwardAPI: expect.anything() }));
  });

  test('of a template that says nothing of security has a Pod where the standard restricted is enforced, which it meets', async () => {
    const { metadata } = await get(`/api/v1/namespaces/${NAMESPACE}`);
    expect(metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    await stateOf();
    const { spec } = await podOf();
    expect(spec.containers[0].securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532, allowPrivilegeEscalation: false });
  });

  test('is created as its template says where a role of before may not read the namespace', async () => {
    cluster.forbidden.add('namespaces');
    const binding = { kind: 'Role', apiGroup: 'rbac.authorization.k8s.io', name: 'jobs' };
    const metadata = { name: 'jobs', namespace: 'before' };
    const rules = [
      { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ];
    const subjects = [{ kind: 'ServiceAccount', name: NAMESPACE, namespace: NAMESPACE }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/before';
    for (const [plural, body] of Object.entries({ roles: { metadata, rules }, rolebindings: { metadata, roleRef: binding, subjects } }))
      expect((await cluster.send(`${rbac}/${plural}`, { method: 'POST', body })).status).toBe(201);
    const enforce = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } };
    await cluster.send('/api/v1/namespaces/before', { method: 'PATCH', body: enforce });
    await waitFor('its Job is created', async () => {
      const state = await driverOf({ namespace: 'before' })
        .run(request, null, fence)
        .catch(() => null);
      return state?.kind === 'running';
    });
    const { spec } = await get(`/apis/batch/v1/namespaces/before/jobs/${jobName(request)}`);
    expect(spec.template.spec.containers[0].securityContext).toBeUndefined();
  });

  test('of a template that insists on what the standard forbids says so within seconds', async () => {
    driver = driverOf({ updateRoutedIP: jobSpec({ container: { securityContext: { allowPrivilegeEscalation: true } } }) });
    await stateOf();
    let waits: unknown;
    await waitFor(
      'it is told',
      async () => {
        const state = await stateOf();
        waits = 'waits' in state ? state.waits : undefined;
        return waits !== undefined;
      },
      30_000,
    );
    expect(waits).toEqual({
      reason: 'FailedCreate',
      message: expect.stringMatching(/violates PodSecurity "restricted:\w+": allowPrivilegeEscalation/),
    });
  });

  test('that succeeds is heard of with its message, and goes with its Pod when it is cleared', async () => {
    await stateOf();
    const { metadata } = await podOf();
    await setPod(metadata.name, 'Succeeded', {
      terminated: { exitCode: 0, message: '{"address":"192.0.2.10","providerID":"example://7"}' },
    });
    const state = await until('succeeded');
    expect(state).toMatchObject({ message: { address: '192.0.2.10', providerID: 'example://7' } });
    await driver.clear(state.job);
    await waitFor('Job and Pod are gone', async () => (await jobOf()).code === 404 && (await podsOf()).length === 0, 30_000);
  });

  test('that fails is heard of with its exit code', async () => {
    await stateOf();
    const { metadata } = await podOf();
    await setPod(metadata.name, 'Failed', { terminated: { exitCode: 65, message: '{"message":"no such address"}' } });
    expect(await until('failed')).toMatchObject({ exitCode: 65, ran: true, text: expect.stringMatching(/exit code 65: no such address/) });
  });

  test('whose image cannot be had fails at its deadline', async () => {
    const [deadlineS, shorterS] = [120, 1];
    driver = driverOf({ updateRoutedIP: jobSpec({ spec: { activeDeadlineSeconds: deadlineS } }) });
    await stateOf();
    const { metadata } = await podOf();
    await setPod(metadata.name, 'Pending', { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "curl:8"' } });
    expect((await jobOf()).spec.activeDeadlineSeconds).toBe(deadlineS);
    // Not before: on a busy machine it would have passed before there is a Pod.
    const shorter = { method: 'PATCH', body: { spec: { activeDeadlineSeconds: shorterS } } } as const;
    expect((await cluster.send(`${JOBS}/${jobName(request)}`, shorter)).status).toBe(200);
    expect(await until('failed')).toMatchObject({ exitCode: null, text: expect.stringMatching(/DeadlineExceeded/) });
  });

  test('that somebody deletes has vanished', async () => {
    const { job } = await stateOf();
    expect((await cluster.send(`${JOBS}/${jobName(request)}?propagationPolicy=Background`, { method: 'DELETE' })).status).toBe(200);
    expect(await driver.run(request, job, fence)).toEqual({ kind: 'vanished', job });
  });

  test('that creates is kept when somebody deletes it, until it is cleared', async () => {
    const creating = requestOf({ ...request, action: 'create', env: { ROUTEDIP_ADDRESS: '' } });
    const { job } = await stateOf(creating);
    await podOf(creating);
    expect((await cluster.send(`${JOBS}/${jobName(creating)}?propagationPolicy=Foreground`, { method: 'DELETE' })).status).toBe(200);
    await waitFor('it has vanished', async () => (await driver.look(creating))?.kind === 'vanished', 30_000);
    expect((await jobOf(creating)).metadata.finalizers).toContain('routedip.io/finalizer');
    await driver.clear(job);
    await waitFor('it is gone', async () => (await driver.look(creating)) === null, 30_000);
  });

  test('about a firewall is not begun before the Pod of a former prune is gone', async () => {
    const subject = `firewall-${subjects}`;
    const prune = firewallRequestOf({ subject, action: 'prune' });
    const open = firewallRequestOf({ subject });
    await stateOf(prune);
    const { metadata } = await podOf(prune);
    // It runs on a node: from now on only a kubelet ends it.
    const binding = { metadata: { name: metadata.name }, target: { kind: 'Node', name: 'node-a' } };
    expect((await cluster.send(`${PODS}/${metadata.name}/binding`, { method: 'POST', body: binding })).status).toBe(201);
    await setPod(metadata.name, 'Running', { running: {} });
    expect(await stateOf(open)).toMatchObject({ kind: 'busy' });
    expect((await jobOf(prune)).metadata.finalizers).toContain('foregroundDeletion');
    await waitFor('its Pod is being deleted', async () => (await podsOf(prune))[0]?.metadata.deletionTimestamp !== undefined, 30_000);
    expect(await stateOf(open)).toMatchObject({ kind: 'busy' });
    await cluster.send(`${PODS}/${metadata.name}?gracePeriodSeconds=0`, { method: 'DELETE' });
    await until('running', open);
    // Of a Job that is being deleted only its Pods do anything: it may go a moment after them.
    await waitFor('the Job that pruned is gone', async () => (await jobOf(prune)).code === 404, 30_000);
  });
});

describe('a Job that a real API server refuses', () => {
  const refusal = (change: Partial<JobTemplates>): Promise<unknown> =>
    driverOf(change)
      .run(request, null, fence)
      .then(
        () => null,
        (error: unknown) => error,
      );

  test('names the permission that is missing', async () => {
    cluster.forbidden.add('jobs');
    const error = await refusal({ namespace: 'elsewhere' });
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: 'Unsupported', message: expect.stringMatching(/may not list jobs in namespace elsewhere/) });
    expect(error).toMatchObject({ conditionReason: 'Forbidden', unknownOutcome: false });
  });

  test('is not once the sample is applied, which gives all rights that it takes', async () => {
    const text = readFileSync(new URL('../../crds/samples/routedip-jobs.yaml', import.meta.url), 'utf8');
    const kinds = ['Namespace', 'RoleBinding'];
    for (const document of parseAllDocuments(text).map((each) => each.toJS()))
      if (kinds.includes(document.kind)) await apply(cluster, document);
    const namespace = 'routedip-jobs';
    const there = driverOf({ namespace });
    await waitFor('the rights have come', async () => (await there.look(request).catch(() => 'refused')) === null, 10_000);
    expect(await there.run(request, null, fence)).toMatchObject({ kind: 'running' });
    expect(await there.run(request, null, fence)).toMatchObject({ kind: 'running' });
    await connection.list({ path: `/api/v1/namespaces/${namespace}/secrets`, query: {} }, () => undefined);
    for (const plural of ['pods', 'events'])
      await connection.list({ path: `/api/v1/namespaces/${namespace}/${plural}`, query: {} }, () => undefined);
  });

  test("says in the server's words what is wrong with the template", async () => {
    const template = jobSpec({ container: { volumeMounts: [{ name: 'absent', mountPath: '/x' }] } });
    const error = await refusal({ updateRoutedIP: template });
    expect(error).toMatchObject({ kind: 'Invalid', message: expect.stringMatching(/volumeMounts\[0\]\.name: Not found: "absent"/) });
  });
});
