import { describe, expect, test } from 'vitest';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { serviceQueryOf } from '../../../../machines/model/service-ref.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { addNode, nodeRef, poolObject, setReady, sourceOn } from '../support.ts';
import { addBackend, following, prepared, refOf, removeBackend, routedIPObject, serviceObject, sliceObject } from './services-support.ts';

const RIP = routedIPObject('rip');
const WEB = serviceObject('web');
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

/** A RoutedIP for the Service web, with a Pod on a that is ready and one on b that is not. */
const web = (simulator: KubernetesSimulator): void => {
  addBackend(simulator, 'x', 'a');
  addBackend(simulator, 'y', 'b');
  simulator.store.create(WEB);
  simulator.store.create(sliceObject('web-1', 'web', ['x@a', '!y@b']));
  simulator.store.create(RIP);
};

const setSlice = (simulator: KubernetesSimulator, name: string, service: string, endpoints: readonly string[]): void => {
  const slice = sliceObject(name, service, endpoints);
  simulator.store.patch(refOf(slice), { endpoints: slice.endpoints ?? [] });
};

describe('a RoutedIP', () => {
  test('is told its Service: ports, endpoints with their Pods, and their nodes, ready or not', async () => {
    const { seen } = await following(web);
    expect(seen.told).toEqual([expect.stringMatching(/^observed rip /), 'fact rip']);
    const fact = seen.facts.get('rip');
    expect(fact).toMatchObject({ query: serviceQueryOf('default', 'web'), serving: null });
    expect(seen.nodes('rip')).toEqual(['a', 'b']);
    const pod = (name: string) => ({
      name,
      hostNetwork: false,
      ports: [{ name: 'http', containerPort: 8080, hostPort: null, protocol: 'TCP' }],
    });
    expect(fact?.service).toEqual({
      type: 'NodePort',
      hasSelector: true,
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'http', nodePort: 30080 }],
      endpoints: [
        { node: 'a', ready: true, pod: pod('x') },
        { node: 'b', ready: false, pod: pod('y') },
      ],
    });
  });

  test('is told which ports its Pods open on their nodes', async () => {
    const { seen } = await following((simulator) => {
      const ports = [
        { name: 'http', containerPort: 8080, hostPort: 80 },
        { containerPort: 53, protocol: 'UDP' },
      ];
      const containers = [{ name: 'main', image: 'registry.example/app:1.0', ports }];
      addBackend(simulator, 'x', 'a', { containers });
      addBackend(simulator, 'y', 'b', { hostNetwork: true });
      simulator.store.create(serviceObject('web', { type: 'ClusterIP', ports: [{ port: 80, targetPort: 8080 }] }));
      simulator.store.create(sliceObject('web-1', 'web', ['x@a', 'y@b']));
      simulator.store.create(RIP);
    });
    expect(seen.service()?.ports).toEqual([{ name: '', port: 80, protocol: 'TCP', targetPort: 8080, nodePort: null }]);
    const [onA, onB] = seen.service()?.endpoints ?? [];
    expect(onA?.pod).toMatchObject({
      hostNetwork: false,
      ports: [
        { name: 'http', containerPort: 8080, hostPort: 80, protocol: 'TCP' },
        { name: '', containerPort: 53, hostPort: null, protocol: 'UDP' },
      ],
    });
    expect(onB?.pod).toMatchObject({ hostNetwork: true });
  });

  test('is told that a node listens as before until the Pod is seen that takes the place of the former one', async () => {
    const containers = [{ name: 'main', image: 'registry.example/app:1.0', ports: [{ name: 'http', containerPort: 8080, hostPort: 80 }] }];
    const { simulator, seen } = await following((each) => {
      addBackend(each, 'x', 'a', { containers });
      each.store.create(WEB);
      each.store.create(sliceObject('web-1', 'web', ['x@a']));
      each.store.create(RIP);
    });
    const hostPorts = () => (seen.service()?.endpoints ?? []).map(({ node, pod }) => [node, pod?.name, pod?.ports[0]?.hostPort]);
    expect(hostPorts()).toEqual([['a', 'x', 80]]);
    setSlice(simulator, 'web-1', 'web', ['z@a', 'w@b']);
    await waitFor('the endpoints', () => hostPorts().length === 2);
    removeBackend(simulator, 'x');
    expect(hostPorts()).toEqual([
      ['a', 'x', 80],
      ['b', undefined, undefined],
    ]);
    const other = containers.map((container) => ({ ...container, ports: [{ name: 'http', containerPort: 8080, hostPort: 81 }] }));
    addBackend(simulator, 'z', 'a', { containers: other });
    await waitFor('the new Pod', () => hostPorts()[0]?.[2] === 81);
  });

  test('is told null for a Service that does not exist, its ports when it comes, and null when it is gone', async () => {
    const { seen, simulator } = await following((cluster) => void cluster.store.create(RIP));
    expect(seen.facts.get('rip')).toEqual({ query: serviceQueryOf('default', 'web'), nodes: [], serving: null, service: null });
    simulator.store.create(WEB);
    await waitFor('the Service', () => seen.service()?.type === 'NodePort');
    simulator.store.patch(refOf(WEB), { spec: { ports: [{ name: 'http', port: 80, nodePort: 30081, protocol: 'TCP' }] } });
    await waitFor('the port', () => seen.service()?.ports[0]?.nodePort === 30081);
    simulator.store.delete(refOf(WEB));
    await waitFor('it is gone', () => seen.service() === null);
  });

  test('is told of a Service without a selector', async () => {
    const { seen } = await following((cluster) => {
      cluster.store.create(serviceObject('web', { type: 'ExternalName', externalName: 'web.example.com', selector: null }));
      cluster.store.create(RIP);
    });
    expect(seen.service()).toMatchObject({ type: 'ExternalName', hasSelector: false, endpoints: [] });
  });

  test('follows endpoints that become ready, terminate, move and go, in all slices of its Service', async () => {
    const { seen, simulator } = await following(web);
    setSlice(simulator, 'web-1', 'web', ['x@a', 'y@b']);
    await waitFor('y is ready', () => seen.endpoints() === 'x@a,y@b');
    simulator.store.create(sliceObject('web-2', 'web', ['z@c', '!x@a']));
    await waitFor('z has come, once, and x is there once', () => seen.endpoints() === 'x@a,y@b,?@c');
    addBackend(simulator, 'z', 'c');
    await waitFor('the Pod of z is seen', () => seen.endpoints() === 'x@a,y@b,z@c');
    const terminating = { addresses: ['10.1.0.1'], nodeName: 'c', conditions: { ready: true, serving: true, terminating: true } };
    simulator.store.patch(refOf(sliceObject('web-2', 'web', [])), { endpoints: [terminating] });
    await waitFor('what terminates is not ready', () => seen.endpoints() === 'x@a,y@b,!?@c');
    simulator.store.delete(refOf(sliceObject('web-2', 'web', [])));
    await waitFor('the slice is gone', () => seen.endpoints() === 'x@a,y@b');
    setSlice(simulator, 'web-1', 'web', ['x@a']);
    await waitFor('y is gone', () => seen.endpoints() === 'x@a');
  });

  test('is told of an endpoint whose readiness is not known as ready, and of none without a node', async () => {
    const { seen } = await following((simulator) => {
      simulator.store.create(WEB);
      const slice = sliceObject('web-1', 'web', []);
      const endpoints = [{ addresses: ['10.1.0.1'], nodeName: 'a' }, { addresses: ['10.1.0.2'] }];
      simulator.store.create({ ...slice, endpoints });
      simulator.store.create(RIP);
    });
    expect(seen.service()?.endpoints).toEqual([{ node: 'a', ready: true, pod: null }]);
  });

  test('is told nothing of what does not decide', async () => {
    const { seen, simulator, watching } = await following((cluster) => {
      web(cluster);
      cluster.store.create(serviceObject('other', { ports: [{ port: 81 }] }));
    });
    for (const plural of ['nodes', 'services', 'endpointslices', 'pods']) await watching(plural);
    const before = seen.told.length;
    setReady(simulator, 'c', false);
    simulator.store.patch(nodeRef('a'), { metadata: { annotations: { heartbeat: '1' } } });
    simulator.store.patch(nodeRef('a'), { status: { images: [] } }, { subresource: 'status' });
    addNode(simulator, 'd');
    addBackend(simulator, 'unready', 'c');
    simulator.store.patch({ apiVersion: 'v1', kind: 'Pod', name: 'x', namespace: 'default' }, { metadata: { annotations: { seen: '1' } } });
    simulator.store.patch(refOf(WEB), { metadata: { annotations: { seen: '1' } } });
    simulator.store.create(sliceObject('other-1', 'other', ['o@c']));
    simulator.store.patch(refOf(serviceObject('other')), { spec: { ports: [{ port: 82 }] } });
    simulator.store.patch(refOf(RIP), { status: { state: 'Stable' } }, { subresource: 'status' });
    // What decides comes after it, in each watch.
    setReady(simulator, 'a', false);
    await waitFor('the node', () => seen.nodes('rip')?.join() === '!a,b');
    setSlice(simulator, 'web-1', 'web', ['!x@a', '!y@b']);
    await waitFor('the endpoint', () => seen.endpoints() === '!x@a,!y@b');
    // Slices and Pods come by watches of their own, of which either may be the first: here the slice is.
    setSlice(simulator, 'web-1', 'web', ['!x2@a', '!y@b']);
    await waitFor('the slice', () => seen.told.length === before + 3);
    expect(seen.endpoints(), 'the Pod that was there before').toBe('!x@a,!y@b');
    addBackend(simulator, 'x2', 'a', { hostNetwork: true });
    await waitFor('the Pod', () => seen.endpoints() === '!x2@a,!y@b');
    simulator.store.patch(refOf(WEB), { spec: { ports: [{ port: 81, protocol: 'TCP' }] } });
    await waitFor('the Service', () => seen.service()?.ports[0]?.port === 81);
    expect(seen.told.slice(before)).toEqual(Array(5).fill('fact rip'));
    simulator.store.patch(refOf(RIP), { metadata: { finalizers: ['routedip.io/finalizer'] } });
    await waitFor('the finalizer', () => seen.pools.get('rip')?.marks?.finalizers.length === 1);
    expect(seen.pools.get('rip')?.status).toMatchObject({ state: 'Stable' });
    expect(seen.count('observed rip')).toBe(2);
  });

  test('is told the label that keeps a node out of load balancing', async () => {
    const { seen, simulator } = await following(web);
    expect(seen.facts.get('rip')?.nodes[0]?.labels).not.toHaveProperty([EXCLUDED]);
    simulator.store.patch(nodeRef('a'), { metadata: { labels: { [EXCLUDED]: '', color: 'blue' } } });
    await waitFor('the label', () => seen.facts.get('rip')?.nodes[0]?.labels[EXCLUDED] === '');
  });

  test('keeps nodes that served it, until they are gone', async () => {
    const { seen, simulator } = await following(web);
    setSlice(simulator, 'web-1', 'web', ['z@c']);
    await waitFor('z', () => seen.endpoints() === '?@c');
    expect(seen.nodes('rip')).toEqual(['a', 'b', 'c']);
    simulator.store.delete(nodeRef('b'));
    await waitFor('b is gone', () => seen.nodes('rip')?.join() === 'a,c');
    setReady(simulator, 'a', false);
    await waitFor('a is still news', () => seen.nodes('rip')?.join() === '!a,c');
    simulator.store.delete(nodeRef('c'));
    await waitFor('c is gone', () => seen.nodes('rip')?.join() === '!a');
    expect(seen.endpoints()).toBe('?@c');
    addNode(simulator, 'c');
    await waitFor('c is back', () => seen.nodes('rip')?.join() === '!a,c');
  });

  test('is told the nodes that its status names, if they exist', async () => {
    const { seen } = await following((simulator) => {
      simulator.store.create(WEB);
      simulator.store.create(RIP);
      const status = { assignedNode: 'c', electedNode: 'b', previousNodes: ['a', 'gone'] };
      simulator.store.patch(refOf(RIP), { status }, { subresource: 'status' });
    });
    expect(seen.service()?.endpoints).toEqual([]);
    expect(seen.nodes('rip')).toEqual(['a', 'b', 'c']);
  });

  test('that names no Service is told, without facts, and holds nobody up', async () => {
    const { seen, source } = await following((simulator) => {
      simulator.store.create(routedIPObject('elsewhere', 'web', { serviceRef: { serviceName: 'web', namespace: 'a/b' } }));
      simulator.store.create(poolObject('pool', {}));
    });
    expect(seen.pools.has('elsewhere')).toBe(true);
    expect(seen.facts.has('elsewhere')).toBe(false);
    expect(seen.nodes('pool')).toEqual(['a', 'b', 'c']);
    expect(source.missing()).toEqual([]);
  });

  test('is told again on a resync', async () => {
    const { seen, source } = await following(web);
    await source.resync();
    await waitFor('the fact', () => seen.count('fact rip') === 2);
    expect(seen.count('observed rip')).toBe(2);
  });
});

describe('the watches of RoutedIPs', () => {
  test('are one for each kind of object, and end with the last that needs them', async () => {
    const twin = routedIPObject('twin');
    const { seen, simulator, watching } = await following((cluster) => {
      web(cluster);
      cluster.store.create(twin);
      cluster.store.create(serviceObject('mail'));
      cluster.store.create(routedIPObject('mail', 'mail'));
    });
    expect([...seen.facts.keys()].sort()).toEqual(['mail', 'rip', 'twin']);
    await watching('services');
    await watching('endpointslices');
    await watching('nodes');
    await watching('pods');
    simulator.store.delete(refOf(RIP));
    await waitFor('rip is gone', () => seen.count('gone rip') === 1);
    setSlice(simulator, 'web-1', 'web', ['y@b']);
    await waitFor('the twin goes on', () => seen.endpoints('twin') === 'y@b');
    simulator.store.delete(refOf(twin));
    await waitFor('the twin is gone', () => seen.count('gone twin') === 1);
    await watching('pods');
    simulator.store.delete(refOf(routedIPObject('mail')));
    for (const plural of ['services', 'endpointslices', 'nodes', 'pods']) await watching(plural, 0);
  });

  test('of nodes are shared with a pool that selects all of them', async () => {
    const { seen, watching } = await following((simulator) => {
      web(simulator);
      simulator.store.create(poolObject('pool', {}));
    });
    expect(seen.nodes('pool')).toEqual(['a', 'b', 'c']);
    expect(seen.nodes('rip')).toEqual(['a', 'b']);
    await watching('nodes');
  });

  test('are as few for a thousand RoutedIPs of Services with selectors of their own', async () => {
    const { seen, simulator } = await following((cluster) => {
      for (let index = 0; index < 1_000; index += 1) {
        cluster.store.create(serviceObject(`s${index}`));
        cluster.store.create(routedIPObject(`r${index}`, `s${index}`));
      }
    });
    expect(seen.facts.size).toBe(1_000);
    const watches = simulator.requests.filter(({ query }) => query.includes('watch=true')).map(({ path }) => path);
    expect(watches.length, watches.join(' ')).toBeLessThanOrEqual(9);
  });

  test('serve a Service whose selector changes as they are', async () => {
    const { seen, simulator, watching } = await following(web);
    await watching('pods');
    addBackend(simulator, 'green', 'c', {}, 'green');
    simulator.store.patch(refOf(WEB), { spec: { selector: { app: 'green' } } });
    setSlice(simulator, 'web-1', 'web', ['green@c']);
    await waitFor('the endpoints', () => seen.endpoints() === 'green@c');
    const asked = simulator.requests.filter(({ path, query }) => path.endsWith('/pods') && query.includes('watch=true'));
    expect(asked).toHaveLength(1);
  });

  test('move with a RoutedIP that names another Service', async () => {
    const { seen, simulator, watching } = await following((cluster) => {
      web(cluster);
      cluster.store.create(serviceObject('mail'));
      cluster.store.create(sliceObject('mail-1', 'mail', ['m@c']));
      addBackend(cluster, 'm', 'c', {}, 'mail');
    });
    simulator.store.patch(refOf(RIP), { spec: { serviceRef: { serviceName: 'mail' } } });
    await waitFor('the other Service', () => seen.endpoints() === 'm@c');
    expect(seen.facts.get('rip')?.query).toBe(serviceQueryOf('default', 'mail'));
    expect(seen.nodes('rip')).toEqual(['a', 'b', 'c']);
    await watching('pods');
  });

  test('that are not allowed are named, hold no pools up, and are told to who needs them until they are allowed', async () => {
    const { seen, connection } = await prepared((simulator) => {
      web(simulator);
      simulator.store.create(poolObject('pool', {}));
    });
    let allowed = false;
    const list: Connection['list'] = (request, item) =>
      !allowed && request.path.endsWith('/services')
        ? Promise.reject(refusal({ verb: 'list', path: request.path }, 403, 'User "operator" cannot do that'))
        : connection.list(request, item);
    const source = sourceOn({ ...connection, list });
    await source.start(seen);
    expect(seen.nodes('pool')).toEqual(['a', 'b', 'c']);
    expect(seen.pools.has('rip')).toBe(true);
    expect(seen.facts.has('rip')).toBe(false);
    expect(source.missing()).toEqual([expect.stringContaining('may not list services')]);
    expect(seen.hindrances).toEqual([['rip', expect.stringContaining('may not list services')]]);
    allowed = true;
    await waitFor('the fact', () => seen.endpoints() === 'x@a,!y@b');
    expect(source.missing()).toEqual([]);
    await waitFor('that it may', () => seen.hindrances.length === 2);
    expect(seen.hindrances.at(-1)).toEqual(['rip', null]);
  });
});
