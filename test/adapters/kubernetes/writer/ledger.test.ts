import { describe, expect, test } from 'vitest';
import { kubernetesLedger, ledgerName } from '../../../../adapters/kubernetes/writer/ledger.ts';
import type { Address, Kept } from '../../../../machines/model/types.ts';
import { connected, simulated } from '../support.ts';

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: ledgerName('web') };
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
  const text = (): string => (server.store.get(OBJECT) as { readonly data?: Readonly<Record<string, string>> }).data?.addresses ?? '';
  return { server, ledger, text };
};

describe('the ledger of a namespace in a ConfigMap', () => {
  test('is empty before there is one, and says what was written', async () => {
    const { ledger, text } = await opened();
    const before = await ledger.read('web');
    expect(before).toEqual({ kept: [], version: null });
    expect(await ledger.write('web', { kept: [SHOP, POOL], version: before.version })).toBe(true);
    expect((await ledger.read('web')).kept).toEqual([SHOP, POOL]);
    expect(text()).toBe(
      '203.0.113.7 RoutedIP/shop ClusterRoutedIPClass/floating digitalocean 2026-11-27T09:00:00.000Z uid-1\n' +
        'pending FloatingIPPool/ingress - digitalocean 2026-11-27T10:00:00.000Z uid-2\n',
    );
  });

  test('is of one namespace alone, also of one that is called like what every object has', async () => {
    const { ledger } = await opened();
    for (const [namespace, kept] of [
      ['web', [SHOP]],
      ['constructor', [POOL]],
    ] as const) {
      const { version, kept: before } = await ledger.read(namespace);
      expect(before).toEqual([]);
      expect(await ledger.write(namespace, { kept, version })).toBe(true);
    }
    expect((await ledger.read('web')).kept).toEqual([SHOP]);
    expect((await ledger.read('constructor')).kept).toEqual([POOL]);
  });

  test('is found with those of all namespaces, the ConfigMaps of others beside them', async () => {
    const { server, ledger } = await opened();
    expect([...(await ledger.all())]).toEqual([]);
    for (const [namespace, kept] of [
      ['web', [SHOP, POOL]],
      ['gone', [byHand('203.0.113.9')]],
    ] as const)
      expect(await ledger.write(namespace, { kept, version: null })).toBe(true);
    const labels = { 'app.kubernetes.io/name': 'routedip-operator' };
    const metadata = { namespace: 'default', name: 'routedip-operator-inventory', labels };
    server.store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { addresses: '203.0.113.99' } });
    expect(Object.fromEntries(await ledger.all())).toEqual({ web: [SHOP, POOL], gone: [byHand('203.0.113.9')] });
  });

  test('has one line for each address, whatever a tenant calls the Secrets of its issuer', async () => {
    const { ledger, text } = await opened();
    const provider = 'digitalocean@web/token+a b\n203.0.113.99\tx';
    await ledger.write('web', {
      kept: [
        { ...SHOP, provider },
        { ...POOL, provider },
      ],
      version: null,
    });
    const { kept } = await ledger.read('web');
    expect(kept.map(({ address, uid, since }) => [address, uid, since])).toEqual([
      [SHOP.address, SHOP.uid, SHOP.since],
      [null, POOL.uid, POOL.since],
    ]);
    expect(text().split('\n')).toHaveLength(3);
  });

  test('is written by one of two who have read the same, also where both have read that there is none', async () => {
    const { ledger } = await opened();
    const none = await ledger.read('web');
    const first = await Promise.all([[SHOP], [POOL]].map((kept) => ledger.write('web', { kept, version: none.version })));
    expect(first.filter(Boolean)).toHaveLength(1);
    const some = await ledger.read('web');
    const second = await Promise.all([[SHOP, POOL], []].map((kept) => ledger.write('web', { kept, version: some.version })));
    expect(second.filter(Boolean)).toHaveLength(1);
  });

  test('is not written over one that somebody has deleted since it was read', async () => {
    const { server, ledger } = await opened();
    await ledger.write('web', { kept: [SHOP], version: null });
    const { version } = await ledger.read('web');
    server.store.delete(OBJECT);
    expect(await ledger.write('web', { kept: [POOL], version })).toBe(false);
    expect(await ledger.read('web')).toEqual({ kept: [], version: null });
  });

  test('takes what people wrote by hand: an address is enough, and what is none counts nothing', async () => {
    const { server, ledger } = await opened();
    const addresses =
      '  203.0.113.9  \n\n# kept for the migration\n203.0.113.10 -\npending\n203.0.113.11 RoutedIP/a - digitalocean yesterday\n';
    server.store.create({ ...OBJECT, metadata: { namespace: 'default', name: OBJECT.name }, data: { addresses } });
    expect((await ledger.read('web')).kept).toEqual([
      byHand('203.0.113.9'),
      byHand('203.0.113.10'),
      { ...byHand('203.0.113.11'), owner: 'RoutedIP/a', provider: 'digitalocean' },
    ]);
  });
});
