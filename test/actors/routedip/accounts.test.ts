import { describe, expect, test } from 'vitest';
import type { KnownProvider } from '../../../actors/ports/directory.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Provider } from '../../../actors/ports/provider.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { expectSound } from '../../support/sound.ts';
import { node, type OperatorProcess, PROVIDER, type World } from '../../support/world.ts';
import { RoutedWorld } from './world.ts';

/** What the class's Secret is known under. */
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
  facts: { ...world.facts, missing },
  provider: null,
});
const refuse = () => Promise.reject(new ProviderError('Unauthorized', 'refused: 401'));
const messageOf = (world: World, ref: ObjectRef): string =>
  world.cluster.conditions(ref).find(({ type }) => type === 'Ready')?.message ?? '';
const verifications = ({ supervisor }: OperatorProcess): readonly string[] =>
  [...supervisor.records().keys()].filter((id) => id.startsWith('verify/'));

/** A class with a Secret, a RoutedIP of it with address A, and two nodes; nothing is known of the Secret but `first`. */
const opened = async (first: (world: World) => KnownProvider | null = () => null) => {
  const world = new RoutedWorld();
  world.setClass({ fromSecretsRef: [{ name: 'do-token' }] });
  world.setNode(node('a', { createdAt: 2 }), node('b', { createdAt: 1 }));
  world.address(A);
  world.setWeb('shop', ['a', 'b']);
  const process = await world.start();
  process.providers.set(KEY, first(world));
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.clock.advance(2 * SECOND);
  return { world, ref, process };
};

describe('a RoutedIP whose class comes to name another account', () => {
  test('has its address verified there although nobody worked with that account before', async () => {
    const world = new RoutedWorld();
    world.setClass();
    world.setNode(node('a', { createdAt: 2 }));
    const address = world.address(A);
    world.setWeb('shop', ['a']);
    const process = await world.start();
    process.providers.set(KEY, known(world));
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'a');
    expect(verifications(process)).toEqual([`verify/${PROVIDER}`]);
    world.setClass({ fromSecretsRef: [{ name: 'do-token' }] });
    await world.clock.advance(10 * SECOND);
    await world.stable(ref, 'a');
    expect(verifications(process)).toContain(`verify/${KEY}`);
    world.provider.cloud.moveByHand(address, null);
    await world.untilOn(address, 'a', 10 * MINUTE);
    expectSound(world);
  });

  test.each(['fails over', 'goes when it is deleted'])('while the former one is refused %s under the next leader', async (what) => {
    const world = new RoutedWorld();
    world.begins = ({ providers }) => providers.set(KEY, known(world));
    world.setClass({ fromSecretsRef: [{ name: 'do-token' }] });
    world.setNode(node('a', { createdAt: 2 }), node('b', { createdAt: 1 }));
    const address = world.address(A);
    world.setWeb('shop', ['a', 'b']);
    const process = await world.start();
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'a');
    process.kill();
    world.begins = ({ providers }) => providers.set(KEY, known(world, { listRoutedIPs: refuse }));
    world.setClass();
    if (what === 'fails over') world.cluster.setNode(node('a', { createdAt: 2, ready: false }));
    else world.cluster.markDeleting(ref);
    await world.start();
    await world.clock.runUntil(() => world.cluster.pool(ref) === null || world.holderOf(address) === 'b', 2 * MINUTE);
    expect(world.cluster.pool(ref) === null).toBe(what !== 'fails over');
    expectSound(world);
  });
});

describe('a provider that appears', () => {
  test('is asked for by its class and worked with at once, by RoutedIPs that were there before', async () => {
    const { world, ref, process } = await opened();
    expect(world.reasonOf(ref)).toBe('SecretNotFound');
    expect(process.providers.needs).toMatchObject([{ key: KEY, cloud: PROVIDER, secrets: [{ namespace: 'default', name: 'do-token' }] }]);
    expect(world.provider.calls).toEqual([]);
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    expect(verifications(process)).toEqual([`verify/${KEY}`]);
    expectSound(world);
  });

  test('says nothing about its RoutedIPs before its Secret was looked at', async () => {
    const { world, ref, process } = await opened((at) => ({ ...without(at, 'Secret default/do-token was not read'), unread: true }));
    await world.clock.advance(2 * MINUTE);
    expect(process.supervisor.records().has('rip/web/shop'), 'it was heard of').toBe(true);
    expect(world.reasonOf(ref)).not.toBe('SecretNotFound');
    process.providers.set(KEY, without(world, 'Secret default/do-token is not there'));
    // What is not served is looked for every other second.
    await world.clock.runUntil(() => world.reasonOf(ref) === 'SecretNotFound', 3 * SECOND);
    expect(messageOf(world, ref)).toContain('Secret default/do-token is not there');
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    expectSound(world);
  });

  test('after a new leader has taken over is worked with by that one', async () => {
    const { world, ref, process } = await opened();
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    process.kill();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(5 * SECOND);
    next.providers.set(KEY, known(world));
    world.cluster.setNode(node('a', { createdAt: 2, ready: false }));
    await world.stable(ref, 'b', 5 * SECOND);
    expect(verifications(next)).toEqual([`verify/${KEY}`]);
    expectSound(world);
  });
});

describe('a provider whose credentials change', () => {
  test('wakes the addresses that wait because the former ones were refused', async () => {
    const { world, ref, process } = await opened();
    process.providers.set(KEY, known(world, { assignRoutedIP: refuse }));
    await world.clock.runUntil(() => world.statusOf(ref).state === 'CoolOff', 10 * SECOND);
    await world.clock.advance(20 * SECOND);
    expect(world.statusOf(ref).state, 'it waits').toBe('CoolOff');
    expect(world.holderOf(A)).toBeNull();
    const before = world.clock.now();
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    expect(world.clock.now() - before).toBeLessThan(SECOND);
    expectSound(world);
  });

  test('is read with the new ones when the former ones were refused for that', async () => {
    const { world, ref, process } = await opened();
    let asked = 0;
    const listRoutedIPs = () => {
      asked += 1;
      return refuse();
    };
    process.providers.set(KEY, known(world, { listRoutedIPs }));
    await world.clock.advance(MINUTE);
    expect(asked).toBeGreaterThan(3);
    expect(world.assigns()).toEqual([]);
    const before = asked;
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', SECOND);
    await world.clock.advance(MINUTE);
    expect(asked, 'the former ones are not asked any more').toBe(before);
    expectSound(world);
  });

  test('tries again what was under way with the former ones when those are refused late', async () => {
    const { world, ref, process } = await opened();
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
    await world.stable(ref, 'a', 2 * SECOND);
    expectSound(world);
  });
});

describe('a provider that goes', () => {
  test('is neither called nor verified any more, and is again when it comes back', async () => {
    const { world, ref, process } = await opened();
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    process.providers.set(KEY, null);
    await world.clock.runUntil(() => verifications(process).length === 0, SECOND);
    const calls = world.provider.calls.length;
    await world.clock.advance(20 * MINUTE);
    expect(world.provider.calls.length).toBe(calls);
    expect(world.holderOf(A), 'what it held stays').toBe('a');
    process.providers.set(KEY, known(world));
    await world.stable(ref, 'a', 2 * SECOND);
    await world.clock.advance(11 * MINUTE);
    const lists = world.provider.calls.slice(calls).filter(({ verb }) => verb === 'listRoutedIPs');
    expect(lists.length).toBeGreaterThan(2);
    expectSound(world);
  });
});

describe('the account of a class', () => {
  test('shares the nodes with the other accounts of its cloud, whoever leads', async () => {
    const { world, ref, process } = await opened();
    world.cluster.setNode(node('b', { ready: false }));
    world.address(B);
    const pool = world.pool('ingress', { ips: [B] });
    process.providers.set(KEY, known(world));
    await world.clock.advance(10 * SECOND);
    const holders = () => [world.holderOf(A), world.holderOf(B)].filter((holder) => holder !== null).sort();
    expect(holders()).toEqual(['a']);
    process.kill();
    const next = await world.start();
    next.providers.set(KEY, known(world));
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(10 * SECOND);
    expect(holders()).toEqual(['a']);
    expect(world.assigns(), 'nobody tried').toHaveLength(1);
    world.cluster.setNode(node('b'));
    await world.clock.runUntil(() => holders().length === 2, 10 * SECOND);
    await world.untilStates(pool, { [B]: 'active' });
    await world.stable(ref);
    expect(world.assigns()).toHaveLength(2);
    expectSound(world);
  });

  test('is not to be had for a FloatingIPPool, be it in the same namespace', async () => {
    const { world, process } = await opened();
    process.providers.set(KEY, known(world));
    world.address(B);
    const pool = world.pool('ingress', { provider: KEY, ips: [B] });
    await world.clock.advance(MINUTE);
    expect(world.status(pool).error).toContain(`unknown provider "${KEY}"`);
    expect(world.holderOf(B)).toBeNull();
    expectSound(world);
  });
});
