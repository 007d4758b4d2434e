import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusal } from '../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../adapters/kubernetes/client/connection.ts';
import {
  classObject,
  issuerObject,
  routedIPObject,
  ServiceRecorder,
  serviceObject,
} from '../adapters/kubernetes/source/services-support.ts';
import { connected, sourceOn } from '../adapters/kubernetes/support.ts';
import { type Cluster, startCluster } from './kube.ts';
import { apply, createNamespace, installCrds, installRoles, type KubeObject, pathOf } from './kube-apply.ts';
import { waitFor } from './wait-for.ts';

const OPERATOR = 'routedip-operator';

/** Nothing is to fail because the machine stands still for a while. */
const CALL_MS = 20_000;

let cluster: Cluster;
/** Bears the token of the operator's ServiceAccount: what is seen is seen with the shipped roles. */
let kubeconfig: string;

const create = async (object: object, namespace: string): Promise<void> => {
  const { status, body } = await apply(cluster, object as KubeObject, namespace);
  if (status !== 201) throw new Error(`${JSON.stringify(object)}: ${status} ${body.message}`);
};

const inNamespace = (object: object, namespace: string): KubeObject => {
  const { metadata, ...rest } = object as KubeObject;
  return { ...rest, metadata: { ...metadata, namespace } } as KubeObject;
};

const pod = (name: string, node: string, hostNetwork = false): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'web' } } as KubeObject['metadata'],
  spec: {
    nodeName: node,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'main',
        image: 'registry.example/app:1.0',
        ports: [{ name: 'http', containerPort: 8080, ...(hostNetwork ? {} : { hostPort: 80 }) }],
      },
    ],
    hostNetwork,
  },
});

/** What a kubelet says of a Pod. */
const setReady = async (name: string, namespace: string, ip: string, ready: boolean): Promise<void> => {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
  const path = `${await pathOf(cluster, pod(name, ''), namespace)}/status`;
  expect((await cluster.send(path, { method: 'PATCH', body: { status } })).status).toBe(200);
};

/** A server without EndpointSlices. */
const withoutSlices = (connection: Connection): Connection => {
  const absent = (path: string): Error | null => (path.includes('/discovery.k8s.io') ? refusal({ verb: 'list', path }, 404, '') : null);
  return {
    ...connection,
    send: async (request) => {
      const error = absent(request.path);
      if (error) throw error;
      return connection.send(request);
    },
    list: async (request, item) => {
      const error = absent(request.path);
      if (error) throw error;
      return connection.list(request, item);
    },
  };
};

/** What the operator is told of Services, as the controllers of a real cluster have them. */
export const describeServiceSource = (): void => {
  beforeAll(async () => {
    cluster = await startCluster({ controllers: ['endpoint', 'endpointslice'] });
    await installCrds(cluster);
    await installRoles(cluster);
    for (const name of ['a', 'b', 'c']) await create({ apiVersion: 'v1', kind: 'Node', metadata: { name } }, '');
    kubeconfig = cluster.kubeconfigFor(await cluster.tokenFor(OPERATOR, OPERATOR));
  });

  afterAll(() => cluster?.stop());

  describe('a RoutedIP on a real API server', () => {
    test.each([
      ['EndpointSlice', 'slices', (connection: Connection) => connection],
      ['Endpoints', 'endpoints', withoutSlices],
    ] as const)('is told its Service as the controllers have it, by %s', async (kind, name, limited) => {
      const namespace = await createNamespace(cluster, name);
      const nodePort = name === 'slices' ? 30080 : 30081;
      const ports = [{ name: 'http', port: 80, targetPort: 'http', nodePort }];
      await create(inNamespace(serviceObject('web', { ports }), namespace), namespace);
      await create(pod('x', 'a'), namespace);
      await create(pod('y', 'b', true), namespace);
      await setReady('x', namespace, '10.1.0.1', true);
      await setReady('y', namespace, '10.1.0.2', false);
      await create(classObject(name), '');
      await create(inNamespace(issuerObject('cloud'), namespace), namespace);
      await create(inNamespace(routedIPObject(name), namespace), namespace);

      const seen = new ServiceRecorder();
      const source = sourceOn(limited(connected(readFileSync(kubeconfig, 'utf8'), CALL_MS)));
      await source.start(seen);
      await waitFor('both endpoints', () => seen.endpoints(name) === 'x@a,!y@b');
      expect(seen.policies.get(name)?.ref).toMatchObject({ kind: 'ClusterRoutedIPClass', namespace: '' });
      expect(seen.policies.get('cloud')?.ref.kind).toBe('RoutedIPIssuer');
      expect(source.missing()).toEqual([]);
      expect(source.caches()).toContainEqual(expect.objectContaining({ kind, synced: true }));
      expect(seen.facts.get(name)?.nodes.map((node) => node.name)).toEqual(['a', 'b']);
      expect(seen.service(name)?.ports).toEqual([{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'http', nodePort }]);
      const [x, y] = seen.service(name)?.endpoints ?? [];
      expect(x?.pod).toMatchObject({ hostNetwork: false, ports: [{ name: 'http', containerPort: 8080, hostPort: 80 }] });
      // The server says itself that the node listens there.
      expect(y?.pod).toMatchObject({ hostNetwork: true, ports: [{ name: 'http', containerPort: 8080, hostPort: 8080 }] });

      await setReady('y', namespace, '10.1.0.2', true);
      await waitFor('y is ready', () => seen.endpoints(name) === 'x@a,y@b');
      const path = await pathOf(cluster, pod('x', ''), namespace);
      expect((await cluster.send(`${path}?gracePeriodSeconds=0`, { method: 'DELETE' })).status).toBe(200);
      await waitFor('x is gone', () => seen.endpoints(name) === 'y@b');
      expect(seen.facts.get(name)?.nodes.map((node) => node.name)).toEqual(['a', 'b']);
      expect((await cluster.send(`/api/v1/namespaces/${namespace}/services/web`, { method: 'DELETE' })).status).toBe(200);
      await waitFor('the Service is gone', () => seen.service(name) === null);
    });
  });
};
