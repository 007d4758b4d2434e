import { expect, test } from 'vitest';
import { inSlices } from '../../actors/ports/in-slices.ts';

/** Every other item comes late in a turn of the event loop. */
const late = () => {
  let asked = 0;
  return { yieldToEventLoop: () => (++asked % 2 === 0 ? new Promise<void>((resolve) => setImmediate(resolve)) : null) };
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
    {},
    () => true,
    (item) => seen.push(item),
  );
  expect(seen).toEqual(['a', 'b']);
});
