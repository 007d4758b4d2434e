import { expect, test } from 'vitest';
import { type Cause, Pace } from '../../../../adapters/kubernetes/client/pace.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';

const MS = 30;

/** A pace that tells as soon as something is due, and what it told when. */
const paced = (isThere: (name: string) => boolean = () => true, restOf: (name: string, cause: Cause) => number = () => MS) => {
  const clock = virtualClock();
  const told: string[] = [];
  const start = clock.monotonic();
  const pace: Pace = new Pace(clock, () =>
    pace.flush((name, cause) => {
      if (!isThere(name)) return null;
      told.push(`${name} ${clock.monotonic() - start}`);
      return restOf(name, cause);
    }),
  );
  return { clock, pace, told };
};

test('the first news are told at once, and those of the time after it together at its end', async () => {
  const { clock, pace, told } = paced();
  pace.news('a', 'other');
  expect(told).toEqual(['a 0']);
  await clock.advance(10);
  for (let count = 0; count < 5; count += 1) pace.news('a', 'other');
  await clock.advance(19);
  expect(told).toEqual(['a 0']);
  await clock.advance(1);
  expect(told).toEqual(['a 0', 'a 30']);
});

test('news that go on are told once in each time, and the first ones after a rest at once', async () => {
  const { clock, pace, told } = paced();
  for (let ms = 0; ms < 300; ms += 1) {
    pace.news('a', 'other');
    await clock.advance(1);
  }
  expect(told.length).toBe(11);
  await clock.advance(MS);
  const before = told.length;
  pace.news('a', 'other');
  expect(told.length).toBe(before + 1);
});

test('news of a node wait for nothing but news of nodes', async () => {
  const { clock, pace, told } = paced();
  pace.news('a', 'other');
  await clock.advance(10);
  pace.news('a', 'other');
  pace.news('a', 'node');
  expect(told).toEqual(['a 0', 'a 10']);
  await clock.advance(5);
  pace.news('a', 'node');
  await clock.advance(24);
  // What had waited was told with the node: the end of the first rest tells nothing.
  expect(told).toEqual(['a 0', 'a 10']);
  await clock.advance(1);
  expect(told).toEqual(['a 0', 'a 10', 'a 40']);
});

test('things do not wait for each other, nor for what could not be told', async () => {
  const missing = new Set(['b']);
  const { clock, pace, told } = paced((name) => !missing.has(name));
  pace.news('a', 'other');
  pace.news('b', 'other');
  await clock.advance(10);
  missing.clear();
  pace.news('b', 'other');
  expect(told).toEqual(['a 0', 'b 10']);
});

test('what is due now is told now, and what was forgotten never', async () => {
  const { clock, pace, told } = paced();
  pace.news('a', 'node');
  pace.now('a');
  expect(told).toEqual(['a 0', 'a 0']);
  pace.news('a', 'other');
  pace.forget('a');
  await clock.advance(MS);
  expect(told).toEqual(['a 0', 'a 0']);
});

test('what comes late in a turn of the event loop is told in the next one, in its order, and none twice', () => {
  const pace = new Pace(virtualClock(), () => undefined);
  const told: string[] = [];
  const tell = (name: string): number => {
    told.push(name);
    return MS;
  };
  for (const name of ['a', 'b', 'c']) pace.now(name);
  pace.flush(tell, () => true);
  expect(told).toEqual(['a']);
  pace.forget('b');
  pace.now('d');
  pace.flush(tell);
  pace.flush(tell);
  expect(told).toEqual(['a', 'c', 'd']);
});

test('each rests for as long as it takes', async () => {
  const { clock, pace, told } = paced(
    () => true,
    (name) => (name === 'large' ? 100 : MS),
  );
  for (const name of ['large', 'small', 'large', 'small']) pace.news(name, 'other');
  await clock.advance(99);
  expect(told).toEqual(['large 0', 'small 0', 'small 30']);
  pace.news('large', 'node');
  expect(told).toContain('large 99');
});

test('how long one rests may depend on why it was told', async () => {
  const { clock, pace, told } = paced(
    () => true,
    (_name, cause) => (cause === 'node' ? MS : 100),
  );
  pace.news('a', 'other');
  await clock.advance(10);
  pace.news('a', 'node');
  pace.news('a', 'node');
  await clock.advance(30);
  pace.news('a', 'other');
  await clock.advance(29);
  expect(told).toEqual(['a 0', 'a 10', 'a 40']);
  await clock.advance(1);
  pace.news('a', 'node');
  expect(told).toEqual(['a 0', 'a 10', 'a 40', 'a 70', 'a 70']);
});
