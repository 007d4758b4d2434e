import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError, Unreachable } from '../../actors/ports/errors.ts';
import type { Fence } from '../../actors/ports/fence.ts';
import type { CellWrite } from '../../actors/ports/records.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { memoryLease } from '../../adapters/memory/leadership.ts';
import { memoryProvider } from '../../adapters/memory/provider.ts';
import { memoryQueues } from '../../adapters/memory/queues.ts';
import { memoryStore } from '../../adapters/memory/store.ts';
import type { Address, ProviderID } from '../../machines/model/types.ts';

// What the adapters in memory do beyond their ports: the accidents that other tests rely on.

const write = (expected: number): CellWrite => ({
  cell: 'c',
  term: 1,
  records: [
    {
      actor: 'c',
      expected,
      record: { chart: 'pool', chartVersion: 1, snapshot: { value: 'A', context: {} }, waiting: {}, version: expected + 1, term: 1 },
    },
  ],
  outbox: { add: [], clear: [] },
  claims: { take: [], free: [] },
  seen: {},
  journal: [],
});

/** Resolves to `pending` when the promise has not settled although everything is quiet. */
const outcomeOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const clock = virtualClock();
  let outcome: unknown = 'pending';
  promise.then(
    (value) => {
      outcome = value;
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  await clock.settle();
  return outcome;
};

describe('the store of a process that died', () => {
  test('never answers, and the next process finds what was written', async () => {
    const store = memoryStore();
    await store.openTerm(1);
    const answered = await store.save(write(0));
    const late = store.save(write(1));
    const next = store.reopen();
    expect(answered).toEqual({ kind: 'saved' });
    expect(await outcomeOf(late)).toBe('pending');
    expect((await next.load('c'))?.records.c?.version).toBe(1);
  });

  test('may have written what it never heard of', async () => {
    const store = memoryStore();
    await store.openTerm(1);
    store.loseReplies(1);
    await expect(store.save(write(0))).rejects.toBeInstanceOf(Unreachable);
    expect((await store.load('c'))?.records.c?.version).toBe(1);
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test('may be a server that lost what it had acknowledged', async () => {
    const store = memoryStore();
    await store.openTerm(1);
    const checkpoint = store.checkpoint();
    await store.save(write(0));
    const { runId } = await store.state();
    store.restart(checkpoint);
    expect(await store.load('c')).toBeNull();
    expect((await store.state()).runId).not.toBe(runId);
  });
});

describe('the store that one process has for itself', () => {
  test('keeps what it has under whatever term is opened next', async () => {
    const store = memoryStore({ fleeting: true });
    expect([store.isFleeting?.(), memoryStore().isFleeting?.()]).toEqual([true, false]);
    await store.openTerm(1);
    await store.save(write(0));
    expect(await store.openTerm(4)).toBe(true);
    expect([(await store.load('c'))?.records.c?.version, await store.cells(), (await store.state()).term]).toEqual([1, ['c'], 4]);
    expect(await store.openTerm(3)).toBe(false);
  });

  test('forgets nodes that nobody claims any more', async () => {
    const store = memoryStore();
    const claim = { provider: 'p', node: 'a', owner: 'c' };
    await store.openTerm(1);
    await store.save({ ...write(0), claims: { take: [{ ...claim, limit: 1 }], free: [] } });
    expect([...(store.checkpoint().data.claims.get('p')?.keys() ?? [])]).toEqual(['a']);
    await store.save({ ...write(1), claims: { take: [], free: [claim] } });
    expect([...(store.checkpoint().data.claims.get('p')?.keys() ?? [])]).toEqual([]);
  });
});

describe('queues that run for long', () => {
  test('keep as many finished jobs as they are to, the newest, and tell of those that ended in a defect', async () => {
    const clock = virtualClock();
    const defects: string[] = [];
    const queues = memoryQueues(clock, { keepAtMost: 2, failed: (...told) => defects.push(told.join(' ')) });
    queues.queue('q').consume(async ({ id }) => {
      if (id === 'a.2') throw new Error('broken');
      return { kind: 'done' };
    }, 1);
    for (const id of ['a.1', 'a.2', 'a.3']) {
      await queues.queue('q').add([{ id, title: `job ${id}`, data: null }]);
      await clock.advance(10);
    }
    expect(queues.jobs('q').map(({ id, state }) => [id, state])).toEqual([
      ['a.2', 'failed'],
      ['a.3', 'completed'],
    ]);
    expect(defects).toEqual(['q job a.2 Error: broken']);
  });
});

test('a process that is stopped runs its handlers unheard, while others run its jobs again', async () => {
  const clock = virtualClock();
  const queues = memoryQueues(clock);
  const ends = Promise.withResolvers<void>();
  let lock = () => ({ renewedAt: 0, durationMs: 0 });
  queues.queue('q').consume(async (job) => {
    lock = job.lock;
    await ends.promise;
    return { kind: 'again', afterMs: 0, progress: 'of the stopped one' };
  }, 1);
  await queues.queue('q').add([{ id: 'a.1', title: 'a', data: null }]);
  await clock.settle();
  queues.stopRenewing();
  const reruns: boolean[] = [];
  queues
    .connect()
    .queue('q')
    .consume(async ({ rerun }) => {
      reruns.push(rerun);
      return { kind: 'done' };
    }, 1);
  await clock.advance(4_999);
  expect(reruns).toEqual([]);
  expect(clock.monotonic() - lock().renewedAt).toBe(4_999);
  await clock.advance(1);
  expect(reruns).toEqual([true]);
  expect(lock().renewedAt).toBe(Number.NEGATIVE_INFINITY);
  ends.resolve();
  await clock.settle();
  expect(queues.jobs('q')).toMatchObject([{ state: 'completed', progress: null, runs: 2 }]);
});

describe('a lease', () => {
  const contend = async (lease: ReturnType<typeof memoryLease>, name: string, told: string[]) => {
    const contender = lease.contender(name);
    await contender.start({ acquired: () => told.push(`${name} acquired`), lost: () => told.push(`${name} lost`) });
    return contender;
  };

  test('is lost by a holder that is cut off before another can have it', async () => {
    const clock = virtualClock();
    const lease = memoryLease(clock);
    const told: string[] = [];
    const a = await contend(lease, 'a', told);
    const b = await contend(lease, 'b', told);
    expect(told).toEqual(['a acquired']);
    await clock.advance(60_000);
    expect(told).toEqual(['a acquired']);
    a.cut();
    await clock.advance(60_000);
    expect(told).toEqual(['a acquired', 'a lost', 'b acquired']);
    await expect(a.writeTerm(9, null)).rejects.toBeInstanceOf(Unreachable);
    a.mend();
    await clock.advance(4_000);
    await expect(a.writeTerm(9, null)).rejects.toBeInstanceOf(Fenced);
    await b.writeTerm(2, null);
    expect([a.seenTerm(), b.seenTerm(), lease.term()]).toEqual([2, 2, 2]);
    expect(clock.monotonic() - a.lease().renewedAt).toBeLessThanOrEqual(2_000);
  });

  test('that was deleted bears what was seen before until somebody writes a term, be it a lower one', async () => {
    const clock = virtualClock();
    const lease = memoryLease(clock);
    const told: string[] = [];
    const a = await contend(lease, 'a', told);
    await a.writeTerm(7, 'one');
    const on = a.seenLease();
    lease.delete();
    expect(a.seenLease()).toBe(on);
    expect([a.seenTerm(), a.seenServer(), a.isNew()]).toEqual([7, 'one', true]);
    const b = await contend(lease, 'b', told);
    await clock.advance(4_000);
    expect([a.seenTerm(), b.seenTerm()]).toEqual([7, 0]);
    await b.writeTerm(2, null);
    expect([a.seenTerm(), a.seenServer(), a.isNew()]).toEqual([2, null, false]);
    expect(a.seenLease()).not.toBe(on);
  });

  test('of a process that died runs out, and one that is given up does not need to', async () => {
    const clock = virtualClock();
    const lease = memoryLease(clock);
    const told: string[] = [];
    const a = await contend(lease, 'a', told);
    const b = await contend(lease, 'b', told);
    a.end();
    await clock.advance(14_000);
    expect(told).toEqual(['a acquired']);
    await clock.advance(4_000);
    expect(told).toEqual(['a acquired', 'b acquired']);
    await contend(lease, 'c', told);
    await b.release();
    await clock.advance(2_000);
    expect(told).toEqual(['a acquired', 'b acquired', 'b lost', 'c acquired']);
  });
});

describe('a provider in memory', () => {
  const node = 'memory://1' as ProviderID;
  const other = 'memory://2' as ProviderID;
  const address = '203.0.113.7' as Address;
  const setUp = () => {
    const clock = virtualClock();
    const provider = memoryProvider(clock, { actionMs: 500, callMs: 20 });
    provider.cloud.addNode(node, other);
    provider.cloud.addAddress(address, 'nyc3', node);
    return { clock, provider };
  };
  const call = { purpose: 'failover' } as const;

  test('carries out what it hung on after the caller gave up', async () => {
    const { clock, provider } = setUp();
    provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 16_000 });
    const assigned = provider.assignRoutedIP(address, other, call).catch((error: unknown) => error);
    await clock.advance(15_000);
    expect(await assigned).toMatchObject({ kind: 'Unavailable', unknownOutcome: true });
    expect(provider.cloud.find(address)).toMatchObject({ providerID: node, locked: false });
    await clock.advance(1_000);
    expect(provider.cloud.find(address)).toMatchObject({ providerID: node, locked: true });
    await clock.advance(500);
    expect(provider.cloud.history(address)).toEqual([
      { at: 0, providerID: node },
      { at: 16_500, providerID: other },
    ]);
  });

  test('carries out what a process sent before it died, which never hears of it', async () => {
    const { clock, provider } = setUp();
    const reached: string[] = [];
    const process = provider.process({
      probe: (point) => {
        reached.push(point);
        if (point === 'beforeReplyRead') process.end();
      },
    });
    const assigned = process.assignRoutedIP(address, other, call);
    await clock.advance(1_000);
    expect(reached).toEqual(['beforeSend', 'beforeReplyRead']);
    expect(await outcomeOf(assigned)).toBe('pending');
    expect(provider.cloud.find(address).providerID).toBe(other);
  });

  test('is sent nothing by a process that died before', async () => {
    const { clock, provider } = setUp();
    const process = provider.process({ probe: () => process.end() });
    const assigned = process.assignRoutedIP(address, other, call);
    await clock.advance(1_000);
    expect(await outcomeOf(assigned)).toBe('pending');
    expect(provider.calls).toEqual([]);
  });

  test('asks the fence with nothing between the answer and the sending', async () => {
    const { clock, provider } = setUp();
    const order: string[] = [];
    const fence: Fence = {
      read: async () => void order.push('read'),
      assertFresh: () => {
        order.push('fresh');
        queueMicrotask(() => order.push(`sent ${provider.writes().length}`));
      },
    };
    const assigned = provider.assignRoutedIP(address, other, { ...call, fence });
    await clock.advance(1_000);
    await assigned;
    expect(order).toEqual(['read', 'fresh', 'sent 1']);
  });

  test('answers old reads for a while, and refuses or fails as planned', async () => {
    const { clock, provider } = setUp();
    provider.staleReads(2_000);
    provider.cloud.moveByHand(address, other);
    const read = async () => {
      const [found] = await Promise.all([provider.findRoutedIP(address, { purpose: 'verify' }), clock.advance(20)]);
      return found.providerID;
    };
    expect(await read()).toBe(node);
    await clock.advance(2_000);
    expect(await read()).toBe(other);
    provider.faults.next('findRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 30_000 }, 2);
    for (let times = 0; times < 2; times++) {
      await expect(read()).rejects.toBeInstanceOf(ProviderError);
    }
    expect(await read()).toBe(other);
    provider.cloud.failActions(1);
    const action = provider.assignRoutedIP(address, node, call);
    await clock.advance(1_000);
    expect(provider.cloud.actionState((await action) ?? '')).toBe('errored');
    expect(provider.cloud.find(address)).toMatchObject({ providerID: other, locked: false });
  });
});
