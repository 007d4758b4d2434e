import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { plan } from '../../plugin/plan.ts';
import { EXIT } from '../../plugin/ports.ts';
import { node } from '../support/world.ts';
import { at, GROUPS, IPS, NO_FACTS, POOLS, ROUTED_IPS, SERVICES, world } from './support.ts';

const CLASSES = '/apis/routedip.io/v1alpha1/clusterroutedipclasses';
type Fields = Readonly<Record<string, unknown>>;

const group = (name: string, segment: string, excludedIPs: readonly string[] = []) => ({
  metadata: { name },
  spec: { segment, excludedIPs },
});

interface Served {
  readonly has?: string;
  readonly spec?: Fields;
  readonly metadata?: Fields;
  readonly age?: number;
}

const service = (name: string, { has, spec, metadata, age = 1000 }: Served = {}) => ({
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    creationTimestamp: at(-age),
    ...(has !== undefined && { finalizers: ['ips.paas.org/finalizer'] }),
    ...metadata,
  },
  spec: { type: 'LoadBalancer', ...spec },
  status: { loadBalancer: has === undefined ? {} : { ingress: [{ ip: has }] } },
});

const reserved = (address: string, owner: string, uid: string, more: Fields = {}) => ({
  metadata: {
    name: address,
    uid: `ip-${address}`,
    labels: { ipgroup: 'edge', ...(owner.startsWith('RoutedIP/') && { 'routedip.io/routedip-uid': uid }) },
    annotations: { 'virtualips.paas.il/owner': owner, 'ips.paas.org/owner-uid': uid, ...more },
  },
});

/** `shop` has 192.0.2.1, the only address of the group `edge`; `wait`, which is younger, has none. */
const CLUSTER = {
  [GROUPS]: [group('edge', '192.0.2.1/32')],
  [IPS]: [reserved('192.0.2.1', 'default/shop', 'uid-shop')],
  [SERVICES]: [service('shop', { has: '192.0.2.1' }), service('wait', { age: 500 }), service('none', { spec: { type: 'ClusterIP' } })],
};

async function planned(answers: Readonly<Record<string, unknown>>, ...objects: readonly Fields[]) {
  const content = objects.map((object) => stringify(object)).join('---\n');
  const made = world(answers, {
    read: () => content,
    namespace: 'default',
    facts: { ...NO_FACTS, nodes: async () => [node('a'), node('b')] },
  });
  const code = await plan(made.session, { file: 'x.yaml' });
  expect(made.patches).toEqual([]);
  return { code, text: made.out() };
}

const ipGroup = (name: string, segment: string, excludedIPs: readonly string[] = []): Fields => ({
  apiVersion: 'paas.org/v1',
  kind: 'IPGroup',
  metadata: { name },
  spec: { segment, excludedIPs },
});

const loadBalancer = (name: string, spec: Fields = {}, annotations: Fields = {}): Fields => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, annotations },
  spec: { type: 'LoadBalancer', ...spec },
});

const rows = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => /^[a-z]+ {2,}/.test(line))
    .map((line) => line.replace(/ {2,}/g, ' | '));

describe('a plan where an IPGroup is for some namespaces', () => {
  const ops = {
    ...group('edge', '192.0.2.0/30'),
    spec: { segment: '192.0.2.0/30', excludedIPs: [], namespaceSelector: { matchLabels: { team: 'ops' } } },
  };
  test.each([
    ['ops', true],
    ['shops', false],
  ])('goes by the labels of the Namespace: team %s', async (team, isServed) => {
    const answers = {
      ...CLUSTER,
      [GROUPS]: [ops],
      [IPS]: [],
      [SERVICES]: [],
      '/api/v1/namespaces': [{ metadata: { name: 'default', labels: { team } } }],
    };
    const { text } = await planned(answers, loadBalancer('shop'));
    expect(text.includes('192.0.2.0')).toBe(isServed);
  });
});

describe('kubectl routedip plan, IPGroups and Services', () => {
  test('a group that changes nothing', async () => {
    expect(await planned(CLUSTER, ipGroup('edge', '192.0.2.1/32'))).toEqual({
      code: EXIT.ok,
      text: 'Nothing would move if IPGroup edge were applied.',
    });
  });

  test('a group with more addresses serves who waits; one that shrinks takes nothing away', async () => {
    const more = await planned(CLUSTER, ipGroup('edge', '192.0.2.0/30', ['192.0.2.0']));
    expect([rows(more.text), more.code]).toEqual([['allocate | 192.0.2.2 | - | Service default/wait'], EXIT.attention]);
    const less = await planned(CLUSTER, ipGroup('edge', '192.0.2.8/32', ['192.0.2.8']));
    expect([less.text, less.code]).toEqual(['Nothing would move if IPGroup edge were applied.', EXIT.ok]);
  });

  test('the oldest Service is served first', async () => {
    const services = [service('young', { age: 10 }), service('old', { age: 900 }), ...CLUSTER[SERVICES]];
    const { text } = await planned({ ...CLUSTER, [SERVICES]: services }, ipGroup('second', '198.51.100.9/32'));
    expect(rows(text)).toEqual(['allocate | 198.51.100.9 | - | Service default/old']);
  });

  test('a group that cannot be read is told of', async () => {
    const { text, code } = await planned(CLUSTER, ipGroup('edge', '192.0.2.300/24'));
    expect(text).toContain('What would be wrong then:\nIPGroup edge: InvalidSegment: invalid CIDR address: 192.0.2.300/24');
    expect([rows(text), code]).toEqual([[], EXIT.attention]);
  });

  test('a new Service gets the address that the operator would choose, or the reason why it gets none', async () => {
    const second = { ...CLUSTER, [GROUPS]: [...CLUSTER[GROUPS], group('second', '198.51.100.8/30')] };
    const { text } = await planned(second, loadBalancer('new'));
    // `wait`, which waits already, is served whatever is applied.
    expect(rows(text.split('Without it')[0] ?? '')).toEqual(['allocate | 198.51.100.9 | - | Service default/new']);
    expect(rows(text.split('Without it')[1] ?? '')).toEqual(['allocate | 198.51.100.8 | - | Service default/wait']);
    const full = await planned(CLUSTER, loadBalancer('new'));
    expect(full.text).toContain('Service default/new: PoolExhausted: no IP could be allocated');
    expect([rows(full.text), full.code]).toEqual([[], EXIT.attention]);
  });

  test('a Service that asks for another address lists that one, and the former one goes to who waits', async () => {
    const answers = { ...CLUSTER, [GROUPS]: [group('edge', '192.0.2.0/30', ['192.0.2.0', '192.0.2.2'])] };
    const waiting = {
      ...answers,
      [SERVICES]: [...CLUSTER[SERVICES].slice(0, 1), service('pinned', { spec: { loadBalancerIP: '192.0.2.1' } })],
    };
    const { text } = await planned(waiting, loadBalancer('shop', { loadBalancerIP: '192.0.2.3' }));
    expect(rows(text)).toEqual([
      'release | 192.0.2.1 | Service default/shop | -',
      'allocate | 192.0.2.1 | - | Service default/pinned',
      'allocate | 192.0.2.3 | - | Service default/shop',
    ]);
    const refused = await planned(waiting, loadBalancer('shop', { loadBalancerIP: '192.0.2.2' }));
    expect(refused.text).toContain('Service default/shop: RequestedIPUnavailable: ');
    expect(rows(refused.text)).toEqual([]);
  });

  test('what was applied last time and is left out goes, what others have said stays', async () => {
    const former = JSON.stringify({ metadata: { annotations: { 'ips.paas.org/ipgroup': 'edge' } }, spec: { type: 'LoadBalancer' } });
    const annotations = { 'ips.paas.org/ipgroup': 'edge', 'kubectl.kubernetes.io/last-applied-configuration': former };
    const bound = service('bound', { metadata: { annotations } });
    const byHand = service('by-hand', { metadata: { annotations: { 'ips.paas.org/ipgroup': 'edge' } } });
    const answers = {
      ...CLUSTER,
      [GROUPS]: [...CLUSTER[GROUPS], group('second', '198.51.100.8/30')],
      [SERVICES]: [...CLUSTER[SERVICES].slice(0, 1), bound, byHand],
    };
    const { text } = await planned(answers, loadBalancer('bound'), loadBalancer('by-hand'));
    expect(rows(text)).toEqual(['allocate | 198.51.100.8 | - | Service default/bound']);
  });

  test('a Service that is no load balancer any more gives its address back', async () => {
    const { text } = await planned(CLUSTER, loadBalancer('shop', { type: 'ClusterIP' }));
    expect(rows(text)).toEqual(['release | 192.0.2.1 | Service default/shop | -', 'allocate | 192.0.2.1 | - | Service default/wait']);
  });

  test('Services of another class get nothing, unless the operator is seen to serve it', async () => {
    const groups = { ...CLUSTER, [GROUPS]: [group('edge', '192.0.2.0/30')] };
    const classed = loadBalancer('new', { loadBalancerClass: 'example.com/ours' });
    const waitsAnyway = 'allocate | 192.0.2.0 | - | Service default/wait';
    expect(rows((await planned(groups, classed)).text)).toEqual([waitsAnyway]);
    const ours = service('ours', { has: '192.0.2.2', spec: { loadBalancerClass: 'example.com/ours' } });
    const served = {
      ...groups,
      [IPS]: [...CLUSTER[IPS], reserved('192.0.2.2', 'default/ours', 'uid-ours')],
      [SERVICES]: [...CLUSTER[SERVICES], ours],
    };
    expect(rows((await planned(served, classed)).text)).toEqual(['allocate | 192.0.2.3 | - | Service default/new', waitsAnyway]);
  });

  test('a cluster that has no IPGroups yet', async () => {
    const first = await planned({ [SERVICES]: [service('shop')] }, ipGroup('edge', '192.0.2.7/32'));
    expect(rows(first.text)).toEqual(['allocate | 192.0.2.7 | - | Service default/shop']);
  });

  test('a Service that somebody else serves stays his, with the first IPGroup as well', async () => {
    const managedFields = [{ manager: 'cloud', fieldsV1: { 'f:status': { 'f:loadBalancer': { 'f:ingress': {} } } } }];
    const theirs = service('theirs', { has: '203.0.113.80', metadata: { managedFields, finalizers: [] } });
    const first = await planned({ [SERVICES]: [theirs] }, ipGroup('edge', '192.0.2.7/32'));
    expect(first.text).toBe('Nothing would move if IPGroup edge were applied.');
  });

  test('Services are not read for what has nothing to do with them', async () => {
    const pool = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', metadata: { name: 'x' } };
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: ['198.51.100.1'] };
    const answers = {
      [POOLS]: [],
      [SERVICES]: 'you may not list services',
      [GROUPS]: 'you may not list ipgroups',
      [IPS]: 'you may not list ips',
    };
    expect(rows((await planned(answers, { ...pool, spec })).text)).toEqual(['assign | 198.51.100.1 | - | a']);
    await expect(planned(answers, ipGroup('edge', '192.0.2.0/30'))).rejects.toThrow('you may not list');
  });
});

describe('kubectl routedip plan, RoutedIPs with addresses of an IPGroup', () => {
  const CLASS = 'example.com/http';
  const template = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };
  const http = {
    metadata: { name: 'http' },
    spec: { className: CLASS, region: 'nyc3', ipGroup: 'edge', perNodeIPLimit: 10, updateRoutedIP: template },
  };
  const routed = (name: string): Fields => ({
    apiVersion: 'routedip.io/v1alpha1',
    kind: 'RoutedIP',
    metadata: { name },
    spec: { className: CLASS, serviceRef: { serviceName: name } },
  });
  const stands = {
    metadata: { name: 'has', namespace: 'default', uid: 'uid-has', creationTimestamp: at(-99), finalizers: ['routedip.io/finalizer'] },
    spec: { className: CLASS, serviceRef: { serviceName: 'has' } },
    status: { routedIP: '192.0.2.1', assignedNode: 'a', providerID: 'digitalocean://a', addressOrigin: 'Created', state: 'Stable' },
  };
  const nodePort = async () => ({
    type: 'NodePort',
    hasSelector: true,
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30_080 }],
    endpoints: [{ node: 'a', ready: true, pod: null }],
  });
  const answers = {
    [CLASSES]: [http],
    [ROUTED_IPS]: [stands],
    [GROUPS]: [group('edge', '192.0.2.1/31'), group('more', '198.51.100.0/31')],
    [IPS]: [reserved('192.0.2.1', 'RoutedIP/default/has', 'uid-has', { 'routedip.io/reclaim-policy': 'Delete' })],
  };
  const plans = async (change: Fields) => {
    const made = world(answers, {
      read: () => stringify(change),
      namespace: 'default',
      facts: { ...NO_FACTS, nodes: async () => [node('a'), node('b')], service: nodePort },
    });
    const code = await plan(made.session, { file: 'x.yaml' });
    return { code, text: made.out() };
  };

  test('one that has its address keeps it', async () => {
    expect(await plans(routed('has'))).toEqual({ code: EXIT.ok, text: 'Nothing would move if RoutedIP default/has were applied.' });
  });

  test('a new one gets a free address of its group, on its node', async () => {
    const { text } = await plans(routed('new'));
    expect(rows(text)).toEqual(['assign | 192.0.2.0 | - | a', 'allocate | 192.0.2.0 | - | RoutedIP default/new']);
  });
});
