import { describe, expect, test } from 'vitest';
import type { Address, ObservedAddress, ProviderID } from '../../../machines/model/types.ts';
import { type InventoryFacts, inventoryOf, type Made } from '../../../machines/status/inventory.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const NODE = 'digitalocean://1' as ProviderID;
const OUTSIDE = 'digitalocean://99' as ProviderID;
const made: Made = { for: 'RoutedIP web/shop', since: NOW - 86_400_000 };

const observed = (address: string, providerID: ProviderID | null = null): ObservedAddress => ({
  address: address as Address,
  region: 'fra1',
  providerID,
  locked: false,
});

/** One account that holds these. */
const facts = (
  addresses: readonly ObservedAddress[],
  change: Partial<InventoryFacts> & { readonly key?: string } = {},
): InventoryFacts => ({
  at: NOW,
  accounts: [{ key: change.key ?? 'digitalocean', readAt: NOW - 40_000, problem: null, note: null, addresses }],
  ownerOf: () => null,
  made: new Map(),
  isSeen: () => true,
  nodes: new Map([[NODE, 'node-a']]),
  ...change,
});
const only = (input: InventoryFacts) => {
  const [account] = inventoryOf(input).accounts;
  if (!account) throw new Error('there is no account');
  return account;
};

describe('an address', () => {
  const A = '203.0.113.7' as Address;
  test.each([
    ['nobody claims on no machine', { on: null, owner: null, made: false }, 'orphan'],
    ['nobody claims on no machine, and that was made for this cluster', { on: null, owner: null, made: true }, 'orphan'],
    ['was made for this cluster, nobody claims any more, and that is on a node still', { on: NODE, owner: null, made: true }, 'orphan'],
    ['nobody claims, and somebody has put on a node', { on: NODE, owner: null, made: false }, 'unmanaged'],
    ['nobody claims, and another machine has', { on: OUTSIDE, owner: null, made: false }, 'elsewhere'],
    ['was made for this cluster, and serves on another machine by now', { on: OUTSIDE, owner: null, made: true }, 'elsewhere'],
    ['is claimed, and on no machine yet', { on: null, owner: 'RoutedIP web/shop', made: true }, 'claimed'],
    ['is claimed, and another machine has', { on: OUTSIDE, owner: 'FloatingIPPool default/ingress', made: false }, 'claimed'],
  ] as const)('that %s', (_, { on, owner, made: isMade }, standing) => {
    const input = facts([observed(A, on)], { ownerOf: () => owner, made: new Map(isMade ? [[A, made]] : []) });
    const { addresses, totals } = only(input);
    expect(addresses).toEqual([
      {
        address: A,
        family: 'IPv4',
        region: 'fra1',
        machine: on,
        node: on === NODE ? 'node-a' : null,
        standing,
        owner,
        madeFor: isMade ? made.for : null,
        madeAt: isMade ? '2026-02-28T12:00:00.000Z' : null,
        costPerMonth: on === null ? 5 : 0,
      },
    ]);
    expect(totals).toEqual({ addresses: 1, orphans: standing === 'orphan' ? 1 : 0, costPerMonth: on === null ? 5 : 0 });
  });

  test('that was made at a time that nobody knows says no time', () => {
    const { addresses } = only(facts([observed(A)], { made: new Map([[A, { for: 'namespace web', since: 0 }]]) }));
    expect(addresses[0]).toMatchObject({ madeFor: 'namespace web', madeAt: null });
  });

  test('of IPv6 costs nothing at DigitalOcean, on a machine or not', () => {
    const { addresses, totals } = only(facts([observed('2604:a880::1'), observed('2604:a880::2', NODE)]));
    expect(addresses.map(({ family, costPerMonth }) => [family, costPerMonth])).toEqual([
      ['IPv6', 0],
      ['IPv6', 0],
    ]);
    expect(totals).toEqual({ addresses: 2, orphans: 1, costPerMonth: 0 });
  });

  test.each(['elsewhere', 'constructor'])('costs nobody knows what at a provider without a price: %s', (key) => {
    const account = only(facts([observed(A)], { key }));
    expect(account).toMatchObject({ currency: null, totals: { costPerMonth: null } });
    expect(account.addresses[0]?.costPerMonth).toBeNull();
  });
});

describe('an account', () => {
  test('has orphans first, then by address as numbers', () => {
    const addresses = ['203.0.113.10', '203.0.113.9', '2604:a880::1'].map((each) => observed(each));
    const claimed = observed('203.0.113.2', NODE);
    const input = facts([claimed, ...addresses], { ownerOf: (address) => (address === claimed.address ? 'RoutedIP web/shop' : null) });
    expect(only(input).addresses.map(({ address }) => address)).toEqual(['203.0.113.9', '203.0.113.10', '2604:a880::1', '203.0.113.2']);
  });

  test('that is empty costs nothing, and one that was never read nobody knows what', () => {
    expect(only(facts([])).totals).toEqual({ addresses: 0, orphans: 0, costPerMonth: 0 });
    const unread = { key: 'digitalocean', readAt: null, problem: 'list: 401', note: 'it is being read', addresses: [] };
    const { key: account, ...said } = unread;
    expect(only(facts([], { accounts: [unread] }))).toEqual({ account, provider: 'digitalocean', currency: 'USD', totals: null, ...said });
  });

  test('is kept apart from others, each with its own sum, by their keys', () => {
    const key = 'digitalocean@web.token';
    const accounts = [
      { key, readAt: NOW, problem: null, note: null, addresses: [observed('203.0.113.2')] },
      { key: 'digitalocean', readAt: NOW, problem: null, note: null, addresses: [observed('203.0.113.1'), observed('203.0.113.3', NODE)] },
    ];
    const found = inventoryOf(facts([], { accounts })).accounts;
    expect(found.map(({ account, provider, totals }) => [account, provider, totals?.addresses, totals?.costPerMonth])).toEqual([
      ['digitalocean', 'digitalocean', 2, 5],
      [key, 'digitalocean', 1, 5],
    ]);
  });

  test('of 2,000 addresses is looked through in a moment', () => {
    const addresses = Array.from({ length: 2_000 }, (_, index) => observed(`203.0.${index % 250}.${Math.floor(index / 250)}`));
    const began = performance.now();
    expect(only(facts(addresses)).totals?.costPerMonth).toBe(10_000);
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});
