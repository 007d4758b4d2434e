import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError, Unreachable } from '../../../actors/ports/errors.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import type { MemoryVipOptions } from '../../../adapters/memory/vip-world.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import type { Address } from '../../../machines/model/types.ts';
import { TestFence, VipRecorder } from '../../contracts/vip-harness.ts';

const A = parseAddress('192.0.2.1') as Address;

/** A cluster under a virtual clock, with a Service and one process. */
const prepared = (options: Partial<MemoryVipOptions> = {}) => {
  const clock = virtualClock();
  const cluster = memoryVipCluster({ clock, ...options });
  const ref = cluster.setService({ name: 'web' });
  return { clock, cluster, ref, process: cluster.process(), seen: new VipRecorder() };
};

/** How a call ended, once it has. */
const outcomeOf = <T>(call: Promise<T>): { readonly now: () => unknown } => {
  let outcome: unknown = 'pending';
  call.then(
    (value) => {
      outcome = value ?? 'done';
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  return { now: () => outcome };
};

describe('a call to the cluster in memory', () => {
  test('takes the time of its requests: one that reads, and one that changes something', async () => {
    const { clock, cluster, ref, process } = prepared({ callMs: 100 });
    const guarding = outcomeOf(process.guard(ref, new TestFence()));
    await clock.advance(199);
    expect([guarding.now(), cluster.service('default', 'web')?.finalizers]).toEqual(['pending', []]);
    await clock.advance(1);
    expect(guarding.now()).toBe('done');
    const again = outcomeOf(process.guard(ref, new TestFence()));
    await clock.advance(100);
    expect(again.now()).toBe('done');
    expect(cluster.writes.map(({ verb, result }) => `${verb} ${result}`)).toEqual(['guard done']);
  });

  test('finds at its arrival what another one did on the way', async () => {
    const { clock, cluster, ref, process } = prepared({ callMs: 100 });
    const other = cluster.setService({ name: 'other' });
    const first = outcomeOf(process.reserve(A, 'a', ref, new TestFence()));
    await clock.advance(50);
    const second = outcomeOf(cluster.process().reserve(A, 'a', other, new TestFence()));
    await clock.advance(500);
    expect(first.now()).toMatchObject({ owner: { name: 'web' } });
    expect(second.now()).toMatchObject({ kind: 'Conflict' });
    expect(cluster.writes.map(({ result }) => result)).toEqual(['done', 'Conflict']);
  });

  test.each([
    ['loseReply', true],
    ['loseRequest', false],
    ['noConnection', false],
  ] as const)('that meets the fault %s has an effect or has none, and is not answered', async (kind, effect) => {
    const { clock, cluster, ref, process } = prepared();
    cluster.faults.next('reserve', { kind });
    const reserving = outcomeOf(process.reserve(A, 'a', ref, new TestFence()));
    await clock.settle();
    expect(reserving.now()).toBeInstanceOf(Unreachable);
    expect(cluster.ips()).toHaveLength(effect ? 1 : 0);
    const again = outcomeOf(process.reserve(A, 'a', ref, new TestFence()));
    await clock.settle();
    expect(again.now()).toMatchObject({ address: A });
  });

  test('that hangs ends after the deadline, and may have its effect later', async () => {
    const { clock, cluster, ref, process } = prepared();
    cluster.faults.next('reserve', { kind: 'hang', effectAfterMs: 60_000 });
    const reserving = outcomeOf(process.reserve(A, 'a', ref, new TestFence()));
    await clock.advance(14_999);
    expect(reserving.now()).toBe('pending');
    await clock.advance(1);
    expect(reserving.now()).toBeInstanceOf(Unreachable);
    expect(cluster.ips()).toEqual([]);
    await clock.advance(45_000);
    expect(cluster.ips()).toHaveLength(1);
  });

  test('is refused by plan, and looks as the API server’s refusals do', async () => {
    const { clock, cluster, ref, process } = prepared();
    cluster.faults.next('publish', { kind: 'refuse', error: 'Unauthorized', message: 'no rule allows it' });
    const publishing = outcomeOf(process.publish(ref, A, new TestFence()));
    await clock.settle();
    expect(publishing.now()).toBeInstanceOf(ProviderError);
    expect(publishing.now()).toMatchObject({ kind: 'Unauthorized', message: 'no rule allows it' });
  });

  test('of a process that may not send is not sent; of one that dies it arrives, and is never answered', async () => {
    const { clock, cluster, ref, process } = prepared({ callMs: 100 });
    const fence = new TestFence();
    fence.closed = new Fenced('late');
    const refused = outcomeOf(process.guard(ref, fence));
    await clock.advance(200);
    expect(refused.now()).toBe(fence.closed);
    const dying = outcomeOf(process.guard(ref, new TestFence()));
    const unsent = outcomeOf(process.reserve(A, 'a', ref, new TestFence()));
    await clock.advance(50);
    const early = outcomeOf(process.publish(ref, A, new TestFence()));
    await clock.advance(100);
    process.end();
    await clock.advance(1_000);
    expect([dying.now(), unsent.now(), early.now()]).toEqual(['pending', 'pending', 'pending']);
    expect(cluster.service('default', 'web')).toMatchObject({ finalizers: ['ips.paas.org/finalizer'], ingress: [{ ip: A }] });
    expect(cluster.writes.map(({ verb, result }) => `${verb} ${result}`)).toEqual([
      'guard fenced',
      'guard done',
      'reserve done',
      'publish done',
    ]);
  });
});

describe('the watches of the cluster in memory', () => {
  test('tell late and in order, each process in its own time', async () => {
    const { clock, cluster, process, seen } = prepared({ watchMs: 1_000 });
    const started = outcomeOf(process.start(seen));
    await clock.advance(999);
    expect(seen.told).toEqual([]);
    await clock.advance(1);
    expect([seen.told, started.now()]).toEqual([['service web', 'synced'], 'done']);
    cluster.setIP({ name: '192.0.2.1' });
    await clock.advance(500);
    cluster.removeIP('192.0.2.1');
    await clock.advance(500);
    expect(seen.told.slice(2)).toEqual(['ip 192.0.2.1']);
    await clock.advance(500);
    expect(seen.told.slice(3)).toEqual(['ip gone 192.0.2.1']);
  });

  test('that are held tell everything afterwards, while calls see what is', async () => {
    const { clock, cluster, ref, process, seen } = prepared();
    const started = outcomeOf(process.start(seen));
    await clock.settle();
    expect(started.now()).toBe('done');
    process.holdWatches();
    const old = seen.services.get('web');
    cluster.setService({ name: 'web', type: 'ClusterIP' });
    cluster.setIP({ name: '192.0.2.1' });
    await clock.advance(60_000);
    expect([seen.services.get('web'), seen.ips.size]).toEqual([old, 0]);
    expect(await process.look(ref)).toMatchObject({ wanting: false });
    process.resumeWatches();
    expect([seen.services.has('web'), seen.ips.size]).toEqual([false, 1]);
  });

  test('of kinds that are not installed tell nothing, until they are', async () => {
    const { clock, cluster, process, seen } = prepared({ served: false });
    const started = outcomeOf(process.start(seen));
    await clock.settle();
    expect([started.now(), seen.told]).toEqual(['done', []]);
    expect(() => cluster.setGroup('a', {})).toThrow('not installed');
    cluster.install();
    cluster.setGroup('a', {});
    await clock.settle();
    expect(seen.told).toEqual(['service web', 'synced', 'group a']);
  });

  test('tell of no Service of another class, and of one of ours', async () => {
    const { clock, cluster, process, seen } = prepared({ loadBalancerClass: 'example.com/ours' });
    cluster.setService({ name: 'theirs', loadBalancerClass: 'example.com/theirs' });
    cluster.setService({ name: 'ours', loadBalancerClass: 'example.com/ours' });
    outcomeOf(process.start(seen));
    await clock.settle();
    expect([...seen.services.keys()].sort()).toEqual(['ours', 'web']);
  });
});
