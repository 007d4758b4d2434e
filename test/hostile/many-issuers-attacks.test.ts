import { expect, onTestFinished, vi } from 'vitest';
import { ProviderLists } from '../../actors/controllers/provider-sync.ts';
import { test } from '../actors/routedip/routedip-test.ts';
import { SECOND } from '../actors/routedip/world.ts';
import { node, PROVIDER } from '../support/world.ts';
import { accountOf, secretKey } from './accounts.ts';

const ISSUERS = 60;

test('what is shown of many issuers whose tokens are refused costs no look at all of them for each', async ({ open }) => {
  const world = open();
  world.setNode(node('a'));
  world.setWeb('shop', ['a']);
  const names = Array.from({ length: ISSUERS }, (_, i) => `refused-${i}`);
  world.begins = ({ providers }) => {
    for (const name of names) providers.set(secretKey('web', name), accountOf('refused', world));
  };
  for (const name of names) {
    world.cluster.setPolicy({
      ...{ kind: 'RoutedIPIssuer', namespace: 'web', name },
      spec: { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name }] },
    });
    world.cluster.setPool({
      ...{ kind: 'RoutedIP', namespace: 'web', name },
      spec: { issuerRef: { name }, serviceRef: { serviceName: 'shop' } },
    });
  }
  const { supervisor } = await world.leader();
  await world.clock.advance(30 * SECOND);
  expect(Object.keys(supervisor.unreadProviders())).toHaveLength(ISSUERS);
  const looks = vi.spyOn(ProviderLists.prototype, 'names');
  onTestFinished(() => looks.mockRestore());
  const before = world.cluster.projections.length;
  // One change of one object has all classes and issuers shown once.
  world.cluster.setPool({
    ...{ kind: 'RoutedIP', namespace: 'web', name: 'refused-0' },
    spec: { issuerRef: { name: 'refused-0' }, serviceRef: { serviceName: 'shop' }, routedIP: '203.0.113.9' },
  });
  await world.clock.advance(SECOND);
  const shown = world.cluster.projections.slice(before).filter(({ ref }) => ref.kind === 'RoutedIPIssuer');
  expect(shown.length).toBeGreaterThanOrEqual(ISSUERS);
  expect(looks.mock.calls.length).toBeLessThan(10);
});
