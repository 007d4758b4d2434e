import { describe, expect, test } from 'vitest';
import { kubernetesLedger, LEDGER_NAME } from '../../adapters/kubernetes/ledger.ts';
import type { Address, Kept } from '../../machines/types.ts';
import { connected, simulated } from './kubernetes-support.ts';

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: LEDGER_NAME };
const SHOP: Kept = {
  address: '203.0.113.7' as Address,
  owner: 'RoutedIP/shop',
  uid: 'uid-1',
  source: 'ClusterRoutedIPClass/floating',
  provider: 'digitalocean',
  since: Date.UTC(2026, 10, 27, 9),
};
const POOL: Kept = { ...SHOP, address: null, owner: 'FloatingIPPool/ingress', uid: 'uid-2', source: '', since: Date.UTC(2026, 10, 27, 10) };
const byHand = (address: string): Kept => ({ address: address as Address, owner: '', uid: '', source: '', provider: '', since: 0 });

const opened = async () => {
  const server = await simulated();
  const ledger = kubernetesLedger(connected(server.kubeconfig()), 'default');
  const textOf = (namespace: string): string =>
    (server.store.get(OBJECT) as { readonly data?: Readonly<Record<string, string>> }).data?.[namespace] ?? '';
  return { server, ledger, textOf };
};

describe('the ledger in a ConfigMap', () => {
  test('is empty before there is one, and says what was written', async () => {
    const { ledger, textOf } = await opened();
    const before = await ledger.read();
    expect(before).toEqual({ namespaces: {}, version: null });
    const namespaces = { web: [SHOP, POOL], ops: [POOL] };
    expect(await ledger.write({ namespaces, version: before.version })).toBe(true);
    expect((await ledger.read()).namespaces).toEqual(namespaces);
    expect(textOf('web')).toBe(
      '203.0.113.7 RoutedIP/shop ClusterRoutedIPClass/floating digitalocean 2026-11-27T09:00:00.000Z uid-1\n' +
        'pending FloatingIPPool/ingress - digitalocean 2026-11-27T10:00:00.000Z uid-2\n',
    );
  });

  test('is written by one of two who have read the same, also where both have read that there is none', async () => {
    const { ledger } = await opened();
    const none = await ledger.read();
    const first = await Promise.all([
      ledger.write({ namespaces: { web: [SHOP] }, version: none.version }),
      ledger.write({ namespaces: { web: [POOL] }, version: none.version }),
    ]);
    expect(first.filter(Boolean)).toHaveLength(1);
    const some = await ledger.read();
    const second = await Promise.all([
      ledger.write({ namespaces: { ops: [SHOP] }, version: some.version }),
      ledger.write({ namespaces: { ops: [SHOP, POOL] }, version: some.version }),
    ]);
    expect(second.filter(Boolean)).toHaveLength(1);
  });

  test('is not written over one that somebody has deleted since it was read', async () => {
    const { server, ledger } = await opened();
    await ledger.write({ namespaces: { web: [SHOP] }, version: null });
    const { version } = await ledger.read();
    server.store.delete(OBJECT);
    expect(await ledger.write({ namespaces: { web: [POOL] }, version })).toBe(false);
    expect(await ledger.read()).toEqual({ namespaces: {}, version: null });
  });

  test('takes what people wrote by hand: an address is enough, and what is none counts nothing', async () => {
    const { server, ledger } = await opened();
    const web = '  203.0.113.9  \n\n# kept for the migration\n203.0.113.10 -\npending\n203.0.113.11 RoutedIP/a - digitalocean yesterday\n';
    server.store.create({ ...OBJECT, metadata: { namespace: 'default', name: LEDGER_NAME }, data: { web, odd: '' } });
    expect((await ledger.read()).namespaces).toEqual({
      web: [byHand('203.0.113.9'), byHand('203.0.113.10'), { ...byHand('203.0.113.11'), owner: 'RoutedIP/a', provider: 'digitalocean' }],
      odd: [],
    });
  });
});
