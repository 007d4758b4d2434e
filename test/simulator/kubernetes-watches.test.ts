import { describe, expect, test } from 'vitest';
import { CONFIG_MAPS, configMap, MERGE, NODES, node, PODS, pod, startCluster, type TestEvent } from './kubernetes-support.ts';

const told = (events: readonly TestEvent[]): string[] => events.map(({ type, object }) => `${type} ${object.metadata.name}`);

describe('a watch', () => {
  test('without a revision begins with all there is', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    const watch = await cluster.watch(`${NODES}?watch=true`);
    await watch.until(1);
    await cluster.make(NODES, node('b'));
    await cluster.send('PATCH', `${NODES}/a`, { metadata: { labels: { x: 'y' } } }, MERGE);
    await cluster.send('DELETE', `${NODES}/b`);
    expect(told(await watch.until(4))).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b']);
  });

  test('from a revision tells what has happened since, in order', async () => {
    const cluster = await startCluster();
    const { metadata } = await cluster.make(NODES, node('a'));
    await cluster.make(NODES, node('b'));
    await cluster.send('DELETE', `${NODES}/a`);
    const watch = await cluster.watch(`${NODES}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    const events = await watch.until(2);
    expect(told(events)).toEqual(['ADDED b', 'DELETED a']);
    expect(Number(events[1]?.object.metadata.resourceVersion)).toBeGreaterThan(Number(events[0]?.object.metadata.resourceVersion));
  });

  test('carries kind and apiVersion in every event', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    const watch = await cluster.watch(`${NODES}?watch=1`);
    expect((await watch.until(1))[0]?.object).toMatchObject({ kind: 'Node', apiVersion: 'v1' });
  });

  test('through a selector sees objects enter and leave it', async () => {
    const cluster = await startCluster();
    const watch = await cluster.watch(`${NODES}?watch=1&labelSelector=pool%3Dingress`);
    await cluster.make(NODES, node('other'));
    await cluster.make(NODES, node('a'));
    await cluster.send('PATCH', `${NODES}/a`, { metadata: { labels: { pool: 'ingress' } } }, MERGE);
    await cluster.send('PATCH', `${NODES}/a`, { metadata: { labels: { more: 'yes' } } }, MERGE);
    const { body } = await cluster.send('PATCH', `${NODES}/a`, { metadata: { labels: { pool: null } } }, MERGE);
    const events = await watch.until(3);
    expect(told(events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    expect(events[2]?.object.metadata.labels).toEqual({ pool: 'ingress', more: 'yes' });
    expect(events[2]?.object.metadata.resourceVersion).toBe((body.metadata as { resourceVersion: string }).resourceVersion);
  });

  test('of one namespace or one name hears of nothing else', async () => {
    const cluster = await startCluster();
    const inside = await cluster.watch(`${CONFIG_MAPS}?watch=1`);
    const named = await cluster.watch('/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Db');
    await cluster.make('/api/v1/namespaces/kube-system/configmaps', configMap('a'));
    await cluster.make(CONFIG_MAPS, configMap('b'));
    expect(told(await inside.until(1))).toEqual(['ADDED b']);
    expect(told(await named.until(1))).toEqual(['ADDED b']);
  });

  test('from before the kept history is told that it is too late', async () => {
    const cluster = await startCluster();
    const { metadata } = await cluster.make(NODES, node('a'));
    await cluster.make(NODES, node('b'));
    cluster.faults.compact();
    const watch = await cluster.watch(`${NODES}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    const [event] = await watch.until(1);
    expect(watch.code).toBe(200);
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    expect(String(event?.object.message)).toMatch(/^too old resource version: \d+ \(\d+\)$/);
    expect(await watch.ended).toBe(true);
  });

  test('forgets changes beyond the size of its history', async () => {
    const cluster = await startCluster({ historySize: 5 });
    const { metadata } = await cluster.make(NODES, node('a'));
    for (let index = 0; index < 12; index++) await cluster.send('PATCH', `${NODES}/a`, { metadata: { labels: { at: `${index}` } } }, MERGE);
    const watch = await cluster.watch(`${NODES}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    expect((await watch.until(1))[0]?.type).toBe('ERROR');
  });

  test('sends bookmarks with the newest revision when asked to', async () => {
    const cluster = await startCluster({ bookmarkIntervalMs: 20 });
    const { metadata } = await cluster.make(NODES, node('a'));
    const silent = await cluster.watch(`${NODES}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    const watch = await cluster.watch(`${NODES}?watch=1&resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=true`);
    const { metadata: later } = await cluster.make(CONFIG_MAPS, configMap('elsewhere'));
    const events = await watch.until(3);
    expect(events.every(({ type }) => type === 'BOOKMARK')).toBe(true);
    expect(events.at(-1)?.object).toMatchObject({ kind: 'Node', metadata: { resourceVersion: later.resourceVersion } });
    expect(silent.events).toEqual([]);
  });

  test('ends by itself after timeoutSeconds', async () => {
    const cluster = await startCluster();
    const watch = await cluster.watch(`${NODES}?watch=1&timeoutSeconds=1`);
    expect(await watch.ended).toBe(true);
  });

  test('that asks for a list first gets it, then a bookmark that says so', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await cluster.watch(`${NODES}?${query}`);
    const events = await watch.until(2);
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  test('hears of writes made in the process as of those made by HTTP', async () => {
    const cluster = await startCluster();
    const watch = await cluster.watch(`${PODS}?watch=1`);
    cluster.store.create(pod('p', 'a'));
    cluster.store.patch({ apiVersion: 'v1', kind: 'Pod', name: 'p' }, { status: { phase: 'Running' } }, { subresource: 'status' });
    cluster.store.delete({ apiVersion: 'v1', kind: 'Pod', name: 'p' }, { gracePeriodSeconds: 0 });
    expect(told(await watch.until(3))).toEqual(['ADDED p', 'MODIFIED p', 'DELETED p']);
  });
});
