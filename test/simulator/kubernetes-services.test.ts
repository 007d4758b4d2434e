import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { startKubernetes } from '../../simulator/kubernetes/server.ts';

const REF = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' };

/** A server of this version with a Service of type LoadBalancer. */
const withService = async (version: string, spec: JsonObject = {}) => {
  const simulator = await startKubernetes({ version });
  onTestFinished(() => simulator.close());
  const { store } = simulator;
  const { apiVersion, kind, ...metadata } = REF;
  store.create({ apiVersion, kind, metadata, spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec } });
  return {
    publish: (ingress: JsonObject[]) => store.patch(REF, { status: { loadBalancer: { ingress } } }, { subresource: 'status' }),
    change: (body: JsonObject) => store.patch(REF, body),
  };
};

describe('the addresses of a simulated Service', () => {
  test.each([
    ['v1.20.2', [{ ip: '192.0.2.1' }]],
    ['v1.28.0', []],
    ['v1.36.3', []],
  ])('stay with a change of its type before servers took them away: %s', async (version, left) => {
    const { publish, change } = await withService(version);
    expect(publish([{ ip: '192.0.2.1' }]).status).toMatchObject({ loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } });
    const { spec, status } = change({ spec: { type: 'ClusterIP' } });
    expect(spec).not.toHaveProperty('externalTrafficPolicy');
    expect(status).toEqual({ loadBalancer: left.length === 0 ? {} : { ingress: left } });
  });

  test('may be given to one of another type before 1.29 alone', async () => {
    const older = await withService('v1.28.0', { type: 'ClusterIP' });
    expect(older.publish([{ ip: '192.0.2.1' }]).status).toEqual({ loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } });
    expect(older.change({ metadata: { labels: { a: 'b' } } }).status).toEqual({ loadBalancer: {} });
    const newer = await withService('v1.29.0', { type: 'ClusterIP' });
    expect(() => newer.publish([{ ip: '192.0.2.1' }])).toThrow("may only be used when `spec.type` is 'LoadBalancer'");
    expect(newer.publish([]).status).toEqual({ loadBalancer: { ingress: [] } });
  });

  test('have a mode from 1.30 on', async () => {
    const older = await withService('v1.29.0');
    expect(older.publish([{ ip: '192.0.2.1', ipMode: 'Proxy' }]).status).toEqual({ loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } });
    const newer = await withService('v1.30.0');
    const ingress = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2', ipMode: 'Proxy' }, { hostname: 'lb.example' }];
    expect(newer.publish(ingress).status).toEqual({
      loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }, { ip: '192.0.2.2', ipMode: 'Proxy' }, { hostname: 'lb.example' }] },
    });
  });
});

describe('the class of a simulated Service', () => {
  test('stays as long as the type does, and goes with it', async () => {
    const { change } = await withService('v1.36.3', { loadBalancerClass: 'example.com/a' });
    expect(() => change({ spec: { loadBalancerClass: 'example.com/b' } })).toThrow('may not change once set');
    expect(() => change({ spec: { loadBalancerClass: null } })).toThrow('may not change once set');
    expect(change({ spec: { type: 'NodePort' } }).spec).not.toHaveProperty('loadBalancerClass');
    expect(() => change({ spec: { loadBalancerClass: 'example.com/b' } })).toThrow("may only be used when `type` is 'LoadBalancer'");
  });

  test('is dropped by a server that does not know it', async () => {
    const { change } = await withService('v1.20.2', { loadBalancerClass: 'example.com/a' });
    const { spec } = change({ metadata: { labels: { a: 'b' } } });
    for (const field of ['loadBalancerClass', 'ipFamilies', 'allocateLoadBalancerNodePorts']) expect(spec).not.toHaveProperty(field);
    expect(spec).toMatchObject({ type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' });
  });
});

test('a simulated cluster has as many node ports as others have by default, and says when none is left', async () => {
  const simulator = await startKubernetes({ version: 'v1.36.3' });
  onTestFinished(() => simulator.close());
  const { apiVersion, kind, namespace } = REF;
  const create = (name: string, ports: JsonObject[]) =>
    simulator.store.create({ apiVersion, kind, metadata: { name, namespace }, spec: { type: 'NodePort', ports } });
  const ports = Array.from({ length: 2_767 }, (_, index) => ({ name: `p${index}`, port: index + 1 }));
  create('all-but-one', ports);
  create('last', [{ port: 80 }]);
  expect(() => create('none', [{ port: 80 }])).toThrow('range is full');
});
