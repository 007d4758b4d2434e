import { describe, expect, test } from 'vitest';
import { at } from '../../simulator/kubernetes/objects.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Cluster, CONFIG_MAPS, configMap, MERGE, NODES, namesOf, node, startCluster, type TestWatch } from './kubernetes-support.ts';

const withNodes = async (...names: string[]): Promise<Cluster> => {
  const cluster = await startCluster();
  for (const name of names) await cluster.make(NODES, node(name));
  return cluster;
};

const openWatch = async (cluster: Cluster): Promise<TestWatch> => {
  const watch = await cluster.watch(`${NODES}?watch=1`);
  await watch.until(1);
  return watch;
};

describe('open watches', () => {
  test('can be cut: they end cleanly, and one can be opened again at once', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    expect(cluster.faults.cutWatches()).toBe(1);
    expect(await watch.ended).toBe(true);
    expect(watch.events).toHaveLength(1);
    await openWatch(cluster);
  });

  test('can be reset: the connection breaks', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    expect(cluster.faults.resetWatches('nodes')).toBe(1);
    expect(await watch.ended).toBe(false);
  });

  test('of another resource live on', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    expect(cluster.faults.resetWatches('pods')).toBe(0);
    await cluster.make(NODES, node('b'));
    expect(await watch.until(2)).toHaveLength(2);
  });

  test('can be told in the middle that their revision is gone', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    expect(cluster.faults.expireWatches()).toBe(1);
    const events = await watch.until(2);
    expect(events[1]).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(await watch.ended).toBe(true);
    const revision = events[0]?.object.metadata.resourceVersion;
    await cluster.make(NODES, node('b'));
    cluster.faults.compact();
    const resumed = await cluster.watch(`${NODES}?watch=1&resourceVersion=${revision}`);
    expect((await resumed.until(1))[0]?.type).toBe('ERROR');
  });
});

test('new watches can be refused with 410 whatever they ask for', async () => {
  const cluster = await withNodes('a');
  cluster.faults.rejectWatches(1, 'nodes');
  const { body } = await cluster.send('GET', NODES);
  const path = `${NODES}?watch=1&resourceVersion=${at(body, 'metadata', 'resourceVersion')}`;
  expect((await (await cluster.watch(path)).until(1))[0]).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  const second = await cluster.watch(path);
  await cluster.make(NODES, node('b'));
  expect((await second.until(1))[0]?.type).toBe('ADDED');
});

describe('an outage', () => {
  test('destroys every connection until it is lifted', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    cluster.faults.outage();
    expect(await watch.ended).toBe(false);
    await expect(cluster.send('GET', NODES)).rejects.toThrow();
    cluster.faults.endOutage();
    expect((await cluster.send('GET', NODES)).code).toBe(200);
  });

  test('can answer 503 instead, and end by itself', async () => {
    const cluster = await withNodes('a');
    cluster.faults.outage('503');
    const { code, headers, body } = await cluster.send('GET', NODES);
    expect(code).toBe(503);
    expect(body).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
    expect(headers.get('retry-after')).toBe('1');
    cluster.faults.outage('503', 300);
    await expect.poll(async () => (await cluster.send('GET', NODES)).code).toBe(200);
  });
});

describe('lists', () => {
  test('can fail a number of times, for one resource', async () => {
    const cluster = await withNodes('a');
    cluster.faults.failLists('nodes', 2, 500);
    expect((await cluster.send('GET', '/api/v1/pods')).code).toBe(200);
    expect((await cluster.send('GET', NODES)).code).toBe(500);
    expect((await cluster.send('GET', NODES)).code).toBe(500);
    expect(namesOf((await cluster.send('GET', NODES)).body)).toEqual(['a']);
  });

  test('can die in the middle of the body', async () => {
    const cluster = await withNodes('a', 'b', 'c');
    cluster.faults.truncateLists('nodes');
    await expect(cluster.send('GET', NODES)).rejects.toThrow();
    expect((await cluster.send('GET', NODES)).code).toBe(200);
  });

  test('can be partial: the first page comes, the next is expired', async () => {
    const cluster = await withNodes('a', 'b');
    cluster.faults.expireContinue('nodes');
    const first = await cluster.send('GET', `${NODES}?limit=1`);
    expect(namesOf(first.body)).toEqual(['a']);
    const second = await cluster.send('GET', `${NODES}?limit=1&continue=${at(first.body, 'metadata', 'continue')}`);
    expect(second.code).toBe(410);
    expect(second.body.reason).toBe('Expired');
  });

  test('can be empty although there is something', async () => {
    const cluster = await withNodes('a');
    cluster.faults.emptyLists('nodes');
    const { code, body } = await cluster.send('GET', NODES);
    expect(code).toBe(200);
    expect(body.items).toEqual([]);
    expect(namesOf((await cluster.send('GET', NODES)).body)).toEqual(['a']);
  });
});

test('requests of one method and path can be delayed', async () => {
  const cluster = await withNodes('a');
  cluster.faults.delay({ method: 'POST', path: CONFIG_MAPS, ms: 2_000, count: 1 });
  const received = () => cluster.requests.filter(({ method }) => method === 'POST').length;
  const before = received();
  const ended: string[] = [];
  const start = performance.now();
  const slow = cluster.make(CONFIG_MAPS, configMap('slow')).then(() => ended.push('slow'));
  await waitFor('it is received', () => received() > before);
  await cluster.make(CONFIG_MAPS, configMap('fast')).then(() => ended.push('fast'));
  await slow;
  expect(ended).toEqual(['fast', 'slow']);
  expect(performance.now() - start).toBeGreaterThan(1_995);
});

test('writes of one resource can be refused for a webhook that does not answer, and its status cannot', async () => {
  const cluster = await withNodes('a');
  cluster.faults.failWebhook('nodes', 2);
  const cordon = () => cluster.send('PATCH', `${NODES}/a`, { spec: { unschedulable: true } }, MERGE);
  expect((await cluster.send('PATCH', `${NODES}/a/status`, {}, MERGE)).code).toBe(200);
  const { code, body } = await cordon();
  expect([code, body.reason]).toEqual([500, 'InternalError']);
  expect(body.message).toMatch(/^Internal error occurred: failed calling webhook "policy\.example\.com": .*connection refused$/);
  expect((await cluster.send('GET', `${NODES}/a`)).code).toBe(200);
  expect((await cluster.send('DELETE', `${NODES}/a`)).code).toBe(500);
  expect((await cordon()).code).toBe(200);
});

describe('the control routes', () => {
  test('inject the same faults from another process', async () => {
    const cluster = await withNodes('a');
    const watch = await openWatch(cluster);
    expect((await cluster.send('POST', '/_control/cutWatches', { resource: 'nodes' })).body).toEqual({ affected: 1 });
    expect(await watch.ended).toBe(true);
    await cluster.send('POST', '/_control/failLists', { resource: 'nodes', count: 1, code: 429 });
    expect((await cluster.send('GET', NODES)).code).toBe(429);
  });

  test('take what `curl -d` sends, which calls it a form', async () => {
    const cluster = await withNodes('a');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await fetch(`${cluster.url}/_control/outage`, { method: 'POST', headers, body: '{"mode":"503"}' })).status).toBe(200);
    expect((await cluster.send('GET', NODES)).code).toBe(503);
  });

  test('answer during an outage, so that it can be ended', async () => {
    const cluster = await withNodes('a');
    await cluster.send('POST', '/_control/outage', {});
    await expect(cluster.send('GET', NODES)).rejects.toThrow();
    expect((await cluster.send('POST', '/_control/endOutage', {})).code).toBe(200);
    expect((await cluster.send('GET', NODES)).code).toBe(200);
  });

  test('refuse what they do not know', async () => {
    const cluster = await startCluster();
    expect((await cluster.send('POST', '/_control/explode', {})).code).toBe(400);
    expect((await cluster.send('POST', '/_control/outage', { mode: 'loud' })).code).toBe(400);
  });
});

test('the log has every request with its code and who sent it', async () => {
  const cluster = await startCluster();
  await cluster.send('GET', `${NODES}?limit=5`, undefined, { 'user-agent': 'operator/1' });
  await cluster.send('GET', `${NODES}/nobody`);
  await expect.poll(() => cluster.requests.map(({ code }) => code)).toEqual([200, 404]);
  expect(cluster.requests[0]).toMatchObject({ method: 'GET', path: NODES, query: 'limit=5', userAgent: 'operator/1' });
  const { body } = await cluster.send('GET', '/_control/requests');
  expect(body.requests).toHaveLength(2);
});
