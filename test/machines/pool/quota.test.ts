import { expect, test } from 'vitest';
import type { Address, Kept } from '../../../machines/model/types.ts';
import { type Keeper, type Limit, settle } from '../../../machines/pool/quota.ts';

const FLAG: Limit = { most: 3, source: null, name: '--max-addresses-per-namespace' };

const asking = (index: number, limits: readonly Limit[]): Keeper => ({
  owner: `RoutedIP/r-${index}`,
  uid: `uid-${index}`,
  source: 'ClusterRoutedIPClass/floating',
  provider: 'digitalocean',
  since: index,
  standing: 'asks',
  made: [],
  limits,
  canReuse: null,
});
const retained: readonly Kept[] = [1, 2, 3].map((index) => ({
  address: `203.0.113.${index}` as Address,
  owner: `RoutedIP/gone-${index}`,
  uid: `gone-${index}`,
  source: 'ClusterRoutedIPClass/floating',
  provider: 'digitalocean',
  since: 0,
}));

test('why there is no room is found out once, however many of a namespace ask for it', () => {
  let looks = 0;
  const isNamed = (): boolean => {
    looks += 1;
    return false;
  };
  const evidence = { isGone: () => false, made: [], ended: new Set<string>(), isNamed, now: 0 };
  const keepers = Array.from({ length: 2_000 }, (_, index) => asking(index, [FLAG]));
  const { kept, granted, refused } = settle('web', retained, keepers, evidence);
  expect([kept.length, granted.size, refused.size]).toEqual([3, 0, 2_000]);
  expect(looks).toBe(retained.length);
});

test('no place is taken for what has no limit', () => {
  const evidence = { isGone: () => false, made: [], ended: new Set<string>(), isNamed: () => false, now: 0 };
  const { kept, granted } = settle('web', [], [asking(1, [])], evidence);
  expect([kept.length, granted.size]).toEqual([0, 0]);
});
