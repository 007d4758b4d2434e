import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installRoles } from '../support/kube-apply.ts';
import { waitFor } from '../support/wait-for.ts';

const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';
const NODE = '/api/v1/nodes/node-a';
const STATUS = `${NODE}/status`;
const JSON_PATCH = 'application/json-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

const IPV4 = 'flipop.digitalocean.com/ipv4-reserved-ip';
const IPV6 = 'flipop.digitalocean.com/ipv6-reserved-ip';
const KEY = 'routedip.io/routed-ip';
const EVACUATED = 'routedip.io/Evacuated';
const NOW = '2026-01-01T00:00:00Z';

const DENIED = {
  metadata: 'the operator may change nothing but annotations in the metadata of a Node',
  annotations: `the operator may change no annotations of a Node but ${IPV4} and ${IPV6}`,
  spec: 'the operator may change nothing but taints in the spec of a Node',
  taints: `the operator may change no taint of a Node but ${KEY}, without a value and without NoExecute`,
  status: 'the operator may change nothing but conditions in the status of a Node',
  conditions: `the operator may change no condition of a Node but ${EVACUATED}`,
} as const;

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'Said',
  message: 'said',
  lastHeartbeatTime: NOW,
  lastTransitionTime: NOW,
});

const FOREIGN = { key: 'dedicated', value: 'ingress', effect: 'NoExecute', timeAdded: NOW };
/** Bears our key, but does what ours never does. */
const EVICTING = { key: KEY, effect: 'NoExecute' };
const OURS = { key: KEY, effect: 'NoSchedule' };

/** As large as Nodes get, with what a server might write in another way than it was written. */
const LARGE = {
  labels: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`example.com/label-${index}`, `value-${index}`])),
  annotations: { 'example.com/large': 'x'.repeat(200 * 1024) },
  status: {
    capacity: { cpu: '4000m', memory: '16Gi', 'example.com/device': '1e3' },
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(type, 'True')),
    images: Array.from({ length: 500 }, (_, index) => ({ names: [`registry.example.com/image-${index}:v1`], sizeBytes: index })),
  },
};

let cluster: Cluster;

/** `allowed`, or what is told to the operator, or to `user`. */
const told = async (path: string, body: unknown, contentType?: string, user = OPERATOR): Promise<string> => {
  const answer = await cluster.send(path, { method: 'PATCH', body, user, ...(contentType !== undefined && { contentType }) });
  if (answer.status === 200) return 'allowed';
  expect([answer.status, answer.body.reason]).toEqual([403, 'Forbidden']);
  return String(answer.body.message).replace(
    `nodes "node-a" is forbidden: ValidatingAdmissionPolicy 'routedip-operator-nodes' with binding 'routedip-operator-nodes' denied request: `,
    '',
  );
};

const node = async () => (await cluster.send(NODE)).body;

const asAdmin = async (path: string, body: unknown, contentType?: string): Promise<void> => {
  const answer = await cluster.send(path, { method: 'PATCH', body, ...(contentType !== undefined && { contentType }) });
  expect([answer.status, answer.body.message]).toEqual([200, undefined]);
};

beforeAll(async () => {
  // In the operator's name it is asked for what that never does.
  cluster = await startCluster({ audit: false, controllers: ['validatingadmissionpolicy-status-controller'] });
  await installRoles(cluster);
  // Others get the same right, so that it is the policy that tells them from the operator.
  const rbac = 'rbac.authorization.k8s.io';
  const bound = await apply(cluster, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'others' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'routedip-operator' },
    subjects: ['jane', 'system:serviceaccount:default:routedip-operator'].map((name) => ({ apiGroup: rbac, kind: 'User', name })),
  });
  expect(bound.status).toBe(201);
  const { labels, annotations, status } = LARGE;
  const created = await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-a', labels, annotations, finalizers: ['example.com/kept'] } as { name: string },
    spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'], providerID: 'digitalocean://1' },
  });
  expect(created.status).toBe(201);
  await asAdmin(STATUS, { status });
  await waitFor('the policy counts', async () => (await told(`${NODE}?dryRun=All`, { spec: { unschedulable: true } })) === DENIED.spec);
});

afterAll(() => cluster?.stop());

beforeEach(() => asAdmin(NODE, { spec: { taints: [FOREIGN, EVICTING], unschedulable: null } }));

test('the policy names nothing that the server does not know of Nodes', async () => {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/routedip-operator-nodes';
  await waitFor('its types are checked', async () => (await cluster.send(path)).body.status?.typeChecking !== undefined);
  expect((await cluster.send(path)).body.status.typeChecking).toEqual({});
});

describe('of a Node, the operator', () => {
  test('may set, change and take off the annotations that name its addresses', async () => {
    for (const [address, other] of [
      ['192.0.2.1', '2001:db8::1'],
      ['192.0.2.2', '2001:db8::2'],
    ]) {
      expect(await told(NODE, { metadata: { annotations: { [IPV4]: address, [IPV6]: other } } })).toBe('allowed');
      expect((await node()).metadata.annotations).toMatchObject({ [IPV4]: address, [IPV6]: other });
    }
    for (const name of [IPV4, IPV6]) {
      const path = `/metadata/annotations/${name.replace('/', '~1')}`;
      expect(await told(NODE, [{ op: 'remove', path }], JSON_PATCH)).toBe('allowed');
    }
    expect(Object.keys((await node()).metadata.annotations)).toEqual(['example.com/large']);
  });

  test.each([
    ['beside those of others', [FOREIGN, EVICTING]],
    ['where there is no other', []],
  ])('may put on its taint, change its effect and take it off, %s', async (_, others) => {
    const set = (taints: readonly unknown[]) => [
      taints.length === 0 ? { op: 'remove', path: '/spec/taints' } : { op: 'add', path: '/spec/taints', value: taints },
    ];
    await asAdmin(NODE, { spec: { taints: others } });
    for (const own of [[OURS], [{ ...OURS, effect: 'PreferNoSchedule' }], []]) {
      expect(await told(NODE, set([...others, ...own]), JSON_PATCH)).toBe('allowed');
      expect((await node()).spec.taints ?? []).toEqual([...others, ...own]);
    }
  });

  test('may write and take off its condition', async () => {
    for (const own of [condition(EVACUATED, 'False'), condition(EVACUATED, 'True'), { type: EVACUATED, $patch: 'delete' }]) {
      expect(await told(STATUS, { status: { conditions: [own] } }, STRATEGIC)).toBe('allowed');
    }
    expect((await node()).status.conditions).toEqual(LARGE.status.conditions);
  });

  test('may do so whatever others write meanwhile', async () => {
    // What it goes by is older than what is stored: the server puts both together before it asks the policy.
    await asAdmin(NODE, { metadata: { labels: { 'example.com/late': 'yes' } }, spec: { unschedulable: true } });
    await asAdmin(STATUS, { status: { conditions: [condition('Ready', 'False')] } }, STRATEGIC);
    expect(await told(NODE, { metadata: { annotations: { [IPV4]: '192.0.2.1' } } })).toBe('allowed');
    expect(await told(STATUS, { status: { conditions: [condition(EVACUATED, 'True')] } }, STRATEGIC)).toBe('allowed');
    await asAdmin(NODE, { metadata: { annotations: { [IPV4]: null }, labels: { 'example.com/late': null } } });
    await asAdmin(STATUS, { status: { conditions: LARGE.status.conditions } });
  });

  test.each<[string, string, unknown, string?]>([
    ['a label', DENIED.metadata, { metadata: { labels: { 'example.com/label-1': 'other' } } }],
    ['a new label', DENIED.metadata, { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }],
    ['a label of its own group', DENIED.metadata, { metadata: { labels: { 'routedip.io/label': 'x' } } }],
    ['to have no labels', DENIED.metadata, { metadata: { labels: null } }],
    ['a finalizer', DENIED.metadata, { metadata: { finalizers: null } }],
    ['an owner', DENIED.metadata, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } }],
    ['an annotation', DENIED.annotations, { metadata: { annotations: { 'example.com/large': 'other' } } }],
    ['a new annotation', DENIED.annotations, { metadata: { annotations: { 'routedip.io/evacuate': 'true' } } }],
    ['to have no annotations', DENIED.annotations, { metadata: { annotations: null } }],
    ['to be cordoned', DENIED.spec, { spec: { unschedulable: true } }],
    ['a new taint', DENIED.taints, { spec: { taints: [FOREIGN, EVICTING, { key: 'example.com/new', effect: 'NoExecute' }] } }],
    ['to lose its taints', DENIED.taints, { spec: { taints: null } }],
    ['another taint in the place of one', DENIED.taints, { spec: { taints: [{ ...FOREIGN, effect: 'NoSchedule' }, EVICTING, OURS] } }],
    ['our taint with a value', DENIED.taints, { spec: { taints: [FOREIGN, EVICTING, { ...OURS, value: 'x' }] } }],
    ['our taint gone that evicts', DENIED.taints, { spec: { taints: [FOREIGN, OURS] } }],
  ])('may not give it %s', async (_, expected, body, contentType) => {
    const before = await node();
    expect(await told(NODE, body, contentType)).toBe(expected);
    expect(await node()).toEqual(before);
  });

  test('may not have it take Pods again', async () => {
    await asAdmin(NODE, { spec: { unschedulable: true } });
    expect(await told(NODE, [{ op: 'remove', path: '/spec/unschedulable' }], JSON_PATCH)).toBe(DENIED.spec);
    expect(await told(NODE, { spec: { unschedulable: false } })).toBe(DENIED.spec);
    expect((await node()).spec.unschedulable).toBe(true);
  });

  test.each<[string, string, unknown, string?]>([
    ['its readiness', DENIED.conditions, { status: { conditions: [condition('Ready', 'False')] } }, STRATEGIC],
    ['that it has a condition', DENIED.conditions, { status: { conditions: [{ type: 'Ready', $patch: 'delete' }] } }, STRATEGIC],
    ['all conditions', DENIED.conditions, { status: { conditions: [condition(EVACUATED, 'True')] } }],
    ['its addresses', DENIED.status, { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.66' }] } }],
    ['its capacity', DENIED.status, { status: { capacity: { cpu: '1' } } }],
    ['its daemon', DENIED.status, { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } }],
    ['its images', DENIED.status, { status: { images: null } }],
    // The server takes metadata along with the status.
    ['its labels', DENIED.metadata, { metadata: { labels: { 'example.com/label-1': 'other' } } }],
    ['its annotations', DENIED.annotations, { metadata: { annotations: { 'example.com/new': 'x' } } }],
  ])('may not change %s by the status', async (_, expected, body, contentType) => {
    expect(await told(STATUS, body, contentType)).toBe(expected);
  });
});

test.each(['jane', 'system:serviceaccount:default:routedip-operator', 'system:serviceaccount:kube-system:routedip-operator-2'])(
  'the policy does not concern %s',
  async (user) => {
    const expected = user.endsWith('-2') ? expect.stringContaining('cannot patch resource') : 'allowed';
    expect(await told(`${NODE}?dryRun=All`, { spec: { unschedulable: true } }, undefined, user)).toEqual(expected);
  },
);
