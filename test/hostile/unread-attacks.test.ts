import { expect } from 'vitest';
import { test } from '../actors/routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';

const A = '203.0.113.207';
const REFUSED = { kind: 'refuse', error: 'Unauthorized', message: '401 Unable to authenticate you' } as const;

const conditions = (world: RoutedWorld, ref: Parameters<RoutedWorld['status']>[0]) =>
  world.cluster
    .conditions(ref)
    .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    .sort();

test('a class says within ten seconds that its provider was read after a single failed try', async ({ open }) => {
  const world = open();
  const policy = world.setClass({});
  world.setNode(node('b'));
  world.setWeb('shop', ['b']);
  const rip = world.setRoutedIP('shop');
  const former = await world.leader();
  await world.stable(rip);
  former.kill();
  world.provider.faults.next('listRoutedIPs', REFUSED);
  const { supervisor } = await world.leader();
  await world.untilReason(policy, 'ProviderUnread');
  await world.clock.runUntil(() => Object.keys(supervisor.unreadProviders()).length === 0, 5 * SECOND);
  await world.clock.advance(10 * SECOND);
  expect(conditions(world, policy)).toEqual(['Ready True AsExpected']);
});

test('a provider whose errors are all different is told by few Events', async ({ open }) => {
  const world = open();
  world.setNode(node('a', { labels: { pool: 'work' } }));
  world.address(A);
  world.pool('ingress', { ips: [A] });
  for (let i = 0; i < 2_000; i += 1)
    world.provider.faults.next('listRoutedIPs', { ...REFUSED, message: `503 request ${i} was not served` });
  await world.leader();
  await world.clock.advance(60 * MINUTE);
  expect(world.cluster.announced.filter(({ event }) => event.reason === 'ProviderUnread').length).toBeLessThan(10);
});

test(`nobody is Unverified for a token that was replaced and read (${PROVIDER})`, async ({ open }) => {
  const world = open();
  world.setClass({});
  world.setNode(node('b'));
  world.setWeb('shop', ['b']);
  const rip = world.setRoutedIP('shop');
  const process = await world.leader();
  await world.stable(rip);
  await world.clock.advance(20 * SECOND);
  world.provider.faults.always('listRoutedIPs', REFUSED);
  await world.untilReason(rip, 'Unverified', 'Ready', 10 * MINUTE);
  world.provider.faults.clear();
  process.providers.set(PROVIDER, { facts: world.facts, provider: world.provider.process() });
  const lists = world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length;
  await world.clock.advance(10 * SECOND);
  expect(world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length).toBeGreaterThan(lists);
  expect(world.reasonOf(rip)).toBe('Assigned');
});

test('a spec that was mended while the provider cannot be read says no more what was wrong with it', async ({ open }) => {
  const world = open();
  world.setClass({});
  world.setNode(node('b'));
  world.setWeb('shop', ['b']);
  const rip = world.setRoutedIP('shop');
  const pool = world.pool('ingress', { ips: [A] });
  world.provider.faults.always('listRoutedIPs', REFUSED);
  await world.leader();
  await world.clock.advance(20 * SECOND);
  world.setRoutedIP('shop', { routedIP: 'nonsense' });
  world.pool('ingress', { ips: ['nonsense'] });
  await world.clock.advance(20 * SECOND);
  expect([world.reasonOf(rip, 'Degraded'), world.reasonOf(pool, 'Degraded')]).toEqual(['InvalidSpec', 'InvalidSpec']);
  world.setRoutedIP('shop', {});
  world.pool('ingress', { ips: [A] });
  await world.clock.advance(10 * MINUTE);
  expect([world.reasonOf(rip, 'Degraded'), world.reasonOf(pool, 'Degraded')]).toEqual(['ProviderUnread', 'ProviderUnread']);
  expect([world.status(rip).error, world.status(pool).error]).toEqual([
    expect.stringContaining('could not be read yet'),
    expect.stringContaining('could not be read yet'),
  ]);
});

test('an error of the provider is no reason to believe again what a refused token made doubtful', async ({ open }) => {
  const world = open();
  world.setClass({});
  world.setNode(node('b'));
  world.setWeb('shop', ['b']);
  const rip = world.setRoutedIP('shop');
  await world.leader();
  await world.stable(rip);
  await world.clock.advance(20 * SECOND);
  world.provider.faults.next('listRoutedIPs', REFUSED);
  world.provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' });
  world.provider.faults.always('listRoutedIPs', REFUSED);
  await world.untilReason(rip, 'Unverified', 'Ready', 10 * MINUTE);
  const shown = world.cluster.projections.length;
  await world.clock.advance(20 * MINUTE);
  const ready = world.cluster.projections.slice(shown).flatMap(({ ref, conditions }) => (ref.uid === rip.uid ? conditions : []));
  expect(ready.filter(({ type, status }) => type === 'Ready' && status === 'True')).toEqual([]);
});
