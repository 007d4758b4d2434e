import { expect } from 'vitest';
import { test } from '../actors/routedip/routedip-test.ts';
import { CLASS_NAME, MINUTE, service } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';
import { accountOf, secretKey } from './accounts.ts';

test('a node loses the mark of a holder whatever somebody names in a spec that was valid for a moment', async ({ open }) => {
  const world = open();
  world.setClass({ defaultTaintEffect: 'NoSchedule' });
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  world.address('203.0.113.70');
  await world.leader();
  const shop = world.setRoutedIP('shop');
  await world.stable(shop);
  const on = String(world.statusOf(shop).assignedNode);
  const names = (className: string) =>
    world.cluster.setPool({
      ...{ kind: 'RoutedIP', namespace: 'evil', name: 'x' },
      spec: { className, serviceRef: { serviceName: 'any' }, routedIP: '203.0.113.70' },
    });
  names(CLASS_NAME);
  await world.clock.advance(0);
  names('no/such');
  await world.clock.advance(MINUTE);
  world.setNode(node(on, { ready: false }));
  await world.clock.advance(10 * MINUTE);
  expect(Object.keys(world.cluster.holders())).toEqual([on === 'a' ? 'b' : 'a']);
});

test('a node loses the mark of a holder while somebody waits for the list of an account that refuses his token, whatever he named before', async ({
  open,
}) => {
  const world = open();
  const refused = secretKey('evil', 'refused');
  world.setClass({ defaultTaintEffect: 'NoSchedule' });
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  world.cluster.setPolicy({
    ...{ kind: 'RoutedIPIssuer', namespace: 'evil', name: 'refused' },
    spec: { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'refused' }] },
  });
  world.address('203.0.113.70');
  const process = await world.leader();
  process.providers.set(refused, accountOf('refused', world));
  const shop = world.setRoutedIP('shop');
  await world.stable(shop);
  const on = String(world.statusOf(shop).assignedNode);
  const names = (by: object) =>
    world.cluster.setPool({
      ...{ kind: 'RoutedIP', namespace: 'evil', name: 'x' },
      spec: { ...by, serviceRef: { serviceName: 'any' }, routedIP: '203.0.113.70' },
    });
  process.kill();
  world.provider.faults.always('listRoutedIPs', { kind: 'refuse', error: 'Unauthorized' });
  names({ className: CLASS_NAME });
  const next = await world.leader();
  next.providers.set(refused, accountOf('refused', world));
  await world.clock.advance(MINUTE);
  names({ issuerRef: { name: 'refused' } });
  await world.clock.advance(MINUTE);
  world.provider.faults.clear();
  await world.clock.advance(MINUTE);
  world.setNode(node(on, { ready: false }));
  await world.clock.advance(10 * MINUTE);
  expect(Object.keys(world.cluster.holders())).toEqual([on === 'a' ? 'b' : 'a']);
});

test('a node loses the mark of a holder after all was lost, and that of somebody whose spec is not valid any more keeps it', async ({
  open,
}) => {
  const world = open();
  world.setClass({ defaultTaintEffect: 'NoSchedule' });
  world.setNode(node('a'), node('b'), node('c'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['c']));
  const process = await world.leader();
  const shop = world.setRoutedIP('shop');
  const names = (className: string) =>
    world.cluster.setPool({ kind: 'RoutedIP', namespace: 'evil', name: 'x', spec: { className, serviceRef: { serviceName: 'any' } } });
  const his = names(CLASS_NAME);
  await world.stable(shop);
  await world.stable(his, 'c');
  names('no/such');
  process.kill();
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
  await world.start();
  await world.stable(shop);
  const on = String(world.statusOf(shop).assignedNode);
  world.setNode(node(on, { ready: false }));
  await world.clock.advance(10 * MINUTE);
  expect(Object.keys(world.cluster.holders()).sort()).toEqual([on === 'a' ? 'b' : 'a', 'c']);
});
