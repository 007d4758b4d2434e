import { describe, expect, test } from 'vitest';
import { claimedNodes } from '../../../machines/address/decisions.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import { nodeClaim, nodesFull } from '../../../machines/model/node-claim.ts';
import type { Address } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { checkPoolSpec } from '../../../machines/spec/pool.ts';
import { poolStatus } from '../../../machines/status/pool.ts';
import { A, addressContextOf, observed, providerIDOf, refOf, registry } from '../builders.ts';
import { Driven } from '../drive.ts';
import { view } from '../status/status-view.ts';
import { grantsIn, named, poolInput, provided, ready, spec } from './world.ts';

const [SIX, OTHER] = ['2001:db8::1', '2001:db8::2'] as [Address, Address];

/** A pool of two IPv6 addresses that knows its nodes and the provider. */
const poolOfSix = (names: readonly string[], addresses = [observed(SIX), observed(OTHER)]) =>
  new Driven<PoolContext>('pool', poolInput())
    .send('SPEC_OBSERVED', spec({ ips: [SIX, OTHER] }, { registry: registry({ ipv6: true }) }))
    .send('CLUSTER_OBSERVED', named(...names))
    .send('PROVIDER_OBSERVED', provided(...addresses));

describe('a claim on a node', () => {
  test('is one of its own for each family, and each family sees its own', () => {
    const claims = [nodeClaim('a', A), nodeClaim('b', SIX), '#create', `@${SIX}`];
    expect(new Set(claims).size).toBe(4);
    expect(['a', 'b'].map((name) => nodesFull(claims, 4).includes(name))).toEqual([true, false]);
    expect(['a', 'b'].map((name) => nodesFull(claims, 6).includes(name))).toEqual([false, true]);
  });

  test('is made by each address for its family', () => {
    const claimed = (address: Address) => claimedNodes(addressContextOf({ address, elected: refOf('b'), assigned: refOf('a') }));
    expect([claimed(A), claimed(SIX)]).toEqual([
      ['a', 'b'],
      ['a#6', 'b#6'],
    ]);
  });
});

describe('a pool of IPv6 addresses', () => {
  test('passes over nodes that are full for IPv6, and takes those that are full for IPv4', () => {
    const pool = poolOfSix(['a', 'b', 'c']).send('CLAIMS_OBSERVED', { fullNodes: ['a', 'b#6'] });
    const assignable = ({ context }: Driven<PoolContext>) => poolStatus(view(context)).assignableNodes;
    expect(assignable(pool)).toEqual(['a', 'c']);
    expect(grantsIn(pool.send('READY', ready(SIX)))).toEqual([`${SIX} → a`]);
    expect(grantsIn(pool.send('READY', ready(OTHER)))).toEqual([`${OTHER} → c`]);
    expect(assignable(pool)).toEqual([]);
  });

  test('tries nodes last that hold somebody else’s IPv6 address, not those that hold an IPv4 one', () => {
    const pool = poolOfSix(['a', 'b'], [observed(SIX), observed(OTHER), observed('2001:db8::99' as Address, 'a'), observed(A, 'b')]);
    expect(pool.context.occupied).toEqual([providerIDOf('a')]);
    expect(grantsIn(pool.send('READY', ready(SIX)))).toEqual([`${SIX} → b`]);
  });
});

describe('a spec', () => {
  const errorOf = (change: Readonly<Record<string, unknown>>) => checkPoolSpec(spec(change).spec, registry({ ipv6: true })).error;

  test('with addresses of both families is told to be two pools', () => {
    expect(errorOf({ ips: [A, SIX] })).toBe(
      `ips lists IPv4 addresses (${A}) and IPv6 addresses (${SIX}): give each family a pool of its own`,
    );
    expect([errorOf({ ips: [A] }), errorOf({ ips: [SIX, OTHER] })]).toEqual([null, null]);
  });

  test('that wants more IPv6 addresses than it lists is told that none is created', () => {
    const text = 'desiredIPs is 3, but ips lists 2 IPv6 addresses: list the others too, IPv6 addresses are not created';
    expect(errorOf({ ips: [SIX, OTHER], desiredIPs: 3 })).toBe(text);
    expect(errorOf({ ips: [SIX], desiredIPs: 2 })).toContain('lists 1 IPv6 address:');
    expect([1, 2].map((desiredIPs) => errorOf({ ips: [SIX, OTHER], desiredIPs }))).toEqual([null, null]);
    expect(errorOf({ ips: [A], desiredIPs: 3 })).toBe(null);
  });

  test('may spell an IPv6 address as it likes; it is known by one spelling', () => {
    const spellings = ['2001:DB8::1', '2001:db8:0:0:0:0:0:1', '2001:0db8::0001'];
    expect(new Set(spellings.map(parseAddress))).toEqual(new Set([SIX]));
    for (const ip of spellings) {
      expect(checkPoolSpec(spec({ ips: [ip] }).spec, registry({ ipv6: true })).spec?.ips).toEqual([SIX]);
      expect(errorOf({ ips: [SIX, ip] })).toBe(`address ${SIX} is listed twice in ips`);
    }
  });
});
