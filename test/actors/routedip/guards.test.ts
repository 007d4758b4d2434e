import { expect, test } from 'vitest';
import { Guards } from '../../../actors/controllers/finalizers.ts';
import type { ClusterWriter, PoolObject } from '../../../actors/ports/cluster.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';

const AT_ONCE = 16;

const object = (name: string, finalizers: readonly string[] = []): PoolObject => ({
  ref: { kind: 'RoutedIP', namespace: 'default', name, uid: `uid-${name}` },
  generation: 1,
  createdAt: 0,
  deleting: false,
  spec: {},
  status: null,
  marks: { finalizers, annotations: {} },
});

/** What was asked of the API server, answered one by one. */
function guarding() {
  const clock = virtualClock();
  const asked: { readonly name: string; readonly answer: (error?: Error) => void }[] = [];
  const guard = ({ name }: ObjectRef): Promise<void> =>
    new Promise((resolve, reject) => asked.push({ name, answer: (error) => (error ? reject(error) : resolve()) }));
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  let isLeading = true;
  const guards = new Guards({ writer: { guard } as Partial<ClusterWriter> as ClusterWriter, clock, log, isLeading: () => isLeading });
  return { clock, asked, guards, names: () => asked.map(({ name }) => name), stepDown: () => (isLeading = false) };
}

test('thousands of RoutedIPs are guarded a few at a time, each once', async () => {
  const { clock, asked, guards, names } = guarding();
  const all = Array.from({ length: 3 * AT_ONCE }, (_, index) => `r${index}`);
  for (const name of [...all, ...all]) guards.see(object(name));
  expect(asked).toHaveLength(AT_ONCE);
  for (let answered = 0; answered < all.length; answered += 1) {
    asked[answered]?.answer();
    await clock.settle();
    expect(asked).toHaveLength(Math.min(answered + 1 + AT_ONCE, all.length));
  }
  expect(names()).toEqual(all);
});

test('one that could not be guarded is tried again a second later, and holds no other up', async () => {
  const { clock, asked, guards, names } = guarding();
  guards.see(object('a'));
  guards.see(object('b'));
  asked[0]?.answer(new Error('refused'));
  await clock.advance(999);
  expect(names()).toEqual(['a', 'b']);
  await clock.advance(1);
  expect(names()).toEqual(['a', 'b', 'a']);
});

test('whoever leads no more guards none of those that still waited', async () => {
  const { clock, asked, guards, stepDown } = guarding();
  for (let index = 0; index <= AT_ONCE; index += 1) guards.see(object(`r${index}`));
  stepDown();
  asked[0]?.answer();
  await clock.settle();
  expect(asked).toHaveLength(AT_ONCE);
});

/** Of the same name as another one. */
const again = (uid: string): PoolObject => {
  const { ref, ...rest } = object('shop');
  return { ...rest, ref: { ...ref, uid } };
};

test('a RoutedIP that is made again while the former one of its name is being guarded is guarded, too', async () => {
  const clock = virtualClock();
  const guarded: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const guard: ClusterWriter['guard'] = async ({ uid }) => {
    guarded.push(uid);
    await hanging.promise;
  };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const guards = new Guards({ writer: { guard } as ClusterWriter, clock, log, isLeading: () => true });
  guards.see(again('former'));
  guards.see(again('former'));
  guards.see(again('again'));
  await clock.settle();
  expect(guarded).toEqual(['former']);
  hanging.resolve();
  await clock.settle();
  expect(guarded).toEqual(['former', 'again']);
  guards.see(again('again'));
  await clock.settle();
  expect(guarded).toEqual(['former', 'again', 'again']);
});
