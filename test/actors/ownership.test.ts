import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Ownership } from '../../actors/ownership.ts';
import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Address } from '../../machines/types.ts';

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

describe('an address that several objects claim', () => {
  test('is the oldest one’s; the others know whose it is', () => {
    const ownership = new Ownership();
    expect(ownership.put('young', object('young', 2), addresses('a', 'b'))).toEqual([]);
    expect(ownership.put('old', object('old', 1), addresses('b'))).toEqual(['young']);
    expect(ownership.conflicts('young')).toEqual({ b: 'web/old' });
    expect(ownership.conflicts('old')).toEqual({});
  });

  test('is free for the next one when its owner no longer claims it, and when it goes', () => {
    const ownership = new Ownership();
    for (const [index, name] of ['first', 'second', 'third'].entries()) ownership.put(name, object(name, index), addresses('a'));
    expect(ownership.put('first', object('first', 0), addresses())).toEqual(['second', 'third']);
    expect(ownership.conflicts('third')).toEqual({ a: 'web/second' });
    expect(ownership.remove('second')).toEqual(['third']);
    expect(ownership.conflicts('third')).toEqual({});
  });

  test('has an owner with its kind for whom it may be of another kind', () => {
    const ownership = new Ownership();
    ownership.put('rip', object('shop', 1, 'u', 'RoutedIP'), addresses('a'));
    ownership.put('pool', object('ingress', 2), addresses('a'));
    expect(ownership.conflicts('pool')).toEqual({ a: 'RoutedIP web/shop' });
  });

  test('concerns nobody when an object is observed again as it was', () => {
    const ownership = new Ownership();
    ownership.put('old', object('old', 1), addresses('a'));
    ownership.put('young', object('young', 2), addresses('a'));
    expect(ownership.put('old', object('old', 1), addresses('a'))).toEqual([]);
  });
});

interface Claim {
  readonly object: PoolObject;
  readonly addresses: readonly Address[];
}

/** The rule as a sweep over all objects. */
function swept(claims: ReadonlyMap<string, Claim>): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const byAge = [...claims].sort(([, { object: a }], [, { object: b }]) => a.createdAt - b.createdAt || (a.ref.uid < b.ref.uid ? -1 : 1));
  const owners = new Map<Address, string>();
  for (const [id, claim] of byAge) for (const address of claim.addresses) if (!owners.has(address)) owners.set(address, id);
  const lostBy = (id: string, claim: Claim) =>
    claim.addresses.flatMap((address) => {
      const owner = owners.get(address) ?? id;
      return owner === id ? [] : [[address, `web/${claims.get(owner)?.object.ref.name}`] as const];
    });
  return new Map([...claims].map(([id, claim]) => [id, Object.fromEntries(lostBy(id, claim))]));
}

test('any order of observations comes to what a sweep over all objects says, and names all whose conflicts changed', () => {
  const step = fc.record({
    id: fc.constantFrom('p', 'q', 'r', 's'),
    uid: fc.constantFrom('1', '2'),
    createdAt: fc.integer({ min: 0, max: 3 }),
    addresses: fc.oneof(fc.constant(null), fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const ownership = new Ownership();
      const claims = new Map<string, Claim>();
      for (const { id, uid, createdAt, addresses: claimed } of steps) {
        const before = swept(claims);
        const claim = claimed && { object: object(id, createdAt, `${uid}-${id}`), addresses: claimed as Address[] };
        if (claim) claims.set(id, claim);
        else claims.delete(id);
        const changed = claim ? ownership.put(id, claim.object, claim.addresses) : ownership.remove(id);
        const after = swept(claims);
        const others = [...after].filter(([other, lost]) => other !== id && JSON.stringify(lost) !== JSON.stringify(before.get(other)));
        expect([...changed].sort()).toEqual(others.map(([other]) => other).sort());
        for (const [other, lost] of after) expect(ownership.conflicts(other)).toEqual(lost);
      }
    }),
    { numRuns: 300 },
  );
});
