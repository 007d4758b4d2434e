import { describe, expect, test } from 'vitest';
import { at } from '../../simulator/kubernetes/objects.ts';
import { PENDING } from '../support/pending.ts';
import { CONFIG_MAPS, configMap, MERGE, NODES, node, PODS, POOLS, pod, pool, startCluster } from './kubernetes-support.ts';

describe('a created object', () => {
  test('has a uid, a creation time and a resourceVersion of its own', async () => {
    const cluster = await startCluster();
    const first = await cluster.make(NODES, node('a'));
    const second = await cluster.make(NODES, node('b'));
    expect(first.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(first.metadata.uid).not.toBe(second.metadata.uid);
    expect(first.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
  });

  test('gets a name from generateName', async () => {
    const cluster = await startCluster();
    const made = await cluster.make(CONFIG_MAPS, { metadata: { generateName: 'part-' }, data: {} });
    expect(made.metadata.name).toMatch(/^part-[a-z0-9]{5}$/);
  });

  test('cannot take the name of another', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    const { code, body } = await cluster.send('POST', NODES, node('a'));
    expect(code).toBe(409);
    expect(body).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'AlreadyExists', message: 'nodes "a" already exists' });
    expect(body.details).toEqual({ name: 'a', kind: 'nodes' });
  });

  test('needs a valid name, and the refusal says which form is wanted', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', NODES, node('Not_Valid'));
    expect(code).toBe(422);
    expect(body.message).toMatch(
      /^Node "Not_Valid" is invalid: metadata\.name: Invalid value: "Not_Valid": a lowercase RFC 1123 subdomain must/,
    );
    expect(at(body, 'details', 'causes', 0, 'field')).toBe('metadata.name');
  });

  test('needs a namespace that exists', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('POST', '/api/v1/namespaces/nowhere/configmaps', configMap('a'));
    expect(code).toBe(404);
    expect(body.message).toBe('namespaces "nowhere" not found');
  });

  test('is not stored by a dry run', async () => {
    const cluster = await startCluster();
    expect((await cluster.send('POST', `${NODES}?dryRun=All`, node('a'))).code).toBe(201);
    expect((await cluster.send('GET', `${NODES}/a`)).code).toBe(404);
  });

  test('keeps the status of a node and drops that of a pod and of a pool', async () => {
    const cluster = await startCluster();
    const kept = await cluster.make(NODES, node('a', { status: { phase: 'Running' } }));
    const running = await cluster.make(PODS, { ...pod('p', 'a'), status: { phase: 'Running' } });
    const active = await cluster.make(POOLS, { ...pool('x'), status: { activeIPs: 3 } });
    expect(kept.status).toEqual({ phase: 'Running' });
    expect(running.status).toMatchObject({ phase: 'Pending' });
    expect(active.status).toMatchObject(PENDING);
    expect(active.status).not.toHaveProperty('activeIPs');
  });
});

describe('an update', () => {
  test('with the resourceVersion read is taken, with an older one it is a conflict', async () => {
    const cluster = await startCluster();
    const read = await cluster.make(CONFIG_MAPS, configMap('a', { key: '1' }));
    expect((await cluster.send('PUT', `${CONFIG_MAPS}/a`, { ...read, data: { key: '2' } })).code).toBe(200);
    const { code, body } = await cluster.send('PUT', `${CONFIG_MAPS}/a`, { ...read, data: { key: '3' } });
    expect(code).toBe(409);
    expect(body).toMatchObject({ reason: 'Conflict', details: { name: 'a', kind: 'configmaps' } });
    expect(body.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(at((await cluster.send('GET', `${CONFIG_MAPS}/a`)).body, 'data', 'key')).toBe('2');
  });

  test('of a custom resource must name a resourceVersion', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const { code, body } = await cluster.send('PUT', `${POOLS}/x`, pool('x'));
    expect(code).toBe(422);
    expect(body.message).toContain('metadata.resourceVersion: Invalid value');
  });

  test('that changes nothing leaves the resourceVersion as it is', async () => {
    const cluster = await startCluster();
    const made = await cluster.make(POOLS, pool('x'));
    const { body } = await cluster.send('PATCH', `${POOLS}/x`, { spec: { desiredIPs: 2 } }, MERGE);
    expect(at(body, 'metadata', 'resourceVersion')).toBe(made.metadata.resourceVersion);
  });

  test('cannot change uid, creation time or namespace', async () => {
    const cluster = await startCluster();
    const made = await cluster.make(CONFIG_MAPS, configMap('a'));
    await cluster.send(
      'PATCH',
      `${CONFIG_MAPS}/a`,
      { metadata: { creationTimestamp: '2001-01-01T00:00:00Z', labels: { seen: 'yes' } } },
      MERGE,
    );
    const { body } = await cluster.send('GET', `${CONFIG_MAPS}/a`);
    expect(at(body, 'metadata', 'labels', 'seen')).toBe('yes');
    expect(at(body, 'metadata', 'creationTimestamp')).toBe(made.metadata.creationTimestamp);
    const other = await cluster.send('PATCH', `${CONFIG_MAPS}/a`, { metadata: { uid: 'another' } }, MERGE);
    expect(other.code).toBe(409);
  });

  test('of the wish bumps generation, one of labels or status does not', async () => {
    const cluster = await startCluster();
    expect((await cluster.make(POOLS, pool('x'))).metadata.generation).toBe(1);
    const relabelled = await cluster.send('PATCH', `${POOLS}/x`, { metadata: { labels: { a: 'b' } } }, MERGE);
    expect(at(relabelled.body, 'metadata', 'generation')).toBe(1);
    const reported = await cluster.send('PATCH', `${POOLS}/x/status`, { status: { activeIPs: 1 } }, MERGE);
    expect(at(reported.body, 'metadata', 'generation')).toBe(1);
    const wanted = await cluster.send('PATCH', `${POOLS}/x`, { spec: { desiredIPs: 3 } }, MERGE);
    expect(at(wanted.body, 'metadata', 'generation')).toBe(2);
  });
});

describe('the status of an object', () => {
  test('is written through its own path alone', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const ignored = await cluster.send('PATCH', `${POOLS}/x`, { status: { activeIPs: 9 } }, MERGE);
    expect(ignored.body.status).toMatchObject(PENDING);
    expect(ignored.body.status).not.toHaveProperty('activeIPs');
    const written = await cluster.send('PATCH', `${POOLS}/x/status`, { status: { activeIPs: 9 }, spec: { desiredIPs: 7 } }, MERGE);
    expect(written.body).toMatchObject({ status: { activeIPs: 9 }, spec: { desiredIPs: 2 } });
  });

  test('path leaves labels of a custom resource alone and takes those of a node', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    await cluster.make(NODES, node('a'));
    const body = { metadata: { labels: { through: 'status' } } };
    expect(at((await cluster.send('PATCH', `${POOLS}/x/status`, body, MERGE)).body, 'metadata', 'labels')).toBeUndefined();
    expect(at((await cluster.send('PATCH', `${NODES}/a/status`, body, MERGE)).body, 'metadata', 'labels', 'through')).toBe('status');
  });
});

describe('a deletion', () => {
  test('waits for finalizers and ends when the last one is taken away', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a', {}, { finalizers: ['example.com/hold'] }));
    const watch = await cluster.watch(`${CONFIG_MAPS}?watch=1`);
    const { code, body } = await cluster.send('DELETE', `${CONFIG_MAPS}/a`);
    expect(code).toBe(200);
    expect(at(body, 'metadata', 'deletionTimestamp')).toBeDefined();
    const added = await cluster.send(
      'PATCH',
      `${CONFIG_MAPS}/a`,
      { metadata: { finalizers: ['example.com/hold', 'example.com/new'] } },
      MERGE,
    );
    expect(added.code).toBe(422);
    expect((await cluster.send('PATCH', `${CONFIG_MAPS}/a`, { metadata: { finalizers: null } }, MERGE)).code).toBe(200);
    expect((await cluster.send('GET', `${CONFIG_MAPS}/a`)).code).toBe(404);
    expect((await watch.until(4)).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']);
  });

  test('answers with a Status that names what is gone', async () => {
    const cluster = await startCluster();
    const { metadata } = await cluster.make(POOLS, pool('x'));
    const { body } = await cluster.send('DELETE', `${POOLS}/x`);
    expect(body).toMatchObject({ kind: 'Status', status: 'Success' });
    expect(body.details).toEqual({ name: 'x', group: 'flipop.digitalocean.com', kind: 'floatingippools', uid: metadata.uid });
  });

  test('can be bound to a uid', async () => {
    const cluster = await startCluster();
    const { metadata } = await cluster.make(CONFIG_MAPS, configMap('a'));
    const { code, body } = await cluster.send('DELETE', `${CONFIG_MAPS}/a`, { preconditions: { uid: 'another' } });
    expect(code).toBe(409);
    expect(body.message).toContain(`the UID in the precondition (another) does not match the UID in record (${metadata.uid})`);
    expect((await cluster.send('DELETE', `${CONFIG_MAPS}/a`, { preconditions: { uid: metadata.uid } })).code).toBe(200);
  });

  test('of a pod on a node leaves it terminating until it is forced', async () => {
    const cluster = await startCluster();
    await cluster.make(PODS, pod('p', 'a'));
    const { body } = await cluster.send('DELETE', `${PODS}/p`);
    expect(body).toMatchObject({ kind: 'Pod', metadata: { deletionGracePeriodSeconds: 30 } });
    expect((await cluster.send('GET', `${PODS}/p`)).code).toBe(200);
    await cluster.send('DELETE', `${PODS}/p`, { gracePeriodSeconds: 0 });
    expect((await cluster.send('GET', `${PODS}/p`)).code).toBe(404);
  });

  test('of a collection takes what the selector chooses', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a', {}, { labels: { kind: 'old' } }));
    await cluster.make(CONFIG_MAPS, configMap('b'));
    expect((await cluster.send('DELETE', `${CONFIG_MAPS}?labelSelector=kind%3Dold`)).code).toBe(200);
    expect((await cluster.send('GET', `${CONFIG_MAPS}/a`)).code).toBe(404);
    expect((await cluster.send('GET', `${CONFIG_MAPS}/b`)).code).toBe(200);
  });

  test('of a namespace takes all that lies in it', async () => {
    const cluster = await startCluster();
    await cluster.make('/api/v1/namespaces', { metadata: { name: 'gone' } });
    await cluster.make('/api/v1/namespaces/gone/configmaps', configMap('a'));
    const watch = await cluster.watch('/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dgone');
    const { body } = await cluster.send('DELETE', '/api/v1/namespaces/gone');
    expect(body.status).toEqual({ phase: 'Terminating' });
    expect((await watch.until(3)).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(cluster.store.list('v1', 'ConfigMap', { namespace: 'gone' })).toEqual([]);
  });

  test('takes dependents along when their only owner goes, or leaves them orphaned', async () => {
    const cluster = await startCluster();
    const owned = async (owner: string, name: string): Promise<void> => {
      const { metadata } = await cluster.make(CONFIG_MAPS, configMap(owner));
      const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid: metadata.uid };
      await cluster.make(PODS, { ...pod(name, ''), metadata: { name, ownerReferences: [reference] } });
    };
    await owned('first', 'taken');
    await owned('second', 'left');
    const watch = await cluster.watch(`${PODS}?watch=1`);
    await watch.until(2);
    await cluster.send('DELETE', `${CONFIG_MAPS}/first`, { propagationPolicy: 'Background' });
    expect((await watch.until(3))[2]).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'taken' } } });
    await cluster.send('DELETE', `${CONFIG_MAPS}/second`, { propagationPolicy: 'Orphan' });
    expect((await watch.until(4))[3]).toMatchObject({ type: 'MODIFIED', object: { metadata: { name: 'left' } } });
    expect((await watch.until(4))[3]?.object.metadata.ownerReferences).toBeUndefined();
    expect((await cluster.send('GET', `${CONFIG_MAPS}/second`)).code).toBe(404);
  });
});

describe('from the start', () => {
  test('there are the namespaces of a cluster, and kube-system has the same uid in every run', async () => {
    const [one, two] = [await startCluster(), await startCluster()];
    expect(one.store.list('v1', 'Namespace').map(({ metadata }) => metadata.name)).toEqual([
      'default',
      'kube-node-lease',
      'kube-public',
      'kube-system',
    ]);
    const uid = (cluster: typeof one): unknown =>
      cluster.store.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' }).metadata.uid;
    expect(uid(one)).toBe(uid(two));
  });

  test('an unknown path is answered as the real server answers it', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('GET', '/api/v1/nothings');
    expect(code).toBe(404);
    expect(body).toMatchObject({ reason: 'NotFound', message: 'the server could not find the requested resource' });
    expect((await cluster.send('GET', '/apis/nothing.example/v1/things')).body).toEqual({ text: '404 page not found\n' });
  });
});

describe('an Event', () => {
  test('written in one group is read in the other under the names used there', async () => {
    const cluster = await startCluster();
    await cluster.make('/apis/events.k8s.io/v1/namespaces/kube-system/events', {
      metadata: { name: 'e' },
      regarding: { kind: 'Node', name: 'a' },
      note: 'address moved',
      reason: 'Assigned',
      type: 'Normal',
      action: 'Assign',
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'flipop',
      reportingInstance: 'flipop-1',
    });
    const { body } = await cluster.send(
      'GET',
      '/api/v1/namespaces/kube-system/events?fieldSelector=involvedObject.name%3Da,reason%3DAssigned',
    );
    expect(at(body, 'items', 0)).toMatchObject({
      message: 'address moved',
      involvedObject: { kind: 'Node' },
      reportingComponent: 'flipop',
    });
  });
});
