import { expect, test } from 'vitest';
import { ObservedPools } from '../../../actors/controllers/pool-cache.ts';
import { SharedChanges, type SharedChangesPorts } from '../../../actors/controllers/shared-changes.ts';
import { Workers, type WorkersPorts } from '../../../actors/jobs/worker-pool.ts';
import type { ClusterWriter, PoolObject } from '../../../actors/ports/cluster.ts';
import type { ActorRecord, Clock } from '../../../actors/ports/records.ts';
import { Waits } from '../../../actors/runtime/lost-commands.ts';
import { PolicyProjector } from '../../../actors/status/classes.ts';
import { Evacuations } from '../../../actors/status/evacuation.ts';
import { NO_NOTICES } from '../../../actors/status/notices.ts';
import { type ProjectorPorts, projector } from '../../../actors/status/projector.ts';
import { Watchdog } from '../../../actors/status/watchdog.ts';
import type { Watched } from '../../../actors/status/watchdog-log.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { actorOf } from '../../../machines/model/actor-id.ts';
import type { ActorId } from '../../../machines/model/types.ts';
import { recordingLog } from '../../adapters/digitalocean/support.ts';
import { pausingClock } from '../../support/pausing.ts';
import { node, World } from '../../support/world.ts';

const COUNT = 10;
const PAUSE_MS = 10;
/** Whoever goes through many objects pauses after every other one of them. */
const AT_ONCE = 2;

const object = (kind: string, name: string, spec = {}): PoolObject => ({
  ref: { kind, namespace: kind === 'ClusterRoutedIPClass' ? '' : 'web', name, uid: `${kind}-${name}` },
  generation: 1,
  createdAt: 0,
  deleting: false,
  spec,
  status: null,
});

const routedIPs = Array.from({ length: COUNT }, (_, index) => object('RoutedIP', `app-${index}`, { className: 'c', serviceRef: {} }));

/** The most calls of `count` between two moments of the clock. */
function perMoment(clock: Clock) {
  let [moment, calls, most] = [clock.monotonic(), 0, 0];
  return {
    count: (): void => {
      if (clock.monotonic() !== moment) [moment, calls] = [clock.monotonic(), 0];
      calls += 1;
      most = Math.max(most, calls);
    },
    most: (): number => most,
  };
}

test('a look at whether objects are served leaves the event loop to others', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const judged = perMoment(clock);
  const said: ActorId[] = [];
  const watchdog = new Watchdog({
    clock,
    log: recordingLog(),
    objects: () => routedIPs.map((each): [ActorId, Watched] => [actorOf(each.ref), each]),
    judge: () => () => {
      judged.count();
      return { reason: 'NotBegun', message: 'nothing has been begun for it yet' };
    },
    troubles: () => new Map(),
    changed: (id) => said.push(id),
  });
  for (let second = 0; second < 13; second += 1) {
    watchdog.look();
    await virtual.advance(1000);
  }
  expect(judged.most()).toBeLessThanOrEqual(AT_ONCE);
  expect(said).toEqual(routedIPs.map(({ ref }) => actorOf(ref)));
});

test('a look for what is overdue leaves the event loop to others', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const looked = perMoment(clock);
  function* records(): Iterable<readonly [ActorId, ActorRecord]> {
    for (const { ref } of routedIPs) {
      looked.count();
      yield [actorOf(ref), { chart: 'pool', chartVersion: 1, snapshot: { value: '', context: {} }, waiting: {}, version: 1, term: 1 }];
    }
  }
  const overdue = new Waits(clock).overdue(records());
  await virtual.advance(1000);
  expect([await overdue, looked.most()]).toEqual([[], AT_ONCE]);
});

test('what is shown of classes leaves the event loop to others, and names all users of each', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const asked = perMoment(clock);
  const pools = new ObservedPools();
  const spec = { className: 'c' };
  pools.policies.put(object('ClusterRoutedIPClass', 'c', spec));
  for (const each of routedIPs.toReversed()) pools.put(each);
  const createsAt = pools.createsAt.bind(pools);
  pools.createsAt = (id) => {
    asked.count();
    return createsAt(id);
  };
  const shown: unknown[] = [];
  const writer = {
    project: ({ status }) => void shown.push(status.routedIPs),
    guard: async () => {},
  } as Partial<ClusterWriter> as ClusterWriter;
  const ports = {
    writer,
    clock,
    log: recordingLog(),
    pools,
    providers: { all: {}, onChange: () => {}, need: () => {} },
    isLeading: () => true,
    unread: () => null,
  };
  new PolicyProjector(ports).request();
  await virtual.advance(5000);
  expect(asked.most()).toBeLessThanOrEqual(AT_ONCE);
  expect(shown).toEqual([routedIPs.map(({ ref: { namespace, name } }) => ({ namespace, name }))]);
});

test('what thousands share, a class or an account, is told to them in several turns of the event loop', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const observed = perMoment(clock);
  const seen: ActorId[] = [];
  const read: string[] = [];
  const pools = new ObservedPools();
  const className = 'digitalocean.com/floating-ip';
  pools.policies.put(object('ClusterRoutedIPClass', 'c', { className, fromSecretsRef: [{ name: 'token' }] }));
  for (const each of routedIPs) pools.put({ ...each, spec: { className, serviceRef: {} } });
  const key = 'digitalocean@default.token';
  const ids = routedIPs.map(({ ref }) => actorOf(ref));
  const changes = new SharedChanges({
    cells: { stopped: false, all: new Map(ids.map((id) => [id, {}])), recordsOf: () => null, tellClaims: () => {} },
    lists: { providerOf: () => key, listOf: () => key, readFor: () => void read.push(key), giveUp: () => {}, waitingFor: () => [] },
    providers: { all: { [key]: { provider: {} } } },
    pools,
    clock,
    isStarted: () => true,
    observe: ({ ref }: PoolObject) => {
      observed.count();
      seen.push(actorOf(ref));
    },
  } as unknown as SharedChangesPorts);
  changes.policiesChanged(ids);
  changes.policiesChanged(ids.slice(-1));
  await virtual.advance(1000);
  expect([observed.most(), seen.splice(0)]).toEqual([AT_ONCE, ids]);
  changes.providerChanged(key);
  await virtual.advance(1000);
  expect([observed.most(), seen.splice(0), read]).toEqual([AT_ONCE, ids, [key]]);
  changes.policiesChanged(ids);
  seen.length = 0;
  changes.settle('rip/web/app-9');
  expect(seen).toEqual(['rip/web/app-9']);
});

test('no object is asked about evacuations where no node is evacuated', async () => {
  const clock = virtualClock();
  let asked = 0;
  const objects = (): ActorId[] => {
    asked += 1;
    return routedIPs.map(({ ref }) => actorOf(ref));
  };
  const shown: unknown[] = [];
  const writer = { showEvacuations: (wanted: unknown) => void shown.push(wanted) };
  new Evacuations({ writer, clock, objects, recordsOf: () => new Map(), isLeading: () => true }).request();
  await clock.advance(1000);
  expect([shown, asked]).toEqual([[{}], 0]);
});

test('after a turn of one RoutedIP the marks of all nodes are made of the records of that one alone', async () => {
  const clock = virtualClock();
  const ids = routedIPs.map(({ ref }) => actorOf(ref));
  const asked = new Set<ActorId>();
  let marked = 0;
  const writer = { markHolders: () => (marked += 1), project: () => {} } as Partial<ClusterWriter> as ClusterWriter;
  const ports: Partial<ProjectorPorts> = {
    writer,
    clock,
    recordsOf: (id) => {
      asked.add(id);
      return new Map();
    },
    factOf: () => null,
    objectOf: () => undefined,
    noticesOf: () => NO_NOTICES,
    routedIPs: () => ids,
    hindranceOf: () => null,
    term: () => 1,
  };
  const shown = projector(ports as ProjectorPorts);
  const [one] = ids as [ActorId];
  shown.showAll(ids);
  await clock.advance(1000);
  expect([asked.size, marked]).toEqual([COUNT, 1]);
  asked.clear();
  shown.turnSaved({ cell: one, term: 1, at: 0, transitions: [] });
  await clock.advance(1000);
  expect([[...asked].filter((id) => id.startsWith('rip/')), marked]).toEqual([[one], 2]);
});

test('jobs of many accounts begin to be taken in several turns of the event loop; when one of them has changed no other one is looked at', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const begun = perMoment(clock);
  const looked = new Set<string | symbol>();
  const names = new Set<string>();
  const queue = (name: string) => ({
    consume: () => {
      begun.count();
      names.add(name);
      return { close: async () => {} };
    },
  });
  const known = Object.fromEntries(routedIPs.map(({ ref: { name } }) => [name, { provider: { name } }]));
  const all = new Proxy(known, { get: (target, key) => Reflect.get(target, looked.add(key) && key) });
  const ports = {
    clock,
    settings: { jobsAtOnce: 1 },
    queues: { queue },
    providers: { all },
    leadership: { lease: () => ({ renewedAt: clock.monotonic(), durationMs: 15_000 }) },
  };
  const workers = new Workers(ports as unknown as WorkersPorts);
  workers.tend();
  await virtual.advance(1000);
  expect([begun.most(), names.size]).toEqual([AT_ONCE, COUNT]);
  looked.clear();
  workers.tend('app-1');
  expect([...looked]).toEqual(['app-1']);
});

test('a new leader leaves the event loop to others while it loads records', async () => {
  const world = new World({ pauseMs: PAUSE_MS });
  const names = Array.from({ length: COUNT }, (_, index) => `n${index}`);
  world.nodes(...names.map((name) => node(name)));
  const pools = names.map((name, index) => world.pool(name, { ips: [world.address(`203.0.113.${index + 1}`)] }));
  const first = await world.start();
  await world.clock.runUntil(() => pools.every((ref) => world.status(ref).activeIPs === 1), 60_000);
  first.kill();
  const next = await world.start();
  const sizes: number[] = [0];
  await world.clock.runUntil(() => {
    const { size } = next.supervisor.records();
    if (size !== sizes.at(-1)) sizes.push(size);
    return next.supervisor.leading && size > COUNT;
  }, 60_000);
  const steps = sizes.slice(1).map((size, index) => size - (sizes[index] ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(AT_ONCE);
});

test('what has changed of many objects at a time is shown by one timer, and leaves the event loop to others', async () => {
  const virtual = virtualClock();
  const clock = pausingClock(virtual, PAUSE_MS);
  const looked = perMoment(clock);
  const ids = routedIPs.map(({ ref }) => actorOf(ref));
  const shownIds: ActorId[] = [];
  const ports: Partial<ProjectorPorts> = {
    writer: {} as ClusterWriter,
    clock,
    recordsOf: () => new Map(),
    factOf: () => null,
    objectOf: (id) => {
      looked.count();
      shownIds.push(id);
      return undefined;
    },
    noticesOf: () => NO_NOTICES,
    routedIPs: () => null,
  };
  const { turnSaved } = projector(ports as ProjectorPorts);
  for (const cell of ids) turnSaved({ cell, term: 1, at: 0, transitions: [] });
  expect(virtual.pending()).toBe(1);
  await virtual.advance(1000);
  expect([looked.most(), shownIds]).toEqual([AT_ONCE, ids]);
});
