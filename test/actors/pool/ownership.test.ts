import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Ownership } from '../../../actors/controllers/ownership.ts';
import { ObservedPools } from '../../../actors/controllers/pool-cache.ts';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { Standing } from '../../../machines/model/precedence.ts';
import type { Address } from '../../../machines/model/types.ts';
import { type Account, ownerOf } from '../../support/owners.ts';

const object = (name: string, createdAt: number, uid = `uid-${name}`, kind = 'FloatingIPPool'): PoolObject =>
  ({
    ref: { kind, namespace: 'web', name, uid },
    createdAt,
    generation: 1,
    spec: {},
    status: null,
    deleting: false,
  }) as unknown as PoolObject;
const addresses = (...list: readonly string[]): readonly Address[] => list as readonly Address[];

type Standings = Readonly<Record<string, Standing>>;
const ownershipWith = (standings: Standings = {}): Ownership => new Ownership((id) => standings[id] ?? 'Asks');

describe('an address that several objects claim', () => {
  test('is the oldest one’s while none of them has it; the others know whose it is', () => {
    const ownership = ownershipWith();
    expect(ownership.put('young', object('young', 2), addresses('a', 'b'))).toEqual([]);
    expect(ownership.put('old', object('old', 1), addresses('b'))).toEqual(['young']);
    expect(ownership.conflicts('young')).toEqual({ b: 'web/old' });
    expect(ownership.conflicts('old')).toEqual({});
  });

  test('stays with the one that has it, whoever is older; nobody but the loser hears of it', () => {
    const ownership = ownershipWith({ young: 'Holds' });
    ownership.put('young', object('young', 2), addresses('a'));
    expect(ownership.put('old', object('old', 1), addresses('a'))).toEqual([]);
    expect(ownership.conflicts('young')).toEqual({});
    expect(ownership.conflicts('old')).toEqual({ a: 'web/young' });
  });

  test.each([
    ['the records show in hand', 'one whose status alone says so', 'Holds', 'Bound'],
    ['a status says is in hand', 'an older one that waits', 'Bound', 'Asks'],
    ['an account has that lists it', 'an older one that Jobs serve, which list nothing', 'Asks', 'Unlistable'],
    ['Jobs serve, which list nothing', 'an older one whose account does not list it', 'Unlistable', 'Unlisted'],
    ['a valid one waits for', 'an older one that is not valid', 'Unlisted', 'Barred'],
  ] as const)('that %s is not passed to %s', (_, __, own, others) => {
    for (const order of [['young', 'old'] as const, ['old', 'young'] as const]) {
      const ownership = ownershipWith({ young: own, old: others });
      for (const id of order) ownership.put(id, object(id, id === 'old' ? 1 : 2), addresses('a'));
      expect([ownership.conflicts('young'), ownership.conflicts('old')]).toEqual([{}, { a: 'web/young' }]);
    }
  });

  test('stays with one that got it since it was last looked at', () => {
    const standings: Record<string, Standing> = {};
    const ownership = new Ownership((id) => standings[id] ?? 'Asks');
    ownership.put('young', object('young', 2), addresses('a'));
    standings.young = 'Holds';
    ownership.put('old', object('old', 1), addresses('a'));
    expect(ownership.conflicts('old')).toEqual({ a: 'web/young' });
  });

  test('passes to a younger one once its account lists it, and only of those that change', () => {
    const standings: Record<string, Standing> = { young: 'Unlisted', old: 'Unlisted' };
    const ownership = ownershipWith(standings);
    for (const id of ['young', 'old']) ownership.put(id, object(id, id === 'old' ? 1 : 2), addresses('a', 'b'));
    expect(ownership.conflicts('young')).toEqual({ a: 'web/old', b: 'web/old' });
    standings.young = 'Asks';
    expect([...ownership.anew(addresses('a', 'c'))].sort()).toEqual(['old', 'young']);
    expect([ownership.conflicts('young'), ownership.conflicts('old')]).toEqual([{ b: 'web/old' }, { a: 'web/young' }]);
    expect(ownership.anew(addresses('a'))).toEqual([]);
  });

  test('is free for the next one when its owner no longer claims it, and when it goes', () => {
    const ownership = ownershipWith();
    for (const [index, name] of ['first', 'second', 'third'].entries()) ownership.put(name, object(name, index), addresses('a'));
    expect(ownership.put('first', object('first', 0), addresses())).toEqual(['second', 'third']);
    expect(ownership.conflicts('third')).toEqual({ a: 'web/second' });
    expect(ownership.remove('second')).toEqual(['third']);
    expect(ownership.conflicts('third')).toEqual({});
  });

  test('has an owner with its kind for whom it may be of another kind', () => {
    const ownership = ownershipWith();
    ownership.put('rip', object('shop', 1, 'u', 'RoutedIP'), addresses('a'));
    ownership.put('pool', object('ingress', 2), addresses('a'));
    expect(ownership.conflicts('pool')).toEqual({ a: 'RoutedIP web/shop' });
  });

  test('concerns nobody when an object is observed again as it was', () => {
    const ownership = ownershipWith();
    ownership.put('old', object('old', 1), addresses('a'));
    ownership.put('young', object('young', 2), addresses('a'));
    expect(ownership.put('old', object('old', 1), addresses('a'))).toEqual([]);
  });

  test('costs no more to observe again than it has claimants, and nothing where it has one', () => {
    let asked = 0;
    const ownership = new Ownership(() => {
      asked += 1;
      return 'Asks';
    });
    const COUNT = 1000;
    for (let index = 0; index < COUNT; index += 1) ownership.put(`own${index}`, object(`own${index}`, index), addresses(`a${index}`));
    expect(asked).toBe(0);
    for (let index = 0; index < COUNT; index += 1) ownership.put(`on${index}`, object(`on${index}`, index), addresses('one'));
    for (let index = 0; index < COUNT; index += 1) ownership.put(`on${index}`, object(`on${index}`, index), addresses('one'));
    expect(asked).toBeLessThan(5 * COUNT);
  });
});

const ACCOUNTS: Readonly<Partial<Record<Standing, Account>>> = { Unlistable: 'Unlistable', Unlisted: 'Lacks' };

interface Claimed {
  readonly object: PoolObject;
  readonly addresses: readonly Address[];
}

/** The rule as a sweep over all objects. */
function swept(claims: ReadonlyMap<string, Claimed>, standings: Standings): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const ownerAt = (address: Address) =>
    ownerOf(
      [...claims]
        .filter(([, claimed]) => claimed.addresses.includes(address))
        .map(
          ([
            id,
            {
              object: { createdAt, ref },
            },
          ]) => ({
            id,
            createdAt,
            tie: ref.uid,
            has: standings[id] === 'Holds',
            mayGain: standings[id] !== 'Barred',
            account: ACCOUNTS[standings[id] ?? 'Asks'] ?? 'Lists',
          }),
        ),
    );
  const lostBy = (id: string, claimed: Claimed) =>
    claimed.addresses.flatMap((address) => {
      const owner = ownerAt(address);
      return owner === null || owner === id ? [] : [[address, `web/${claims.get(owner)?.object.ref.name}`] as const];
    });
  return new Map([...claims].map(([id, claimed]) => [id, Object.fromEntries(lostBy(id, claimed))]));
}

test('any order of observations comes to what a sweep over all objects says, and names all whose conflicts changed', () => {
  const step = fc.record({
    id: fc.constantFrom('p', 'q', 'r', 's'),
    uid: fc.constantFrom('1', '2'),
    createdAt: fc.integer({ min: 0, max: 3 }),
    standing: fc.constantFrom<Standing>('Holds', 'Asks', 'Asks', 'Unlistable', 'Unlisted'),
    addresses: fc.oneof(fc.constant(null), fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const standings: Record<string, Standing> = {};
      const ownership = new Ownership((id) => standings[id] ?? 'Asks');
      const claims = new Map<string, Claimed>();
      for (const { id, uid, createdAt, standing, addresses: claimed } of steps) {
        const before = swept(claims, standings);
        standings[id] = standing;
        const claim = claimed && { object: object(id, createdAt, `${uid}-${id}`), addresses: claimed as Address[] };
        if (claim) claims.set(id, claim);
        else claims.delete(id);
        const changed = claim ? ownership.put(id, claim.object, claim.addresses) : ownership.remove(id);
        const after = swept(claims, standings);
        const others = [...after].filter(([other, lost]) => other !== id && JSON.stringify(lost) !== JSON.stringify(before.get(other)));
        expect([...changed].sort()).toEqual(others.map(([other]) => other).sort());
        for (const [other, lost] of after) expect(ownership.conflicts(other)).toEqual(lost);
      }
    }),
    { numRuns: 1000 },
  );
});

test('the order in which objects are observed decides nothing', () => {
  const claim = fc.record({
    createdAt: fc.integer({ min: 0, max: 2 }),
    standing: fc.constantFrom<Standing>('Holds', 'Bound', 'Asks', 'Unlistable', 'Unlisted', 'Barred'),
  });
  fc.assert(
    fc.property(fc.array(claim, { minLength: 2, maxLength: 6 }), fc.infiniteStream(fc.nat()), (claims, keys) => {
      const ownership = (order: readonly number[]) => {
        const found = new Ownership((id) => claims[Number(id)]?.standing ?? 'Asks');
        for (const index of order) found.put(`${index}`, object(`${index}`, claims[index]?.createdAt ?? 0), addresses('a'));
        return claims.map((_, index) => found.conflicts(`${index}`));
      };
      const order = claims.map((_, index) => index);
      const shuffled = [...order.map((index) => [index, keys.next().value] as const)].sort(([, a], [, b]) => a - b).map(([index]) => index);
      expect(ownership(shuffled)).toEqual(ownership(order));
    }),
  );
});

test('whether an object is valid is looked at once for all the addresses that others claim too', () => {
  const facts = { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: 'digitalocean://', missing: null };
  const pools = new ObservedPools('default', { all: { digitalocean: { facts, provider: null } } });
  const ips = Array.from({ length: 1000 }, (_, index) => `10.0.${index >> 8}.${index % 256}`);
  let looks = 0;
  const spec = {
    provider: 'digitalocean',
    region: 'nyc3',
    desiredIPs: ips.length,
    ips,
    get match() {
      looks += 1;
      return {};
    },
  };
  pools.put({ ...object('old', 1), spec });
  pools.put({ ...object('young', 2), spec });
  expect(looks).toBeLessThan(10);
  expect(Object.keys(pools.conflicts('pool/web/young'))).toHaveLength(ips.length);
  // Not for longer than one change: what it rests on may be another thing by then.
  expect(pools.put({ ...object('old', 1), spec: { ...spec, match: 7 } })).toEqual(['pool/web/young']);
  expect(pools.conflicts('pool/web/young')).toEqual({});
});
