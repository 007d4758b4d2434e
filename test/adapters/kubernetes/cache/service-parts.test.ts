import { describe, expect, test } from 'vitest';
import { type SeenEndpoint, trimEndpoints, trimSlice } from '../../../../adapters/kubernetes/cache/endpoint-slices.ts';
import { intern } from '../../../../adapters/kubernetes/cache/intern.ts';
import { trimPod } from '../../../../adapters/kubernetes/cache/trim-pod.ts';
import { trimService } from '../../../../adapters/kubernetes/cache/trim-service.ts';
import { endpointsIn, observedService } from '../../../../adapters/kubernetes/source/services.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'u' };

describe('a Service as it is kept', () => {
  const kept = (spec: object) => trimService({ metadata, spec })?.value;

  test('has its ports: a target by number, by name, and the port itself when nothing is said', () => {
    const ports = [
      { port: 80, targetPort: 8080, nodePort: 30080 },
      { name: 'tls', port: 443, targetPort: 'https', protocol: 'TCP', nodePort: 0 },
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'zero', port: 54, targetPort: 0 },
    ];
    expect(kept({ ports })?.ports).toEqual([
      { name: '', port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30080 },
      { name: 'tls', port: 443, protocol: 'TCP', targetPort: 'https', nodePort: null },
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53, nodePort: null },
      { name: 'zero', port: 54, protocol: 'TCP', targetPort: 54, nodePort: null },
    ]);
  });

  test('has a selector when it selects by something', () => {
    expect(kept({ selector: { a: '' } })?.hasSelector).toBe(true);
    for (const selector of [undefined, null, {}]) expect(kept({ selector })?.hasSelector).toBe(false);
  });

  test('says that the platform is told not to open its node ports', () => {
    const managed = (value: string) =>
      trimService({ metadata: { ...metadata, annotations: { 'kubernetes.digitalocean.com/firewall-managed': value } }, spec: {} })?.value;
    const unmanaged = managed('false');
    expect(managed('true')).not.toHaveProperty('isUnmanaged');
    expect(unmanaged && observedService(unmanaged, [], () => null)).toMatchObject({ isUnmanaged: true });
  });

  test('is a ClusterIP unless it says otherwise, and nothing when it has no name', () => {
    expect(kept({})).toEqual({ name: 'web', type: 'ClusterIP', ports: [], hasSelector: false });
    expect(kept({ type: 'ExternalName' })?.type).toBe('ExternalName');
    expect(trimService({ metadata: {}, spec: {} })).toBeNull();
  });
});

describe('a Pod that backs a Service as it is kept', () => {
  const kept = (spec: object) => trimPod({ metadata, spec }, intern())?.value;

  test('has the ports of its containers, and of init containers that run on', () => {
    const port = (containerPort: number) => ({ name: `p${containerPort}`, containerPort, hostPort: null, protocol: 'TCP' });
    const opening = (containerPort: number) => ({ ports: [{ name: `p${containerPort}`, containerPort, hostPort: 0 }] });
    const initContainers = [{ ...opening(3), restartPolicy: 'Always' }, opening(4)];
    expect(kept({ containers: [opening(1), {}, opening(2)], initContainers })).toMatchObject({
      hostNetwork: false,
      ports: [port(1), port(2), port(3)],
    });
  });

  test('shares its ports with Pods that have the same', () => {
    const shared = intern();
    const spec = { containers: [{ ports: [{ containerPort: 80, hostPort: 80 }] }], hostNetwork: true };
    const [one, other] = ['x', 'y'].map((name) => trimPod({ metadata: { ...metadata, name }, spec }, shared)?.value);
    expect(one?.ports).toEqual([{ name: '', containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
    expect(one?.ports).toBe(other?.ports);
    expect(one?.hostNetwork).toBe(true);
  });
});

describe('an EndpointSlice as it is kept', () => {
  const labels = { 'kubernetes.io/service-name': 'web' };
  const targetRef = { kind: 'Pod', name: 'x' };
  const kept = (endpoint: object) => trimSlice({ metadata: { ...metadata, labels }, endpoints: [endpoint] }, intern())?.value.endpoints;

  test.each<[string, object, boolean]>([
    ['it is ready', { ready: true }, true],
    ['nothing is said', {}, true],
    ['it is not ready', { ready: false }, false],
    ['it terminates though it serves', { ready: false, serving: true, terminating: true }, false],
    ['it terminates and is published as ready', { ready: true, serving: true, terminating: true }, false],
    ['it does not terminate', { ready: true, serving: true, terminating: false }, true],
  ])('has an endpoint as ready or not when %s', (_, conditions, ready) => {
    expect(kept({ nodeName: 'a', targetRef, conditions })).toEqual([{ node: 'a', pod: 'x', ready }]);
  });

  test.each<[string, object, readonly SeenEndpoint[]]>([
    ['its name', { nodeName: 'a', targetRef }, [{ node: 'a', pod: 'x', ready: true }]],
    ['the topology of v1beta1', { topology: { 'kubernetes.io/hostname': 'a' }, targetRef }, [{ node: 'a', pod: 'x', ready: true }]],
    [
      'what v1 has of a former topology',
      { deprecatedTopology: { 'kubernetes.io/hostname': 'a' }, targetRef },
      [{ node: 'a', pod: 'x', ready: true }],
    ],
    ['nothing', { targetRef }, []],
    ['an empty name', { nodeName: '', targetRef }, []],
  ])('knows the node by %s', (_, endpoint, expected) => {
    expect(kept(endpoint)).toEqual(expected);
  });

  test('names a Pod only when the endpoint is one', () => {
    expect(kept({ nodeName: 'a' })).toEqual([{ node: 'a', pod: '', ready: true }]);
    expect(kept({ nodeName: 'a', targetRef: { kind: 'Machine', name: 'x' } })).toEqual([{ node: 'a', pod: '', ready: true }]);
  });

  test('is none when it belongs to no Service', () => {
    expect(trimSlice({ metadata, endpoints: [] }, intern())).toBeNull();
  });

  test('may have no endpoints at all', () => {
    for (const endpoints of [null, undefined, []]) {
      expect(trimSlice({ metadata: { ...metadata, labels }, endpoints }, intern())?.value).toEqual({ service: 'web', endpoints: [] });
    }
  });
});

describe('Endpoints as they are kept', () => {
  test('have what is ready and what is not, of all subsets', () => {
    const address = (node: string, name: string) => ({ ip: '10.1.0.1', nodeName: node, targetRef: { kind: 'Pod', name } });
    const subsets = [
      { addresses: [address('a', 'x')], notReadyAddresses: [address('b', 'y'), { ip: '10.1.0.9' }] },
      { notReadyAddresses: [address('a', 'x')] },
      {},
    ];
    const value = trimEndpoints({ metadata, subsets }, intern())?.value;
    expect(value).toEqual({
      service: 'web',
      endpoints: [
        { node: 'a', pod: 'x', ready: true },
        { node: 'b', pod: 'y', ready: false },
        { node: 'a', pod: 'x', ready: false },
      ],
    });
    expect(trimEndpoints({ metadata }, intern())?.value).toEqual({ service: 'web', endpoints: [] });
  });
});

describe('the endpoints of a Service', () => {
  const slices = [
    {
      service: 'web',
      endpoints: [
        { node: 'b', pod: 'y', ready: false },
        { node: 'a', pod: 'z', ready: true },
      ],
    },
    { service: 'web', endpoints: [{ node: 'a', pod: 'x', ready: true }] },
    {
      service: 'web',
      endpoints: [
        { node: 'b', pod: 'y', ready: true },
        { node: 'a', pod: 'x', ready: false },
      ],
    },
  ];
  const expected = [
    { node: 'a', pod: 'x', ready: true },
    { node: 'a', pod: 'z', ready: true },
    { node: 'b', pod: 'y', ready: true },
  ];

  test('are each there once, ready when one slice says so, in one order for any order of the slices', () => {
    expect(endpointsIn(slices)).toEqual(expected);
    expect(endpointsIn(slices.toReversed())).toEqual(expected);
    expect(endpointsIn(slices.map(({ service, endpoints }) => ({ service, endpoints: endpoints.toReversed() })))).toEqual(expected);
  });

  test('sort by node before Pod, whatever their names begin with', () => {
    const endpoints = [
      { node: 'a-b', pod: 'x', ready: true },
      { node: 'a', pod: 'z', ready: true },
      { node: 'a.b', pod: 'x', ready: true },
    ];
    expect(endpointsIn([{ service: 'web', endpoints }]).map(({ node }) => node)).toEqual(['a', 'a-b', 'a.b']);
  });

  test('have their Pods as far as they are seen', () => {
    const service = { name: 'web', type: 'NodePort', ports: [], hasSelector: true };
    const x = { name: 'x', hostNetwork: true, ports: [] };
    const known = ({ pod }: { readonly pod: string }) => (pod === 'x' ? x : null);
    expect(observedService(service, [...expected, { node: 'c', pod: '', ready: true }], known)).toEqual({
      type: 'NodePort',
      hasSelector: true,
      ports: [],
      endpoints: [
        { node: 'a', ready: true, pod: x },
        { node: 'a', ready: true, pod: null },
        { node: 'b', ready: true, pod: null },
        { node: 'c', ready: true, pod: null },
      ],
    });
  });
});
