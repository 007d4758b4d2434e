import { describe, expect, test } from 'vitest';
import type { AddressInput } from '../../../machines/address/context.ts';
import type { Address, ObservedAddress } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { poolStatus } from '../../../machines/status/pool.ts';
import { A, B, C, node, observed, POOL, PROVIDER, providerIDOf, refOf, registry } from '../builders.ts';
import { Driven } from '../drive.ts';
import { view } from '../status/status-view.ts';
import { cluster, failed, grantsIn, named, poolInput, primed, provided, ready, serving, spec, toldIn } from './world.ts';

const names = ({ context }: Driven<PoolContext>): readonly string[] => context.candidates.map(({ name }) => name);
const inputs = ({ last }: Driven<PoolContext>): readonly unknown[] =>
  last.effects.flatMap((effect) => (effect.type === 'spawn' ? [effect.params.input] : []));

describe('a pool that starts', () => {
  const facts = {
    SPEC_OBSERVED: spec(),
    CLUSTER_OBSERVED: named('a', 'b'),
    PROVIDER_OBSERVED: provided(observed(A, 'a'), observed(B)),
  };
  const told = Object.entries(facts);

  test.each([
    [0, 1, 2],
    [0, 2, 1],
    [2, 0, 1],
  ])('decides nothing before it knows its spec, its nodes and the provider (in the order %d %d %d)', (...order) => {
    const pool = new Driven<PoolContext>('pool', poolInput());
    for (const [index, which] of order.entries()) {
      const [type, fact] = told[which] ?? ['', {}];
      pool.send(type, fact);
      expect([pool.state.split('.')[0], toldIn(pool)]).toEqual(index < 2 ? ['Priming', []] : ['Serving', [`spawn ${A}`, `spawn ${B}`]]);
    }
  });

  test('cannot tell whose nodes it is told of before it knows its spec', () => {
    const pool = new Driven<PoolContext>('pool', poolInput()).send('CLUSTER_OBSERVED', named('a'));
    expect(names(pool)).toEqual([]);
  });

  test('starts its addresses with what the provider reported, and with what its status remembers', () => {
    const remembered = {
      lastAssignmentAt: 7,
      intent: null,
      inDoubtUntil: 9,
      created: [A],
      addresses: { [A]: { epoch: 3, inDoubtUntil: 9 } },
      absent: [],
      held: false,
    };
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered }))
      .send('SPEC_OBSERVED', spec())
      .send('CLUSTER_OBSERVED', named())
      .send('PROVIDER_OBSERVED', provided(observed(A, 'a')));
    expect(inputs(pool)).toEqual([
      {
        id: `${POOL}/ip/${A}`,
        pool: POOL,
        provider: PROVIDER,
        address: A,
        origin: 'Created',
        observed: observed(A, 'a'),
        remembered: { epoch: 3, inDoubtUntil: 9 },
      },
      { id: `${POOL}/ip/${B}`, pool: POOL, provider: PROVIDER, address: B, origin: 'Found', observed: null },
    ]);
    expect(pool.context.lastAssignmentAt).toBe(7);
  });

  test('tells an address of the node that its status remembers, and whether others have that by now', () => {
    const addresses = { [A]: { epoch: 3, inDoubtUntil: null, on: refOf('a') }, [B]: { epoch: 3, inDoubtUntil: null, on: refOf('b') } };
    const remembered = { lastAssignmentAt: null, intent: null, inDoubtUntil: 9, created: [], addresses, absent: [], held: false };
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered }))
      .send('SPEC_OBSERVED', spec())
      .send('CLUSTER_OBSERVED', named())
      .send('CLAIMS_OBSERVED', { fullNodes: ['a'] })
      .send('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B, 'b')));
    const told = inputs(pool).map((input) => (input as AddressInput).remembered);
    expect(told).toEqual([{ ...addresses[A], isTaken: true }, addresses[B]]);
  });

  test.each([
    ['that it has just got', null],
    ['that somebody has moved there', 'b'],
  ])('starts the addresses first that are where its status shows that they served: of two on one node the one goes %s', (_, former) => {
    const servedOn = (node: string) => ({ epoch: 3, inDoubtUntil: null, shown: true as const, servedOn: refOf(node).providerID });
    const addresses = { [B]: servedOn('a'), ...(former && { [A]: servedOn(former) }) };
    const remembered = { lastAssignmentAt: null, intent: null, inDoubtUntil: 9, created: [], addresses, absent: [], held: false };
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered }))
      .send('SPEC_OBSERVED', spec())
      .send('CLUSTER_OBSERVED', named('a', 'b'))
      .send('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B, 'a')));
    expect(toldIn(pool)).toEqual([`spawn ${B}`, `spawn ${A}`]);
    expect(grantsIn(pool.send('READY', ready(B, 'a')))).toEqual([`${B} → a`]);
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([`${A} → b`]);
  });

  describe('that remembers an assign under way', () => {
    const toward = (...addresses: readonly Address[]) => ({
      lastAssignmentAt: null,
      intent: null,
      inDoubtUntil: 9,
      created: [],
      addresses: Object.fromEntries(addresses.map((address) => [address, { epoch: 3, inDoubtUntil: 9, toward: 'a' }])),
      absent: [],
      held: false,
    });
    const started = (...addresses: readonly Address[]) =>
      new Driven<PoolContext>('pool', poolInput({ remembered: toward(...addresses) }))
        .send('SPEC_OBSERVED', spec())
        .send('CLUSTER_OBSERVED', named('a', 'b'));
    const towardIn = (pool: Driven<PoolContext>) => inputs(pool).map((input) => (input as AddressInput).remembered?.toward ?? null);

    test('keeps its node from other addresses until the address says where it is', () => {
      const pool = started(A).send('PROVIDER_OBSERVED', provided(observed(A), observed(B)));
      expect(towardIn(pool)).toEqual(['a', null]);
      expect(grantsIn(pool.send('READY', ready(B)))).toEqual([`${B} → b`]);
      expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${A} → a`]);
    });

    test('moves no other address off that node, and lets it stay there afterwards', () => {
      const pool = started(A).send('PROVIDER_OBSERVED', provided(observed(A), observed(B, 'a')));
      expect(grantsIn(pool.send('READY', ready(B, 'a')))).toEqual([]);
      expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${B} → a`, `${A} → b`]);
    });

    test('keeps it until the address gives it up, and does not take the node for a bad one', () => {
      const pool = started(A).send('PROVIDER_OBSERVED', provided(observed(A), observed(B, 'b')));
      expect(grantsIn(pool.send('READY', ready(B, 'b')))).toEqual([`${B} → b`]);
      pool.send('FAILED', { address: A, kind: 'Unavailable', returned: refOf('a'), holder: null });
      expect([pool.context.members[A]?.toward, pool.context.backOff]).toEqual([undefined, {}]);
    });

    test('keeps it for one address alone', () => {
      expect(towardIn(started(A, B).send('PROVIDER_OBSERVED', provided(observed(A), observed(B))))).toEqual(['a', null]);
    });

    test('keeps it for one that is not listed any more, which is only to end', () => {
      const pool = started(C).send('PROVIDER_OBSERVED', provided(observed(A), observed(B), observed(C)));
      expect(pool.context.members[C]).toMatchObject({ toward: 'a', retiring: true });
      expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${A} → b`]);
      expect(grantsIn(pool.send('READY', ready(B)))).toEqual([]);
      expect(grantsIn(pool.send('GONE', { address: C }))).toEqual([`${B} → a`]);
    });

    test('leaves it to another pool that has it', () => {
      const pool = started(A).send('CLAIMS_OBSERVED', { fullNodes: ['a'] });
      expect(towardIn(pool.send('PROVIDER_OBSERVED', provided(observed(A), observed(B))))).toEqual([null, null]);
    });
  });

  test('adopts each address where it sits before anything moves', () => {
    const pool = primed({}, ['a', 'b'], [observed(A, 'b'), observed(B)]);
    pool.send('READY', ready(A, 'b'));
    expect(grantsIn(pool)).toEqual([`${A} → b`]);
    expect(grantsIn(pool.send('READY', ready(B)))).toEqual([`${B} → a`]);
  });
});

describe('a spec', () => {
  test('that is not valid stops the pool, and says why; nothing is told to the addresses', () => {
    const pool = serving().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    expect([pool.state, pool.context.error, toldIn(pool)]).toEqual(['Invalid', 'unknown provider "aws"', []]);
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([]);
  });

  test('that is valid again lets it go on, once the nodes were told anew', () => {
    const pool = serving().send('SPEC_OBSERVED', spec({ ips: [] }, { generation: 2 }));
    pool.send('READY', ready(A)).send('SPEC_OBSERVED', spec({}, { generation: 3 }));
    expect([pool.state, grantsIn(pool)]).toEqual(['Priming', []]);
    pool.send('CLUSTER_OBSERVED', named('a', 'b'));
    expect([pool.state.split('.')[0], grantsIn(pool)]).toEqual(['Serving', [`${A} → a`]]);
  });

  test('that is not valid from the start is told without anything else being known', () => {
    expect(new Driven<PoolContext>('pool', poolInput()).send('SPEC_OBSERVED', spec({ ips: [] })).state).toBe('Invalid');
  });

  test('of an older generation is not heard', () => {
    const pool = serving().send('SPEC_OBSERVED', spec({ ips: [A] }, { generation: 0 }));
    expect([toldIn(pool), pool.context.generation]).toEqual([[], 1]);
  });

  test('becomes valid when the credentials are there', () => {
    const without = registry({ missing: 'set DIGITALOCEAN_ACCESS_TOKEN' });
    const pool = new Driven<PoolContext>('pool', poolInput()).send('SPEC_OBSERVED', spec({}, { registry: without }));
    expect(pool.context.error).toContain('DIGITALOCEAN_ACCESS_TOKEN');
    expect(pool.send('SPEC_OBSERVED', spec()).state).toBe('Priming');
  });

  test('with another match moves nothing before its own nodes are told', () => {
    const pool = primed().send('SPEC_OBSERVED', spec({ match: { nodeLabel: 'pool=other' } }, { generation: 2 }));
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([]);
    expect(grantsIn(pool.send('CLUSTER_OBSERVED', named('a')))).toEqual([]);
    const theirs = { ...cluster(node('z').labelled({ pool: 'other' })), query: JSON.stringify(['pool=other', null, null]) };
    expect(grantsIn(pool.send('CLUSTER_OBSERVED', theirs))).toEqual([`${A} → z`]);
  });
});

describe('an address', () => {
  test('that the spec lists no more is left where it is, and its node is the next one to be had', () => {
    const pool = serving({}, ['a', 'b', 'c']).send('SPEC_OBSERVED', spec({ ips: [B] }, { generation: 2 }));
    expect(toldIn(pool)).toEqual([`RETIRE ${A}`]);
    pool.send('GONE', { address: A });
    expect([names(pool), pool.context.occupied]).toEqual([['a', 'b', 'c'], [providerIDOf('a')]]);
  });

  test('that the spec lists again while it goes is started again once it is gone', () => {
    const pool = serving()
      .send('SPEC_OBSERVED', spec({ ips: [B] }, { generation: 2 }))
      .send('SPEC_OBSERVED', spec({}, { generation: 3 }));
    expect(toldIn(pool)).toEqual([]);
    expect(toldIn(pool.send('GONE', { address: A }))).toEqual([`spawn ${A}`]);
  });

  test('beyond desiredIPs is not started, and retired when the number shrinks', () => {
    const pool = primed({ desiredIPs: 1 });
    expect(Object.keys(pool.context.members)).toEqual([A]);
    const fewer = serving().send('SPEC_OBSERVED', spec({ desiredIPs: 1 }, { generation: 2 }));
    expect(toldIn(fewer)).toEqual([`RETIRE ${B}`]);
  });

  test('that an older pool lists too is left to it', () => {
    const pool = serving().send('SPEC_OBSERVED', spec({}, { conflicts: { [A]: 'default/older' } }));
    expect(toldIn(pool)).toEqual([`RETIRE ${A}`]);
    pool.send('GONE', { address: A });
    expect(toldIn(pool.send('SPEC_OBSERVED', spec()))).toEqual([`spawn ${A}`]);
  });

  test('of another provider is started when all of the former one are gone', () => {
    const two = { ...registry(), other: { ...registry().digitalocean, providerIDPrefix: 'other://' } };
    const pool = serving().send('SPEC_OBSERVED', spec({ provider: 'other' }, { generation: 2, registry: two }));
    expect(toldIn(pool)).toEqual([`RETIRE ${A}`, `RETIRE ${B}`]);
    pool.send('GONE', { address: A }).send('GONE', { address: B });
    expect(Object.keys(pool.context.members)).toEqual([A, B]);
    expect(pool.context.provider).toBe('other');
  });

  test('that is on its way out is not granted a node, nor one that nobody knows', () => {
    const pool = primed().send('SPEC_OBSERVED', spec({ ips: [B] }, { generation: 2 }));
    const before = pool.context;
    expect(pool.send('READY', ready(A)).context).toEqual(before);
    for (const [type, fact] of Object.entries({ READY: ready(C), FAILED: failed(C, 'NodeInUse', null), GONE: { address: C } })) {
      expect(pool.send(type, fact).context).toEqual(before);
    }
  });
});

describe('the nodes of a pool', () => {
  test('stand in line by name at first; later ones join behind, and those that stay keep their places', () => {
    const pool = primed({}, ['c', 'a']);
    expect(names(pool)).toEqual(['a', 'c']);
    expect(names(pool.send('CLUSTER_OBSERVED', named('c', 'b', 'a', 'd')))).toEqual(['a', 'c', 'b', 'd']);
    expect(names(pool.send('CLUSTER_OBSERVED', named('a', 'd')))).toEqual(['a', 'd']);
    expect(names(pool.send('CLUSTER_OBSERVED', named('d', 'c', 'a')))).toEqual(['a', 'd', 'c']);
  });

  test('are those of its provider', () => {
    expect(names(primed().send('CLUSTER_OBSERVED', cluster(node('a'), node('b').withProviderID('aws://b'))))).toEqual(['a']);
  });

  test('that stop matching are told to the addresses they hold, once', () => {
    const pool = serving();
    expect(toldIn(pool.send('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'))))).toEqual([`NODE_OBSERVED ${A}`]);
    expect(toldIn(pool.send('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'))))).toEqual([]);
    expect(toldIn(pool.send('CLUSTER_OBSERVED', named('a', 'b')))).toEqual([`NODE_OBSERVED ${A}`]);
  });

  test('that come again as other machines are lost: the address is not on them', () => {
    const pool = serving().send('CLUSTER_OBSERVED', cluster(node('a').withProviderID(providerIDOf('a2')), node('b')));
    expect(toldIn(pool)).toEqual([`NODE_OBSERVED ${A}`]);
  });

  test('that turn up free are granted in the same breath in which another is lost', () => {
    const pool = serving({}, ['a', 'b', 'c']).send('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b'), node('c')));
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([`${A} → c`]);
  });

  test('that recover before another is free keep their own address', () => {
    const pool = serving().send('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b')));
    expect(grantsIn(pool.send('READY', ready(A, 'a')))).toEqual([]);
    expect(grantsIn(pool.send('CLUSTER_OBSERVED', named('a', 'b')))).toEqual([`${A} → a`]);
  });

  test('that lost an address while they match come first', () => {
    const pool = serving({}, ['a', 'b', 'c']).send('READY', ready(B));
    expect(names(pool)).toEqual(['b', 'a', 'c']);
    expect(grantsIn(pool)).toEqual([`${B} → b`]);
  });

  test('that other pools hold are passed over until they are free', () => {
    const pool = primed({}, ['a']).send('CLAIMS_OBSERVED', { fullNodes: ['a'] });
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([]);
    expect(grantsIn(pool.send('CLAIMS_OBSERVED', { fullNodes: [] }))).toEqual([`${A} → a`]);
  });

  test('with somebody else’s address on them come last', () => {
    const foreign: ObservedAddress = observed(C, 'a');
    const pool = primed({}, ['a', 'b'], [observed(A), observed(B), foreign]);
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${A} → b`]);
    expect(grantsIn(pool.send('READY', ready(B)))).toEqual([`${B} → a`]);
  });

  test('are told as assignable while nobody holds them', () => {
    const assignable = ({ context }: Driven<PoolContext>) => poolStatus(view(context)).assignableNodes;
    expect(assignable(serving({}, ['a', 'b', 'd', 'c']))).toEqual(['c', 'd']);
    expect(assignable(serving({}, ['a', 'b', 'c', 'd']).send('CLAIMS_OBSERVED', { fullNodes: ['c'] }))).toEqual(['d']);
  });
});

describe('a pool that is deleted', () => {
  test('leaves its addresses where they are, and is gone when all of them are', () => {
    const pool = serving().send('DELETED');
    expect([pool.state, toldIn(pool)]).toEqual(['Stopping.Releasing', [`RETIRE ${A}`, `RETIRE ${B}`]]);
    pool.send('DELETED');
    expect(toldIn(pool)).toEqual([]);
    pool.send('GONE', { address: B });
    expect(pool.state).toBe('Stopping.Releasing');
    expect([pool.send('GONE', { address: A }).state, pool.context.left]).toEqual(['Stopping.Clearing', [A, B]]);
    expect([pool.send('CLEARED').state, pool.last.done]).toEqual(['Gone', true]);
  });

  test('waits for nothing but the nodes when it never had any', () => {
    const pool = new Driven<PoolContext>('pool', poolInput()).send('DELETED');
    expect([pool.state, pool.send('CLEARED').state]).toEqual(['Stopping.Clearing', 'Gone']);
  });

  test('starts and grants nothing any more', () => {
    const pool = serving({}, ['a', 'b', 'c'])
      .send('DELETED')
      .send('SPEC_OBSERVED', spec({ ips: [A, B, C] }, { generation: 2 }));
    expect(toldIn(pool)).toEqual([]);
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([]);
  });
});
