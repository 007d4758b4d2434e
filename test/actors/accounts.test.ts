import { describe, expect } from 'vitest';
import { ProviderError } from '../../actors/errors.ts';
import type { KnownProvider } from '../../actors/leader.ts';
import type { Provider } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { test } from '../support/sound.ts';
import { node, type OperatorProcess, PROVIDER, type World } from '../support/world.ts';

const KEY = `${PROVIDER}@default.do-token`;
const A = '203.0.113.7';
const B = '203.0.113.8';
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** The account of the world with other credentials than those of the environment. */
const known = (world: World, change: Partial<Provider> = {}): KnownProvider => ({
  facts: world.facts,
  provider: { ...world.provider.process(), ...change },
});
const without = (world: World, missing: string): KnownProvider => ({
  facts: { ...world.facts, missing, missingReason: 'SecretNotFound' },
  provider: null,
});
const refuse = () => Promise.reject(new ProviderError('Unauthorized', 'refused: 401'));
const errorOf = (world: World, pool: ObjectRef): string | undefined => world.status(pool).error;
const verifications = ({ supervisor }: OperatorProcess): readonly string[] =>
  [...supervisor.records().keys()].filter((id) => id.startsWith('verify/'));

/** A pool of the account with address A, and two nodes. */
const opened = async (world: World) => {
  world.nodes(node('a'), node('b'));
  world.address(A);
  const pool = world.pool('ingress', { provider: KEY, ips: [A] });
  const process = await world.start();
  await world.clock.advance(2 * SECOND);
  return { pool, process };
};

describe('a provider that appears', () => {
  test('is worked with at once, by pools that named it before', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    expect(errorOf(world, pool)).toContain(`unknown provider "${KEY}"`);
    process.providers.set(KEY, known(world));
    await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND);
    expect(errorOf(world, pool) || null).toBeNull();
    expect(world.holderOf(A)).not.toBeNull();
    expect(verifications(process)).toContain(`verify/${KEY}`);
  });

  test('says nothing about its pools before its Secret was looked at', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const process = await world.start();
    process.providers.set(KEY, { ...without(world, 'Secret default/do-token has not been read yet'), unread: true });
    const pool = world.pool('ingress', { provider: KEY, ips: [A] });
    await world.clock.advance(2 * MINUTE);
    expect(process.supervisor.records().has('pool/default/ingress'), 'it was heard of').toBe(true);
    expect(errorOf(world, pool) || null).toBeNull();
    process.providers.set(KEY, without(world, 'Secret default/do-token is not there'));
    await world.clock.runUntil(() => errorOf(world, pool)?.includes('Secret default/do-token is not there') === true, 2 * SECOND);
    process.providers.set(KEY, known(world));
    await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND);
  });

  test('is taken over by a new leader that has not heard of it yet', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    process.providers.set(KEY, known(world));
    await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND);
    process.kill();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(5 * SECOND);
    next.providers.set(KEY, known(world));
    const holder = world.holderOf(A) ?? '';
    world.cluster.setNode(node(holder, { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) !== holder, 5 * SECOND);
    await world.untilStates(pool, { [A]: 'active' });
    expect(verifications(next)).toContain(`verify/${KEY}`);
  });
});

describe('a provider whose credentials change', () => {
  test('wakes the addresses that wait because the former ones were refused', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    process.providers.set(KEY, known(world, { assignRoutedIP: refuse }));
    await world.clock.runUntil(() => world.states(pool)[A] === 'error', 10 * SECOND);
    await world.clock.advance(20 * SECOND);
    expect(world.states(pool), 'it waits').toEqual({ [A]: 'error' });
    expect(world.holderOf(A)).toBeNull();
    process.providers.set(KEY, known(world));
    expect(await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND)).toBeLessThan(SECOND);
  });

  test('is read with the new ones when the former ones were refused for that', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    let asked = 0;
    const listRoutedIPs = () => {
      asked += 1;
      return refuse();
    };
    process.providers.set(KEY, known(world, { listRoutedIPs }));
    await world.clock.advance(MINUTE);
    expect(asked).toBeGreaterThan(3);
    expect(world.assigns()).toEqual([]);
    process.providers.set(KEY, known(world));
    const before = asked;
    expect(await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND)).toBeLessThan(SECOND);
    await world.clock.advance(MINUTE);
    expect(asked, 'the former ones are not asked any more').toBe(before);
  });

  test('tries again what was under way with the former ones when those are refused late', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    const late = Promise.withResolvers<never>();
    let sent = 0;
    const assignRoutedIP = () => {
      sent += 1;
      return late.promise;
    };
    process.providers.set(KEY, known(world, { assignRoutedIP }));
    await world.clock.runUntil(() => sent === 1, 5 * SECOND);
    process.providers.set(KEY, known(world));
    await world.clock.advance(SECOND);
    late.reject(new ProviderError('Unauthorized', 'assign: 401'));
    expect(await world.untilStates(pool, { [A]: 'active' }, 5 * SECOND)).toBeLessThan(2 * SECOND);
  });
});

describe('a provider that goes', () => {
  test('is neither called nor verified any more, and is again when it comes back', async ({ open }) => {
    const world = open();
    const { pool, process } = await opened(world);
    process.providers.set(KEY, known(world));
    await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND);
    process.providers.set(KEY, null);
    await world.clock.runUntil(() => !verifications(process).includes(`verify/${KEY}`), SECOND);
    const calls = world.provider.calls.length;
    await world.clock.advance(20 * MINUTE);
    expect(world.provider.calls.length).toBe(calls);
    expect(errorOf(world, pool)).toContain('unknown provider');
    expect(world.holderOf(A), 'what it held stays').not.toBeNull();
    process.providers.set(KEY, known(world));
    await world.untilStates(pool, { [A]: 'active' }, 2 * SECOND);
    await world.clock.advance(11 * MINUTE);
    const lists = world.provider.calls.slice(calls).filter(({ verb }) => verb === 'listRoutedIPs');
    expect(lists.length).toBeGreaterThan(2);
  });
});

describe('two accounts of one cloud', () => {
  test('do not put more on a node than it can hold, whoever leads', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    world.address(B);
    const first = world.pool('first', { ips: [A] });
    const second = world.pool('second', { provider: KEY, ips: [B] });
    const process = await world.start();
    process.providers.set(KEY, known(world));
    await world.clock.advance(10 * SECOND);
    const states = () => [world.states(first)[A], world.states(second)[B]].sort();
    expect(states()).toEqual(['active', 'unassigned']);
    process.kill();
    const next = await world.start();
    next.providers.set(KEY, known(world));
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(10 * SECOND);
    expect(states()).toEqual(['active', 'unassigned']);
    expect(world.assigns()).toHaveLength(1);
    world.nodes(node('b'));
    await world.clock.runUntil(() => states().join() === 'active,active', 10 * SECOND);
    expect(world.assigns()).toHaveLength(2);
  });
});
