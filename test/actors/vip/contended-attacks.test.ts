import { describe, expect, test } from 'vitest';
import { SECOND, VipWorld } from './world.ts';

const MINUTE = 60 * SECOND;
const CLOUD = { by: 'cloud' };
const SEGMENT = { segment: '1.1.1.0/29', excludedIPs: [] };
const THEIRS = [{ ip: '203.0.113.80' }];

const world = (): VipWorld => {
  const w = new VipWorld({ vips: { callMs: 10 } });
  w.k8s.setGroup('g', SEGMENT);
  return w;
};
const refOf = (w: VipWorld) => w.k8s.setService({ name: 'web' });
const says = (w: VipWorld): string | undefined => w.k8s.service('default', 'web')?.contended;
const list = (w: VipWorld, ingress: readonly { readonly ip: string | null }[]): void => w.k8s.setIngress(refOf(w), ingress, CLOUD);

/** Served, and no watch is behind. */
async function served(): Promise<VipWorld> {
  const w = world();
  refOf(w);
  await w.start();
  await w.untilListed({ web: '1.1.1.0' });
  await w.clock.advance(15 * SECOND);
  return w;
}

/** Written over for the second time. */
async function left(): Promise<VipWorld> {
  const w = await served();
  for (const _ of [1, 2]) {
    list(w, THEIRS);
    await w.clock.advance(5 * SECOND);
  }
  expect(w.state('web')).toBe('Contended');
  return w;
}

describe('a tenant who writes our condition himself', () => {
  test('has what is not so taken out each time', async () => {
    const w = await served();
    for (let time = 0; time < 3; time += 1) {
      w.k8s.setContended(refOf(w), `lie ${time}`);
      await w.clock.runUntil(() => says(w) === undefined, SECOND);
    }
    expect([w.state('web'), w.listed('web')]).toEqual(['Bound', ['1.1.1.0']]);
  });

  test('has his text replaced by what is so', async () => {
    const w = await left();
    const said = says(w);
    w.k8s.setContended(refOf(w), 'lie');
    await w.clock.runUntil(() => says(w) === said, SECOND);
  });

  test('and takes it off is not answered: whoever answers each write by another one would have us write on', async () => {
    const w = await left();
    const writes = w.k8s.writes.length;
    w.k8s.setContended(refOf(w), null);
    await w.clock.advance(180 * SECOND);
    expect([w.state('web'), w.k8s.writes.length]).toEqual(['Contended', writes]);
  });
});

describe('others who write ours and theirs by turns', () => {
  const OURS = [{ ip: '1.1.1.0' }];

  test('are told of once, and answered once within an hour', async () => {
    const w = await served();
    const before = w.k8s.writes.length;
    for (let time = 0; time < 600; time += 1) {
      list(w, time % 2 === 0 ? THEIRS : OURS);
      await w.clock.advance(5 * SECOND);
    }
    expect(w.k8s.writes.slice(before).map(({ verb }) => verb)).toEqual(['publish', 'contend']);
    list(w, []);
    await w.untilListed({ web: '1.1.1.0' }, SECOND);
    await w.clock.runUntil(() => says(w) === undefined, SECOND);
  });

  test('and leave ours there have it served as ever once the hour is over', async () => {
    const w = await left();
    list(w, OURS);
    await w.clock.advance(61 * MINUTE);
    expect([w.state('web'), says(w)]).toEqual(['Bound', undefined]);
  });

  test('do not keep it from asking', async () => {
    const w = await left();
    list(w, OURS);
    await w.clock.advance(SECOND);
    w.k8s.setService({ name: 'web', requestedIP: '1.1.1.0' });
    await w.clock.runUntil(() => w.state('web') === 'Bound' && says(w) === undefined, SECOND);
  });
});

test('a Service that is left says that its address stays reserved only as long as it does', async () => {
  const w = await left();
  expect(says(w)).toContain('stays reserved');
  w.k8s.removeIP('1.1.1.0');
  await w.clock.advance(SECOND);
  expect([w.state('web'), w.finalizers('web'), says(w)]).toEqual(['Contended', [], expect.not.stringContaining('reserved')]);
});

test('a Service that is left while its address is being reserved says that it stays reserved', async () => {
  const w = world();
  await w.start();
  refOf(w);
  await w.clock.runUntil(() => w.state('web') === 'Reserving', SECOND);
  list(w, THEIRS);
  await w.clock.advance(5 * SECOND);
  expect([w.state('web'), w.reserved(), says(w)]).toEqual([
    'Contended',
    { '1.1.1.0': 'default/web' },
    expect.stringContaining('stays reserved'),
  ]);
});

test('a Service whose ingress somebody empties each time says so, and by whom it is written once it is', async () => {
  const w = await served();
  for (let time = 0; time < 4; time += 1) {
    list(w, []);
    await w.clock.advance(SECOND);
  }
  expect([w.state('web'), says(w)]).toEqual([
    'Contended',
    'somebody else takes the address out of the ingress each time that it is written; it stays reserved, and is written again within an hour',
  ]);
  const writes = w.k8s.writes.length;
  for (let time = 0; time < 10; time += 1) {
    list(w, time % 2 === 0 ? THEIRS : []);
    await w.clock.advance(SECOND);
  }
  expect([says(w), w.k8s.writes.length]).toEqual([expect.stringContaining('(cloud)'), writes + 1]);
  list(w, []);
  await w.untilListed({ web: '1.1.1.0' }, 62 * MINUTE);
});

test('a Service that is left is nobody’s business once there is no IPGroup any more, and is left again with the next one', async () => {
  const w = world();
  list(w, THEIRS);
  let process = await w.start();
  await w.clock.runUntil(() => w.state('web') === 'Contended', SECOND);
  w.k8s.removeGroup('g');
  await w.clock.runUntil(() => w.state('web') === null && says(w) === undefined, SECOND);
  w.k8s.setGroup('g', SEGMENT);
  await w.clock.runUntil(() => w.state('web') === 'Contended' && says(w) !== undefined, SECOND);
  // The next leader finds the condition, and no group.
  process.kill();
  w.k8s.removeGroup('g');
  process = await w.start();
  await w.clock.runUntil(() => w.state('web') === null && says(w) === undefined, 30 * SECOND);
  const writes = w.k8s.writes.length;
  await w.clock.advance(5 * MINUTE);
  expect([w.listed('web'), w.k8s.writes.length]).toEqual([['203.0.113.80'], writes]);
});
