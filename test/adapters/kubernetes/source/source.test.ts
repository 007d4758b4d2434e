import { describe, expect, test } from 'vitest';
import type { PoolObject } from '../../../../actors/ports/cluster.ts';
import type { Clock } from '../../../../actors/ports/records.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { PENDING } from '../../../support/pending.ts';
import { waitFor } from '../../../support/wait-for.ts';
import {
  addNode,
  addPod,
  connected,
  deletePod,
  nodeRef,
  podRef,
  poolObject,
  poolRef,
  Recorder,
  recordedLog,
  setReady,
  simulated,
  sourceOn,
  watchesOf,
} from '../support.ts';

const BLUE = { match: { nodeLabel: 'color=blue' } };

const requestsOf = (simulator: KubernetesSimulator, plural: string, part: string): number =>
  simulator.requests.filter(({ path, query }) => path.endsWith(`/${plural}`) && query.includes(part)).length;

/** Asks whoever goes through many objects to pause after every other one. */
const pausing = (): Clock => {
  let asked = 0;
  return { ...systemClock(), yieldToEventLoop: () => (++asked % 2 === 0 ? new Promise((resolve) => setImmediate(resolve)) : null) };
};

/** A running source on a cluster with the nodes a, b (blue) and c, and whatever `prepare` adds. */
const running = async (
  prepare: (simulator: KubernetesSimulator) => void = () => undefined,
  clock: Clock = systemClock(),
  seen = new Recorder(),
) => {
  const simulator = await simulated();
  addNode(simulator, 'a', { labels: { color: 'blue' } });
  addNode(simulator, 'b', { labels: { color: 'blue' } });
  addNode(simulator, 'c', { labels: { color: 'red' } });
  prepare(simulator);
  const log = recordedLog();
  const source = sourceOn(connected(simulator.kubeconfig()), { log, clock });
  await source.start(seen);
  const watching = (plural: string, count = 1): Promise<void> =>
    waitFor(`${count} watches of ${plural}`, () => watchesOf(simulator, plural) === count);
  return { simulator, source, seen, log, watching };
};

describe('the cluster source', () => {
  test('tells each pool the nodes that its label selector lets through, once all of them are known', async () => {
    const { seen } = await running((simulator) => simulator.store.create(poolObject('pool', BLUE)));
    expect(seen.told).toEqual([expect.stringMatching(/^observed pool /), 'fact pool']);
    expect(seen.nodes()).toEqual(['a', 'b']);
    const fact = seen.facts.get('pool');
    expect(fact?.serving).toBeNull();
    expect(fact?.nodes[0]).toMatchObject({
      name: 'a',
      labels: { color: 'blue' },
      ready: true,
      providerID: 'digitalocean://1',
      region: 'nyc3',
    });
    expect(JSON.parse(fact?.query ?? '')).toEqual(['color=blue', null, null]);
  });

  test('tells a pool with a pod selector the nodes on which such pods of its namespace serve too', async () => {
    const { seen, watching } = await running((cluster) => {
      cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } });
      addPod(cluster, { name: 'x', namespace: 'web', node: 'a', labels: { app: 'ingress' } });
      addPod(cluster, { name: 'y', namespace: 'web', node: 'b', labels: { app: 'ingress' }, ready: false });
      addPod(cluster, { name: 'z', namespace: 'web', node: 'b', labels: { app: 'other' } });
      addPod(cluster, { name: 'x', namespace: 'default', node: 'b', labels: { app: 'ingress' } });
      cluster.store.create(poolObject('pool', { match: { podLabel: 'app=ingress', podNamespace: 'web' } }));
      cluster.store.create(poolObject('all', { match: { podLabel: 'app=ingress' } }));
      cluster.store.create(poolObject('namespace', { match: { podNamespace: 'web' } }));
    });
    expect(seen.serving('pool')).toEqual(['a']);
    expect(seen.serving('all')).toEqual(['a', 'b']);
    expect(seen.serving('namespace')).toEqual(['a', 'b']);
    await watching('pods');
  });

  test('tells a change of a node at once, and a change of what is not read not at all', async () => {
    const { seen, simulator } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    const before = seen.count('fact');
    simulator.store.patch(nodeRef('a'), { metadata: { annotations: { heartbeat: '1' } } });
    setReady(simulator, 'b', false);
    await waitFor('b not ready', () => seen.nodes()?.includes('!b') === true);
    expect(seen.count('fact')).toBe(before + 1);
  });

  test('follows nodes that come, leave the selection and go', async () => {
    const { seen, simulator } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    addNode(simulator, 'd', { labels: { color: 'blue' } });
    await waitFor('d', () => seen.nodes()?.join() === 'a,b,d');
    simulator.store.patch(nodeRef('a'), { metadata: { labels: { color: 'red' } } });
    await waitFor('a left', () => seen.nodes()?.join() === 'b,d');
    simulator.store.delete(nodeRef('b'));
    await waitFor('b gone', () => seen.nodes()?.join() === 'd');
  });

  test('keeps one watch for pools with whatever selectors and ends it with the last of them', async () => {
    const { seen, simulator, watching } = await running((cluster) => {
      cluster.store.create(poolObject('pool', BLUE));
      cluster.store.create(poolObject('twin', BLUE));
      cluster.store.create(poolObject('other', { match: { nodeLabel: 'color=red' } }));
    });
    await watching('nodes');
    expect(requestsOf(simulator, 'nodes', 'watch=true')).toBe(1);
    simulator.store.delete(poolRef('pool'));
    await waitFor('pool gone', () => seen.count('gone pool') === 1);
    setReady(simulator, 'a', false);
    await waitFor('the twin is told', () => seen.nodes('twin')?.includes('!a') === true);
    simulator.store.delete(poolRef('twin'));
    simulator.store.delete(poolRef('other'));
    await watching('nodes', 0);
  });

  test('puts the events of one piece of the watch into few facts', async () => {
    const { seen, simulator } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    const before = seen.count('fact');
    for (let index = 0; index < 300; index += 1) addNode(simulator, `n${index}`, { labels: { color: 'blue' } });
    await waitFor('all nodes', () => seen.nodes()?.length === 302);
    expect(seen.count('fact') - before).toBeLessThan(60);
  });

  test('lets no Pod of a node that has an address, or is to get it, wait for what other Pods do', async () => {
    const clock = virtualClock();
    const { seen, simulator } = await running((cluster) => {
      for (const node of ['a', 'b', 'c']) addPod(cluster, { name: `on-${node}`, node, labels: { app: 'ingress' } });
      cluster.store.create(poolObject('pool', { match: { podLabel: 'app=ingress' } }));
      const ips = { '203.0.113.7': { state: 'active', nodeName: 'a' }, '203.0.113.8': { state: 'in-progress', electedNode: 'b' } };
      cluster.store.patch(poolRef('pool'), { status: { ips } }, { subresource: 'status' });
    }, clock);
    await clock.advance(1_000);
    const serve = (node: string, serves: boolean): void => {
      const conditions = [{ type: 'Ready', status: serves ? 'True' : 'False' }];
      simulator.store.patch(podRef(`on-${node}`), { status: { conditions } }, { subresource: 'status' });
    };
    const told = (what: string, nodes: string): Promise<void> => waitFor(what, () => seen.serving()?.join() === nodes);
    serve('c', false);
    await told('the first change', 'a,b');
    serve('a', false);
    await told('the node with the address, though no time has passed', 'b');
    await clock.advance(1_000);
    serve('c', true);
    await told('the first change after a rest', 'b,c');
    serve('b', false);
    await told('the node that is to get one', 'c');
  });

  test('tells facts under new selectors only after all that they ask for is known', async () => {
    const { seen, simulator } = await running((cluster) => {
      addPod(cluster, { name: 'x', node: 'c', labels: { app: 'ingress' } });
      cluster.store.create(poolObject('pool', BLUE));
    });
    simulator.faults.failLists('pods', 1_000, 500);
    simulator.store.patch(poolRef('pool'), { spec: { match: { nodeLabel: 'color=red', podLabel: 'app=ingress' } } });
    await waitFor('pods are asked for in vain', () => seen.count('observed pool') === 2 && requestsOf(simulator, 'pods', 'limit=') > 1);
    setReady(simulator, 'a', false);
    expect(JSON.parse(seen.facts.get('pool')?.query ?? '')).toEqual(['color=blue', null, null]);
    simulator.faults.clear();
    await waitFor('the new facts', () => seen.nodes()?.join() === 'c');
    expect(JSON.parse(seen.facts.get('pool')?.query ?? '')).toEqual(['color=red', 'app=ingress', null]);
    expect(seen.serving()).toEqual(['c']);
  });

  test('is not held up by a pool whose selector cannot be parsed, and tells that pool no facts', async () => {
    const { seen, source } = await running((cluster) => {
      cluster.store.create(poolObject('pool', BLUE));
      cluster.store.create(poolObject('broken', { match: { nodeLabel: 'color in (' } }));
      cluster.store.create(poolObject('lost', { match: { podNamespace: 'a/b' } }));
    });
    expect(seen.nodes('pool')).toEqual(['a', 'b']);
    expect(seen.count('observed broken')).toBe(1);
    expect(seen.facts.has('broken')).toBe(false);
    expect(seen.facts.has('lost')).toBe(false);
    expect(source.missing()).toEqual([]);
  });

  test('tells everything again on a resync, with the newest status', async () => {
    const { seen, source, simulator } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    simulator.store.patch(poolRef('pool'), { status: { error: 'x' } }, { subresource: 'status' });
    await waitFor('the status is seen', () => errorIn(source.object(seen.pools.get('pool')?.ref ?? raise())?.object) === 'x');
    expect(seen.count('observed pool')).toBe(1);
    const facts = seen.count('fact');
    await source.resync();
    await waitFor('the fact', () => seen.count('fact') === facts + 1);
    expect(seen.count('observed pool')).toBe(2);
    expect(seen.pools.get('pool')?.status).toEqual({ ...PENDING, error: 'x' });
  });

  test('has told every pool its facts when it has started, whatever pauses that took', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `pool-${index}`);
    const { seen } = await running((cluster) => {
      for (const name of names) cluster.store.create(poolObject(name, BLUE));
    }, pausing());
    expect([...seen.facts.keys()].sort()).toEqual([...names].sort());
  });

  test('leaves the event loop to others while it tells a first list', async () => {
    let [inTurn, most] = [0, 0];
    class Counting extends Recorder {
      override poolObserved(pool: PoolObject): void {
        if (inTurn === 0) setImmediate(() => (inTurn = 0));
        inTurn += 1;
        most = Math.max(most, inTurn);
        super.poolObserved(pool);
      }
    }
    const prepare = (cluster: KubernetesSimulator) => {
      for (let index = 0; index < 20; index += 1) cluster.store.create(poolObject(`pool-${index}`, BLUE));
    };
    const { seen } = await running(prepare, pausing(), new Counting());
    expect(seen.count('observed pool')).toBe(20);
    expect(most).toBeLessThanOrEqual(2);
  });

  test('has told everything when a resync is over, whatever pauses that took', async () => {
    const { seen, source, simulator } = await running((cluster) => {
      for (const name of ['one', 'two', 'three']) cluster.store.create(poolObject(name, BLUE));
    }, pausing());
    for (const name of ['one', 'two', 'three']) simulator.store.patch(poolRef(name), { status: { error: 'x' } }, { subresource: 'status' });
    const isSeen = ({ ref }: PoolObject): boolean => errorIn(source.object(ref)?.object) === 'x';
    await waitFor('the statuses are seen', () => [...seen.pools.values()].every(isSeen));
    await source.resync();
    expect([...seen.pools.values()].map(({ status }) => status)).toEqual(Array(3).fill({ ...PENDING, error: 'x' }));
  });

  test('goes on when its listener throws, and says so', async () => {
    const { seen, simulator, log } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    let thrown = 0;
    const told = seen.clusterObserved.bind(seen);
    seen.clusterObserved = (ref, fact) => {
      told(ref, fact);
      thrown += 1;
      throw new Error('the listener is broken');
    };
    setReady(simulator, 'a', false);
    await waitFor('the first throw', () => thrown === 1);
    setReady(simulator, 'b', false);
    await waitFor('the second throw', () => thrown === 2);
    expect(seen.nodes()).toEqual(['!a', '!b']);
    expect(log.lines.filter((line) => line.includes('the listener is broken'))).toHaveLength(2);
  });

  test('says when FloatingIPPools are not served and joins when they are', async () => {
    const simulator = await simulated({ crds: [] });
    const served: boolean[] = [];
    const source = sourceOn(connected(simulator.kubeconfig()), { served: (value) => void served.push(value) });
    const seen = new Recorder();
    let started = false;
    const start = source.start(seen).then(() => {
      started = true;
    });
    await waitFor('not served', () => served.length === 1);
    expect(served).toEqual([false]);
    expect(started).toBe(false);
    expect(source.missing()[0]).toContain('404');
    const { readDefinitions } = await import('../../../../simulator/kubernetes/definitions.ts');
    for (const definition of readDefinitions(['crds/floatingippools.yaml'])) simulator.store.create(definition);
    await start;
    expect(served).toEqual([false, true]);
  });
});

describe('a pod or node deleted while its watch is cut', () => {
  test('is missed by nobody: the watch goes on where it was', async () => {
    const { seen, simulator, watching } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    await watching('nodes');
    simulator.faults.cutWatches();
    simulator.store.delete(nodeRef('a'));
    await waitFor('a gone', () => seen.nodes()?.join() === 'b');
  });

  test('is found by comparing a new list when the history is lost', async () => {
    const { seen, simulator, watching } = await running((cluster) => {
      addPod(cluster, { name: 'x', node: 'a', labels: { app: 'ingress' } });
      addPod(cluster, { name: 'y', node: 'b', labels: { app: 'ingress' } });
      cluster.store.create(poolObject('pool', { match: { nodeLabel: 'color=blue', podLabel: 'app=ingress' } }));
    });
    await watching('pods');
    simulator.faults.outage('reset');
    simulator.store.delete(nodeRef('a'));
    deletePod(simulator, 'x');
    simulator.faults.compact();
    simulator.faults.endOutage();
    await waitFor('both gone', () => seen.nodes()?.join() === 'b' && seen.serving()?.join() === 'b');
  });
});

describe('a pool made anew under its name while the watch is cut', () => {
  test('is told as gone and then as observed, by uid', async () => {
    const { seen, simulator, watching } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    await watching('floatingippools');
    const former = seen.pools.get('pool')?.ref.uid;
    simulator.faults.outage('reset');
    simulator.store.delete(poolRef('pool'));
    simulator.store.create(poolObject('pool', { match: { nodeLabel: 'color=red' } }));
    simulator.faults.compact();
    simulator.faults.endOutage();
    await waitFor('the new facts', () => seen.nodes()?.join() === 'c');
    const uid = seen.pools.get('pool')?.ref.uid;
    expect(uid).not.toBe(former);
    const news = seen.told.slice(2);
    expect(news.filter((line) => !line.startsWith('fact'))).toEqual([`gone pool ${former}`, `observed pool ${uid}`]);
  });
});

describe('an API server in trouble', () => {
  const faults: readonly [string, (simulator: KubernetesSimulator) => void][] = [
    ['resets its watches', ({ faults }) => void faults.resetWatches()],
    ['expires its watches', ({ faults }) => void faults.expireWatches()],
    [
      'refuses resumed watches as expired',
      ({ faults }) => {
        faults.rejectWatches(3);
        faults.cutWatches();
      },
    ],
    [
      'fails lists',
      ({ faults }) => {
        faults.failLists(undefined, 6, 500);
        faults.expireWatches();
      },
    ],
    [
      'cuts lists off in the middle',
      ({ faults }) => {
        faults.truncateLists(undefined, 4);
        faults.expireWatches();
      },
    ],
    [
      'answers one list as if there were nothing',
      ({ faults }) => {
        faults.emptyLists('nodes', 1);
        faults.emptyLists('floatingippools', 1);
        faults.expireWatches();
      },
    ],
    [
      'is away and comes back',
      ({ faults }) => {
        faults.outage('reset', 300);
      },
    ],
    [
      'answers 503 for a while',
      ({ faults }) => {
        faults.outage('503', 300);
      },
    ],
  ];

  test.each(faults)('that %s is followed afterwards, and nothing vanishes meanwhile', async (_what, hurt) => {
    const { seen, simulator, watching } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    await watching('nodes');
    await watching('floatingippools');
    const before = seen.told.length;
    hurt(simulator);
    setReady(simulator, 'b', false);
    await waitFor('b not ready', () => seen.nodes()?.join() === 'a,!b');
    const between = seen.told.slice(before);
    expect(between.filter((line) => line.startsWith('gone'))).toEqual([]);
    expect(between.filter((line) => line.startsWith('fact'))).toHaveLength(1);
    simulator.store.patch(poolRef('pool'), { spec: { ips: ['203.0.113.8'] } });
    await waitFor('the spec', () => seen.count('observed pool') === 2);
  });

  test('that expires the second page of a list gets the whole list asked anew', async () => {
    const simulator = await simulated();
    for (let index = 0; index < 630; index += 1) addNode(simulator, `n${index}`);
    simulator.store.create(poolObject('pool', {}));
    simulator.faults.expireContinue('nodes', 1);
    const seen = new Recorder();
    await sourceOn(connected(simulator.kubeconfig())).start(seen);
    expect(seen.nodes()).toHaveLength(630);
    expect(seen.count('fact')).toBe(1);
    const pages = simulator.requests.filter(({ path, query }) => path === '/api/v1/nodes' && query.includes('limit='));
    expect(pages.map(({ code }) => code)).toEqual([200, 410, 200, 200, 200]);
  });
});

const errorIn = (object: PoolObject | undefined): unknown => (object?.status as { readonly error?: string } | null)?.error;

const raise = (): never => {
  throw new Error('no such pool');
};
