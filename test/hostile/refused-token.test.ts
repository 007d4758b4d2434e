import { test } from '../actors/routedip/routedip-test.ts';
import { MINUTE, service } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';
import { accountOf, secretKey } from './accounts.ts';

test('a node is evacuated whatever becomes of a RoutedIP whose issuer has a token that is refused', async ({ open }) => {
  const world = open();
  world.begins = ({ providers }) => providers.set(secretKey('evil', 'refused'), accountOf('refused', world));
  world.setClass();
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.cluster.setService('evil', 'any', service(['a', 'b']));
  const spec = { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'refused' }] };
  world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'evil', name: 'refused', spec });
  const asks = { issuerRef: { name: 'refused' }, serviceRef: { serviceName: 'any' } };
  world.cluster.setPool({ kind: 'RoutedIP', namespace: 'evil', name: 'x', spec: asks });
  await world.leader();
  const shop = world.setRoutedIP('shop');
  await world.stable(shop);
  const on = String(world.statusOf(shop).assignedNode);
  world.setNode(node(on, { evacuating: true }));
  await world.clock.runUntil(() => world.cluster.evacuations()[on]?.status === 'True', MINUTE);
  await world.stable(shop, on === 'a' ? 'b' : 'a');
});
