import { expect, test } from 'vitest';
import { inSlices, REST_MS } from '../../../actors/ports/in-slices.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';

/** Every other item comes late in a turn of the event loop. */
const late = () => {
  let asked = 0;
  return {
    ...virtualClock(),
    yieldToEventLoop: () => (++asked % 2 === 0 ? new Promise<void>((resolve) => setImmediate(resolve)) : null),
  };
};

test('thousands of things leave the event loop to others in between, and keep their order', async () => {
  const seen: string[] = [];
  const other = (async () => {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push('other');
  })();
  const isDone = await inSlices(
    ['a', 'b', 'c'],
    late(),
    () => false,
    (item) => seen.push(item),
  );
  await other;
  expect([isDone, seen]).toEqual([true, ['a', 'b', 'other', 'c']]);
});

test('of many that have paused one goes on in a turn of the event loop that it makes long', async () => {
  let isLong = false;
  const perTurn: number[] = [];
  const each = (): void => {
    if (!isLong) {
      perTurn.push(0);
      setImmediate(() => {
        isLong = false;
      });
    }
    isLong = true;
    perTurn.push((perTurn.pop() ?? 0) + 1);
  };
  const yieldToEventLoop = () => (isLong ? new Promise<void>((resolve) => setImmediate(resolve)) : null);
  const clock = { ...virtualClock(), yieldToEventLoop };
  await Promise.all([1, 2, 3].map(() => inSlices(['a', 'b'], clock, () => false, each)));
  // All three begin at once.
  expect(perTurn).toEqual([3, 1, 1, 1]);
});

test('what is left is dropped once it is over', async () => {
  const seen: string[] = [];
  const isDone = await inSlices(
    ['a', 'b', 'c', 'd'],
    late(),
    () => seen.length > 1,
    (item) => seen.push(item),
  );
  expect([isDone, seen]).toEqual([false, ['a', 'b']]);
});

test('a clock that knows of no event loop has all done before the first pause', () => {
  const seen: string[] = [];
  void inSlices(
    ['a', 'b'],
    virtualClock(),
    () => true,
    (item) => seen.push(item),
  );
  expect(seen).toEqual(['a', 'b']);
});

test('where nobody waits for the end, each pause is as long as was asked for', async () => {
  const clock = virtualClock();
  const seenAt: number[] = [];
  let asked = 0;
  const pausing = { ...clock, yieldToEventLoop: () => (++asked % 2 === 1 ? Promise.resolve() : null) };
  const start = clock.monotonic();
  void inSlices(
    ['a', 'b', 'c'],
    pausing,
    () => false,
    () => seenAt.push(clock.monotonic() - start),
    30,
  );
  await clock.advance(100);
  expect(seenAt).toEqual([0, 30, 60]);
});

test('where nobody waits for the end, slices are shorter than elsewhere: a failover takes several turns, and waits for a slice in each', async () => {
  const limits = new Set<number | undefined>();
  const yieldToEventLoop = (turnMs?: number): null => {
    limits.add(turnMs);
    return null;
  };
  const clock = { ...virtualClock(), yieldToEventLoop };
  const askedWith = async (restMs?: number): Promise<number | undefined> => {
    limits.clear();
    await inSlices(
      ['a', 'b'],
      clock,
      () => false,
      () => undefined,
      restMs,
    );
    return [...limits][0];
  };
  expect(await askedWith()).toBeUndefined();
  expect(await askedWith(REST_MS)).toBeLessThan(5);
});
