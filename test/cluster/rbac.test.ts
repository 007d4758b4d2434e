import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { tokenAccess } from '../../adapters/kubernetes/client/token-access.ts';
import { ledgerName } from '../../adapters/kubernetes/writer/ledger.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, installCrds, installRoles, type KubeObject, objectsIn, objectsInText, pathOf } from '../support/kube-apply.ts';
import type { ApiRequest } from '../support/kube-client.ts';
import { connectBy } from '../support/kube-connection.ts';
import { findKubectl, kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Resource, resourcesOf } from './served-resources.ts';

const deploy = (file: string): string => join(import.meta.dirname, '../../deploy', file);
const OPERATOR = 'routedip-operator';
const LEASE = 'floating-ip-pool-controller-leader-election';

const POOLS = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools';
const SETS = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/nodednsrecordsets';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces';

const POOL: KubeObject = {
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name: 'ingress-pool', namespace: 'default' },
  spec: { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1 },
};

const SET: KubeObject = {
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'NodeDNSRecordSet',
  metadata: { name: 'nodes', namespace: 'default' },
  spec: { provider: 'digitalocean', dnsRecordSet: { zone: 'example.com', recordName: 'nodes' } },
};

const SECRETS = { group: '', resource: 'secrets', subresource: '', namespace: OPERATOR };

const lease = (name: string): unknown => ({ metadata: { name }, spec: { holderIdentity: 'someone' } });

let cluster: Cluster;
let token: string;

const asOperator = async (method: NonNullable<ApiRequest['method']>, path: string, body?: unknown): Promise<number> => {
  const { status } = await cluster.send(path, { method, token, ...(body === undefined ? {} : { body }) });
  return status;
};

beforeAll(async () => {
  // This test asks in the operator's name for what that never does.
  cluster = await startCluster({ audit: false });
  await installCrds(cluster);
  for (const plural of ['virtualips', 'groupsegmentmappings']) {
    await applyFile(cluster, join(deploy('..'), `crds/legacy/${plural}.yaml`));
    await waitFor(`${plural} are served`, async () => (await cluster.send(`/apis/paas.org/v1/${plural}`)).status === 200);
  }
  await installRoles(cluster);
  for (const object of [POOL, SET, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } }]) {
    expect((await apply(cluster, object)).status).toBe(201);
  }
  token = await cluster.tokenFor(OPERATOR, OPERATOR);
});

afterAll(() => cluster?.stop());

describe('the operator with the shipped roles', () => {
  test.each([
    ['list pools', 'GET', '/apis/flipop.digitalocean.com/v1alpha1/floatingippools'],
    ['watch pools', 'GET', '/apis/flipop.digitalocean.com/v1alpha1/floatingippools?watch=true&timeoutSeconds=1'],
    ['read a pool', 'GET', `${POOLS}/ingress-pool`],
    ['list NodeDNSRecordSets', 'GET', '/apis/flipop.digitalocean.com/v1alpha1/nodednsrecordsets'],
    ['watch NodeDNSRecordSets', 'GET', '/apis/flipop.digitalocean.com/v1alpha1/nodednsrecordsets?watch=true&timeoutSeconds=1'],
    ['read a NodeDNSRecordSet', 'GET', `${SETS}/nodes`],
    ['list nodes', 'GET', '/api/v1/nodes'],
    ['watch nodes', 'GET', '/api/v1/nodes?watch=true&timeoutSeconds=1'],
    ['read a node', 'GET', '/api/v1/nodes/node-a'],
    ['list pods of all namespaces', 'GET', '/api/v1/pods'],
    ['watch pods of one namespace', 'GET', '/api/v1/namespaces/ingress/pods?watch=true&timeoutSeconds=1'],
    ['list Services of one namespace', 'GET', '/api/v1/namespaces/ingress/services'],
    ['watch Services of one namespace', 'GET', '/api/v1/namespaces/ingress/services?watch=true&timeoutSeconds=1'],
    ['watch Endpoints of one namespace', 'GET', '/api/v1/namespaces/ingress/endpoints?watch=true&timeoutSeconds=1'],
    ['ask which EndpointSlices are served', 'GET', '/apis/discovery.k8s.io'],
    ['list RoutedIPs', 'GET', '/apis/routedip.io/v1alpha1/routedips'],
    ['watch RoutedIPs', 'GET', '/apis/routedip.io/v1alpha1/routedips?watch=true&timeoutSeconds=1'],
    ['watch RoutedIPIssuers', 'GET', '/apis/routedip.io/v1alpha1/routedipissuers?watch=true&timeoutSeconds=1'],
    ['watch ClusterRoutedIPClasses', 'GET', '/apis/routedip.io/v1alpha1/clusterroutedipclasses?watch=true&timeoutSeconds=1'],
    ['read the UID of the cluster', 'GET', '/api/v1/namespaces/kube-system'],
    ['discover what is served', 'GET', '/apis'],
  ] as const)('may %s', async (_, method, path) => {
    expect(await asOperator(method, path)).toBe(200);
  });

  test('may write addresses and status of a pool', async () => {
    expect(await asOperator('PATCH', `${POOLS}/ingress-pool`, { spec: { ips: ['1.2.3.4'] } })).toBe(200);
    expect(await asOperator('PATCH', `${POOLS}/ingress-pool/status`, { status: { activeIPs: 1 } })).toBe(200);
    const { body } = await cluster.send(`${POOLS}/ingress-pool`);
    expect(body).toMatchObject({ spec: { ips: ['1.2.3.4'] }, status: { activeIPs: 1 } });
    expect(await asOperator('PUT', `${POOLS}/ingress-pool/status`, body)).toBe(403);
  });

  test('may write the status of a NodeDNSRecordSet', async () => {
    expect(await asOperator('PATCH', `${SETS}/nodes/status`, { status: { state: 'active' } })).toBe(200);
    expect((await cluster.send(`${SETS}/nodes`)).body.status).toMatchObject({ state: 'active' });
  });

  test('may set and remove the annotation of a node', async () => {
    for (const annotation of ['flipop.digitalocean.com/ipv4-reserved-ip', 'flipop.digitalocean.com/ipv6-reserved-ip']) {
      for (const address of ['1.2.3.4', null]) {
        expect(await asOperator('PATCH', '/api/v1/nodes/node-a', { metadata: { annotations: { [annotation]: address } } })).toBe(200);
      }
    }
  });

  test('may write and take off a condition of a node', async () => {
    const type = 'routedip.io/Evacuated';
    for (const condition of [
      { type, status: 'True', reason: 'NoAddressHeld', message: 'none' },
      { type, $patch: 'delete' },
    ]) {
      const { status } = await cluster.send('/api/v1/nodes/node-a/status', {
        method: 'PATCH',
        token,
        contentType: 'application/strategic-merge-patch+json',
        body: { status: { conditions: [condition] } },
      });
      expect(status).toBe(200);
      const { body } = await cluster.send('/api/v1/nodes/node-a');
      const conditions = (body.status as { conditions?: { type: string }[] }).conditions ?? [];
      expect(conditions.some((each) => each.type === type)).toBe('status' in condition);
    }
  });

  test('may write Events, about pools and NodeDNSRecordSets in their namespace and about nodes', async () => {
    const event = (name: string, namespace: string, regarding: unknown): unknown => ({
      metadata: { name, namespace },
      eventTime: '2026-01-02T03:04:05.000000Z',
      type: 'Normal',
      reason: 'Assigned',
      action: 'Assign',
      note: 'assigned',
      reportingController: OPERATOR,
      reportingInstance: 'test',
      regarding,
    });
    const events = (namespace: string): string => `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const pool = { apiVersion: POOL.apiVersion, kind: POOL.kind, name: 'ingress-pool', namespace: 'default' };
    expect(await asOperator('POST', events('default'), event('pool.1', 'default', pool))).toBe(201);
    const set = { apiVersion: SET.apiVersion, kind: SET.kind, name: 'nodes', namespace: 'default' };
    expect(await asOperator('POST', events('default'), event('nodes.1', 'default', set))).toBe(201);
    const node = { apiVersion: 'v1', kind: 'Node', name: 'node-a' };
    expect(await asOperator('POST', events('kube-system'), event('node.1', 'kube-system', node))).toBe(201);
    const again = { count: 2, lastObservedTime: '2026-01-02T03:05:05.000000Z' };
    expect(await asOperator('PATCH', `${events('default')}/pool.1`, { series: again })).toBe(200);
    // Nothing else of an Event changes, hence nothing else is written again.
    expect(await asOperator('PATCH', `${events('default')}/pool.1`, { note: 'assigned again' })).toBe(422);
    expect(
      await asOperator('POST', '/api/v1/namespaces/default/events', {
        metadata: { name: 'pool.2' },
        involvedObject: pool,
        reason: 'Assigned',
      }),
    ).toBe(201);
  });

  test('may take and renew its lease', async () => {
    const leases = `${LEASES}/${OPERATOR}/leases`;
    const only = `fieldSelector=metadata.name%3D${LEASE}`;
    expect(await asOperator('POST', leases, lease(LEASE))).toBe(201);
    expect(await asOperator('GET', `${leases}/${LEASE}`)).toBe(200);
    const { body } = await cluster.send(`${leases}/${LEASE}`, { token });
    expect(await asOperator('PUT', `${leases}/${LEASE}`, { ...body, spec: { holderIdentity: 'a third' } })).toBe(200);
    expect(await asOperator('GET', `${leases}?${only}`)).toBe(403);
  });

  test('may write down which addresses were made for each namespace', async () => {
    const maps = `/api/v1/namespaces/${OPERATOR}/configmaps`;
    expect(await asOperator('POST', maps, { metadata: { name: ledgerName('web') } })).toBe(201);
    const { body } = await cluster.send(`${maps}/${ledgerName('web')}`, { token });
    expect(await asOperator('PUT', `${maps}/${ledgerName('web')}`, { ...body, data: { addresses: '203.0.113.7' } })).toBe(200);
  });

  test.each([
    ['create a pool', 'POST', POOLS, POOL],
    ['delete a pool', 'DELETE', `${POOLS}/ingress-pool`, undefined],
    ['create a NodeDNSRecordSet', 'POST', SETS, SET],
    ['change what a NodeDNSRecordSet wants', 'PATCH', `${SETS}/nodes`, { spec: { addressType: 'InternalIP' } }],
    ['delete a NodeDNSRecordSet', 'DELETE', `${SETS}/nodes`, undefined],
    ['delete a node', 'DELETE', '/api/v1/nodes/node-a', undefined],
    ['create a pod', 'POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'x' } }],
    ['create a Job where no role for Jobs is bound', 'POST', '/apis/batch/v1/namespaces/default/jobs', { metadata: { name: 'x' } }],
    ['list secrets', 'GET', '/api/v1/secrets', undefined],
    ['list secrets where no role for them is bound', 'GET', '/api/v1/namespaces/default/secrets', undefined],
    ['write a secret', 'POST', `/api/v1/namespaces/${OPERATOR}/secrets`, { metadata: { name: 'x' } }],
    ['read another namespace', 'GET', '/api/v1/namespaces/default', undefined],
    ['list ConfigMaps of another namespace', 'GET', '/api/v1/namespaces/default/configmaps', undefined],
    ['delete a ConfigMap', 'DELETE', `/api/v1/namespaces/${OPERATOR}/configmaps/${ledgerName('web')}`, undefined],
    ['read another lease', 'GET', `${LEASES}/${OPERATOR}/leases/other`, undefined],
    ['list all leases', 'GET', `${LEASES}/${OPERATOR}/leases`, undefined],
    ['write a lease elsewhere', 'POST', `${LEASES}/kube-system/leases`, lease(LEASE)],
    ['change CRDs', 'DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/floatingippools.flipop.digitalocean.com', undefined],
  ] as const)('may not %s', async (_, method, path, body) => {
    expect(await asOperator(method, path, body)).toBe(403);
  });

  const allAllowed = async (): Promise<readonly string[]> => {
    const resources = await resourcesOf(cluster);
    expect(resources.length).toBeGreaterThan(50);
    const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
    const allowed: string[] = [];
    for (const { group, resource, subresource } of resources) {
      const answers = await Promise.all(verbs.map((verb) => mayOperator({ group, resource, subresource, verb, namespace: OPERATOR })));
      verbs.forEach((verb, index) => {
        if (answers[index]) allowed.push(`${verb} ${[group, resource, subresource].filter((part) => part !== '').join('/')}`);
      });
    }
    return allowed;
  };

  test('may do nothing that is not meant, of all that the server has, and but for VirtualIPs as much again', async () => {
    const allowed = await allAllowed();
    const pools = 'flipop.digitalocean.com/floatingippools';
    const sets = 'flipop.digitalocean.com/nodednsrecordsets';
    const routed = ['routedips', 'routedipissuers', 'clusterroutedipclasses'];
    const expected = [
      ...['get', 'list', 'watch'].map((verb) => `${verb} ${sets}`),
      `patch ${sets}/status`,
      ...['get', 'list', 'watch', 'patch'].flatMap((verb) => routed.map((plural) => `${verb} routedip.io/${plural}`)),
      ...routed.map((plural) => `patch routedip.io/${plural}/status`),
      ...['get', 'list', 'watch', 'patch'].map((verb) => `${verb} ${pools}`),
      `patch ${pools}/status`,
      ...['get', 'list', 'watch', 'patch'].map((verb) => `${verb} nodes`),
      'patch nodes/status',
      ...['list', 'watch'].flatMap((verb) =>
        ['pods', 'services', 'endpoints', 'discovery.k8s.io/endpointslices'].map((plural) => `${verb} ${plural}`),
      ),
      'get services',
      'patch services',
      'patch services/status',
      ...['get', 'list', 'watch'].map((verb) => `${verb} paas.org/ipgroups`),
      'patch paas.org/ipgroups/status',
      ...['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => `${verb} paas.org/ips`),
      ...['list', 'watch'].map((verb) => `${verb} paas.org/virtualips`),
      ...['create', 'patch'].flatMap((verb) => [`${verb} events`, `${verb} events.k8s.io/events`]),
      'create coordination.k8s.io/leases',
      ...['create', 'get', 'list', 'update'].map((verb) => `${verb} configmaps`),
      ...['list', 'watch'].map((verb) => `${verb} namespaces`),
      ...['get', 'list', 'create', 'patch', 'delete'].map((verb) => `${verb} batch/jobs`),
      // Whether Pod security is enforced where its Jobs are.
      'get namespaces',
      // Why a Job of theirs has no Pod.
      'list events',
      ...['get', 'list', 'watch'].map((verb) => `${verb} secrets`),
      // Every authenticated user may ask what it may do.
      'create authorization.k8s.io/selfsubjectaccessreviews',
      'create authorization.k8s.io/selfsubjectrulesreviews',
    ];
    const selfReview = 'create authentication.k8s.io/selfsubjectreviews';
    expect(allowed.filter((each) => each !== selfReview).sort()).toEqual(expected.sort());

    await applyFile(cluster, deploy('virtual-ips.yaml'));
    await waitFor('the role is known', () =>
      mayOperator({ group: '', resource: 'services', subresource: '', verb: 'create', namespace: OPERATOR }),
    );
    expect((await allAllowed()).filter((each) => !allowed.includes(each)).sort()).toEqual(
      [
        ...['get', 'patch'].map((verb) => `${verb} paas.org/virtualips`),
        'patch paas.org/virtualips/status',
        'list paas.org/groupsegmentmappings',
        ...['create', 'delete'].map((verb) => `${verb} services`),
      ].sort(),
    );

    // With the role of the shipped Redis it makes the password, and may do nothing else besides.
    const refused = await generateSecret();
    expect(refused.code).toBe(1);
    expect(refused.said).toContain(`the ServiceAccount may not create secrets in namespace ${OPERATOR}`);
    for (const object of objectsIn(deploy('redis.yaml')).filter(({ kind }) => kind.startsWith('Role'))) {
      expect((await apply(cluster, object)).status).toBe(201);
    }
    await waitFor('the role is known', () => mayOperator({ ...SECRETS, verb: 'create' }));
    const forSecrets = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
    const mayNow = await Promise.all(forSecrets.map((verb) => mayOperator({ ...SECRETS, verb })));
    expect(forSecrets.filter((_, index) => mayNow[index])).toEqual(['get', 'list', 'watch', 'create']);
    const secret = `/api/v1/namespaces/${OPERATOR}/secrets/${OPERATOR}-redis`;
    expect((await cluster.send(secret)).status).toBe(404);
    const codes = (await Promise.all([generateSecret(), generateSecret()])).map(({ code }) => code);
    const { body } = await cluster.send(secret);
    expect([codes, Buffer.from(body.data.REDIS_PASSWORD, 'base64').toString()]).toEqual([[0, 0], expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect((await generateSecret()).code).toBe(0);
    expect((await cluster.send(secret)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  }, 120_000);

  test('has no wildcard in its roles', () => {
    const roles = objectsIn(deploy('rbac.yaml')).filter(({ kind }) => kind.endsWith('Role'));
    expect(roles).toHaveLength(4);
    expect(JSON.stringify([...roles, ...objectsIn(deploy('virtual-ips.yaml'))])).not.toContain('*');
  });
});

describe('metrics that ask for tokens', () => {
  test('are for whoever is bound to the shipped role, by two rights of the operator more', async () => {
    const asks = ['authentication.k8s.io/tokenreviews', 'authorization.k8s.io/subjectaccessreviews'].map((resource) => {
      const [group = '', plural = ''] = resource.split('/');
      return { group, resource: plural, subresource: '', namespace: '' };
    });
    const may = async () => Promise.all(asks.map((each) => mayOperator({ ...each, verb: 'create' })));
    expect(await may()).toEqual([false, false]);
    const connection = connectBy(cluster.kubeconfigFor(token));
    onTestFinished(() => connection.close());
    const troubles: string[] = [];
    let now = 0;
    const access = tokenAccess({ connection, clock: { monotonic: () => now }, path: '/metrics', onTrouble: (text) => troubles.push(text) });
    const by = async (bearer: string): Promise<unknown> => (await access(`Bearer ${bearer}`))?.status ?? 200;
    await apply(cluster, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'prometheus', namespace: 'default' } });
    const prometheus = await cluster.tokenFor('default', 'prometheus');
    expect(await by(prometheus)).toBe(503);
    expect(troubles.join()).toContain('the ServiceAccount may not create tokenreviews');

    await applyFile(cluster, deploy('metrics-auth.yaml'));
    await waitFor('the role is known', async () => (await may()).every(Boolean));
    expect(await by('made-up')).toBe(401);
    expect(await access(`Bearer ${prometheus}`)).toMatchObject({
      status: 403,
      message: expect.stringContaining('system:serviceaccount:default:prometheus may not get /metrics'),
    });
    const bound = await apply(cluster, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'prometheus' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${OPERATOR}-metrics-reader` },
      subjects: [{ kind: 'ServiceAccount', name: 'prometheus', namespace: 'default' }],
    });
    expect(bound.status).toBe(201);
    await waitFor('the right is seen', async () => {
      // As time goes by, what was refused is asked for again.
      now += 60_000;
      return (await by(prometheus)) === 200;
    });
  });
});

describe('what is installed', () => {
  const rendered = (folder: string): readonly KubeObject[] =>
    // The definitions of kinds are installed above, and test/crds is about them.
    objectsInText(execFileSync(findKubectl(), ['kustomize', folder], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 })).filter(
      ({ kind }) => kind !== 'CustomResourceDefinition',
    );
  const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
  let applied: readonly KubeObject[];

  beforeAll(async () => {
    applied = rendered(deploy('.'));
    const { code, stderr } = await kubectl(['apply', '-k', deploy('.')], {
      kubeconfig: cluster.kubeconfig,
      timeoutMs: 60_000,
    });
    expect(code, stderr).toBe(0);
  }, 90_000);

  test.each(rendered(deploy('.')).map(nameOf))('by kubectl apply -k, %s, is taken by the server as it is written', async (name) => {
    const object = applied.find((each) => nameOf(each) === name);
    if (!object) throw new Error(`deploy/ has no ${name}`);
    const { status, body } = await cluster.send(await pathOf(cluster, object));
    expect(status).toBe(200);
    // What the server does not know it drops.
    expect(body).toMatchObject(object);
  });

  const looks = ['dashboard', 'inspector'].flatMap((name) => objectsIn(deploy(`${name}.yaml`)));
  test.each(looks)('with what people look at, $kind $metadata.name, is taken as it is written', async (object) => {
    const { status, body } = await apply(cluster, object);
    expect(status).toBe(201);
    expect(body).toMatchObject(object);
  });

  test('is run by the ServiceAccount that has the roles', () =>
    expect(objectsIn(deploy('operator.yaml'))).toMatchObject([{ spec: { template: { spec: { serviceAccountName: OPERATOR } } } }]));
});

/** What the Deployment runs before the operator, with the operator's token. */
const generateSecret = async (): Promise<{ readonly code: unknown; readonly said: string }> => {
  const args = ['generate-secret', '--secret', `${OPERATOR}-redis`, '--key', 'REDIS_PASSWORD', '--namespace', OPERATOR];
  const env = { PATH: '', KUBECONFIG: cluster.kubeconfigFor(token) };
  const child = spawn(process.execPath, [join(deploy('..'), 'bin/routedip-operator.mjs'), ...args], { env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      said += data;
    });
  }
  return { code: await new Promise((resolve) => child.on('close', resolve)), said };
};

const mayOperator = async (attributes: Resource & { verb: string; namespace: string }): Promise<boolean> => {
  const { body } = await cluster.send('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    method: 'POST',
    token,
    body: { spec: { resourceAttributes: attributes } },
  });
  return body.status.allowed;
};
