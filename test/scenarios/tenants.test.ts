import { beforeAll, describe, expect, test } from 'vitest';
import { ledgerName } from '../../adapters/kubernetes/writer/ledger.ts';
import { type Routed, routedStageOnce } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';

const NODES = ['a', 'b', 'c'];

/** What one namespace may use, and keep. The tests go on from where the one before has left it. */
describe('a namespace', () => {
  const routed = routedStageOnce();

  beforeAll(async () => {
    const world = routed();
    await world.setClass('floating', {
      routedIPFirewallName: '',
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'elsewhere' } },
    });
    await world.stage.nodes(...NODES);
    for (const [index, name] of ['one', 'two'].entries())
      await world.service(name, NODES, [{ name: 'http', port: 80, nodePort: 30_081 + index }]);
    await world.stage.start({ flags: ['--max-addresses-per-namespace=1'] });
  });

  const ledger = async ({ stage }: Routed): Promise<string> => {
    const maps = await stage.target.client.list('v1', 'ConfigMap', {});
    const found = maps.find(({ metadata }) => (metadata as { readonly name?: string }).name === ledgerName(NAMESPACE));
    return (found as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data?.addresses ?? '';
  };

  test('is not served by a class for others, until that lets it in', async () => {
    const world = routed();
    await world.routedIP('one');
    // Before, it is told that they are being read.
    await world.stage.until('it is told so', async () =>
      (await world.degraded('one', 'NamespaceNotSelected')).includes(`is not for namespace ${NAMESPACE}`),
    );
    await world.editClass('floating', { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } } });
    await world.stable('one');
  });

  test('keeps one address when it may keep one, a retained one too, and has it written down', async () => {
    const world = routed();
    const { routedIP = '' } = (await world.status('one')) ?? {};
    await world.routedIP('two');
    expect(await world.degraded('two', 'AddressLimitReached')).toContain('--max-addresses-per-namespace allows 1');
    await world.stage.until('it is written down', async () => (await ledger(world)).startsWith(`${routedIP} RoutedIP/one `));
    await world.deleteRoutedIP('one');
    await world.stage.until('it is told as retained', async () => (await world.degraded('two', 'AddressLimitReached')).includes(routedIP));
    expect(world.stage.cloud.state.reservedIPs.size).toBe(1);
  });
});
