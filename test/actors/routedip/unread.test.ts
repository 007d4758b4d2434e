import { expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.207';
const REFUSED = { kind: 'refuse', error: 'Unauthorized', message: '401 Unable to authenticate you' } as const;
const WHY = expect.stringContaining('could not be read yet: 401 Unable to authenticate you');

function prepared(world: RoutedWorld) {
  world.setNode(node('a', { labels: { pool: 'work' } }), node('b'));
  world.address(A);
  world.setWeb('shop', ['b']);
  return { policy: world.setClass({}), pool: world.pool('ingress', { ips: [A] }), rip: world.setRoutedIP('shop') };
}

const conditions = (world: RoutedWorld, ref: Parameters<RoutedWorld['status']>[0]) =>
  world.cluster
    .conditions(ref)
    .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    .sort();

/** Events that say it, by kind. */
const told = (world: RoutedWorld) =>
  world.cluster.announced
    .filter(({ event }) => event.reason === 'ProviderUnread')
    .map(({ about, event }) => [about.kind, event.message])
    .sort();

test('a token that is refused on the first day is told by pool, RoutedIP and class, and is forgotten once another one is good', async ({
  open,
}) => {
  const world = open();
  const { policy, pool, rip } = prepared(world);
  world.provider.faults.always('listRoutedIPs', REFUSED);
  const process = await world.start();
  await world.clock.advance(15 * SECOND);
  for (const ref of [pool, rip]) {
    expect(conditions(world, ref)).toEqual(['Degraded True ProviderUnread', 'Ready Unknown ProviderUnread']);
    expect(world.status(ref).error).toEqual(WHY);
  }
  expect(conditions(world, policy)).toEqual(['Ready Unknown ProviderUnread']);
  expect(world.messageOf(policy)).toEqual(WHY);
  expect(told(world)).toEqual([
    ['ClusterRoutedIPClass', WHY],
    ['FloatingIPPool', WHY],
  ]);
  expect(process.supervisor.unreadProviders()).toEqual({ [PROVIDER]: WHY });

  world.provider.faults.clear();
  await world.untilStates(pool, { [A]: 'active' });
  await world.stable(rip);
  await world.clock.advance(5 * SECOND);
  expect(conditions(world, policy)).toEqual(['Ready True AsExpected']);
  expect(conditions(world, pool)).toEqual(['Degraded False AsExpected', 'Progressing False Idle', 'Ready True AllActive']);
  expect([world.status(pool).error, world.status(rip).error, process.supervisor.unreadProviders()]).toEqual([undefined, undefined, {}]);
});

test('an account that has RoutedIPs alone is told by one Event of its class, when it has not been read for ten seconds, whatever each try says', async ({
  open,
}) => {
  const world = open();
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a']);
  world.setWeb('cart', ['b']);
  world.setClass();
  const rips = [world.setRoutedIP('shop'), world.setRoutedIP('cart')];
  world.provider.faults.next('listRoutedIPs', REFUSED);
  const first = await world.leader();
  for (const rip of rips) await world.stable(rip);
  expect(told(world)).toEqual([]);
  first.kill();
  for (const message of ['401 Unable to authenticate you', '503 try again'])
    for (let i = 0; i < 50; i += 1) world.provider.faults.next('listRoutedIPs', { ...REFUSED, message: `${message}: request ${i}` });
  await world.leader();
  await world.clock.advance(10 * MINUTE);
  expect(told(world)).toEqual([['ClusterRoutedIPClass', WHY]]);
});

test('an account that cannot be read counts from the first try or verification that fails to the next that does not', async ({ open }) => {
  const world = open();
  const { pool } = prepared(world);
  const unread = () => Object.fromEntries(process.supervisor.unreadAccounts());
  const notice = () => Object.values(process.supervisor.unreadProviders());
  world.provider.faults.always('listRoutedIPs', REFUSED);
  const process = await world.start();
  await world.clock.advance(5 * SECOND);
  expect(unread()).toEqual({ [PROVIDER]: 1 });
  world.provider.faults.clear();
  await world.untilStates(pool, { [A]: 'active' });
  expect([unread(), notice()]).toEqual([{ [PROVIDER]: 0 }, []]);

  world.provider.faults.always('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' });
  await world.clock.runUntil(() => unread()[PROVIDER] === 1, 2 * world.settings.verifyEveryMs);
  expect(world.reasonOf(pool)).toBe('AllActive');
  expect(notice()).toEqual([expect.stringMatching(/^the addresses of \w+ could not be read when that was last tried: ./)]);
  await world.clock.advance(world.settings.verifyEveryMs - SECOND);
  expect(unread()).toEqual({ [PROVIDER]: 1 });
  world.provider.faults.clear();
  await world.clock.advance(2 * SECOND);
  expect([unread(), notice()]).toEqual([{ [PROVIDER]: 0 }, []]);
  const { supervisor } = await world.start();
  expect([...supervisor.unreadAccounts()]).toEqual([]);
});

test('addresses that are in place when the provider cannot be read after a restart are Unknown and Degraded', async ({ open }) => {
  const world = open();
  const { pool, rip } = prepared(world);
  const process = await world.leader();
  await world.untilStates(pool, { [A]: 'active' });
  await world.stable(rip);
  process.kill();
  world.provider.faults.always('listRoutedIPs', REFUSED);
  await world.leader();
  await world.clock.advance(MINUTE);
  for (const ref of [pool, rip]) {
    expect([world.reasonOf(ref), world.reasonOf(ref, 'Degraded')]).toEqual(['ProviderUnread', 'ProviderUnread']);
    expect(world.status(ref).ips?.[A as Address]?.state ?? world.statusOf(ref).state).toMatch(/^(?:active|Stable)$/);
  }
});

test('a pool that lacked credentials says that the new ones are refused, and no more what it said before', async ({ open }) => {
  const world = open();
  const { pool } = prepared(world);
  let isMissing = true;
  world.begins = ({ providers }) => {
    const standing = providers.all[PROVIDER];
    if (standing && isMissing)
      providers.set(PROVIDER, { facts: { ...standing.facts, missing: 'no credentials: set DIGITALOCEAN_ACCESS_TOKEN' }, provider: null });
  };
  const process = await world.leader();
  await world.untilReason(pool, 'CredentialsNotFound');
  expect(world.status(pool).error).toContain('no credentials');
  process.kill();
  isMissing = false;
  world.provider.faults.always('listRoutedIPs', REFUSED);
  await world.leader();
  await world.clock.advance(MINUTE);
  expect(world.status(pool).error).toEqual(WHY);
  expect(conditions(world, pool).filter((text) => !text.startsWith('Progressing'))).toEqual([
    'Degraded True ProviderUnread',
    'Ready Unknown ProviderUnread',
  ]);
});
