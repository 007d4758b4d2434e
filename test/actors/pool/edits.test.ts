import { describe, expect } from 'vitest';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Address } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const C = '203.0.113.9' as Address;

/** A pool whose addresses sit on the nodes named. */
const serving = async (world: World, held: Readonly<Record<string, string>>, spec: { readonly desiredIPs?: number } = {}) => {
  world.nodes(...Object.values(held).map((name) => node(name)));
  for (const [address, name] of Object.entries(held)) world.address(address, name);
  const ref = world.pool('ingress', { ips: Object.keys(held), ...spec });
  await world.start();
  const desired = spec.desiredIPs ?? Object.keys(held).length;
  await world.untilStates(
    ref,
    Object.fromEntries(Object.keys(held).map((address, index) => [address, index < desired ? 'active' : 'disabled'])),
  );
  return ref;
};

describe('an edit of a pool', () => {
  test('that removes an address leaves it where it is, and takes its annotation off', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    world.pool('ingress', { ips: [A] });
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(60_000);
    expect(world.holderOf(B)).toBe('b');
    expect(world.cluster.annotations()).toEqual({ a: A });
    expect(world.provider.writes()).toEqual([]);
  });

  test('that removes an address and names it again takes it over where it is, each time', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    for (let round = 0; round < 3; round += 1) {
      world.pool('ingress', { ips: [A] });
      await world.untilStates(ref, { [A]: 'active' });
      world.pool('ingress', { ips: [A, B] });
      await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    }
    expect(world.provider.writes()).toEqual([]);
  });

  test('that removes an address and names it again serves it, also when it was assigned by us at first', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    world.pool('ingress', { ips: [A] });
    await world.untilStates(ref, { [A]: 'active' });
    world.pool('ingress', { ips: [A, B] });
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect(world.assigns()).toHaveLength(2);
  });

  test('that replaces an address while no node is spare takes the old one off first, and says so', async ({ open }) => {
    const world = open({ provider: { actionMs: 1_000 } });
    const ref = await serving(world, { [A]: 'a', [C]: 'c' });
    world.address(B);
    world.pool('ingress', { ips: [B, C] });
    await world.untilStates(ref, { [B]: 'active', [C]: 'active' }, 10_000);
    expect([world.holderOf(A), world.holderOf(B), world.holderOf(C)]).toEqual([null, 'a', 'c']);
    expect(world.provider.writes().map(({ verb, result }) => `${verb} ${result}`)).toEqual([
      'assignRoutedIP NodeInUse',
      'unassignRoutedIP ok',
      'assignRoutedIP ok',
    ]);
    expect(world.cluster.announced.map(({ event }) => event.message)).toEqual([
      `${A} leaves a to make room for ${B}: no object lists it any more`,
    ]);
  });

  test('that replaces an address while a node is spare leaves the old one where it is', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' });
    world.nodes(node('b'));
    world.address(B);
    world.pool('ingress', { ips: [B] });
    await world.untilStates(ref, { [B]: 'active' });
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['a', 'b']);
    expect(world.provider.writes().map(({ verb }) => verb)).toEqual(['assignRoutedIP']);
  });

  test('that replaces an address which somebody has deleted at the provider serves the new one', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' });
    world.address(B);
    world.provider.cloud.removeByHand(A);
    world.pool('ingress', { ips: [B] });
    await world.untilStates(ref, { [B]: 'active' }, 5_000);
  });

  const fails: Readonly<Record<string, Fault>> = {
    'is answered by 500': { kind: 'refuse', error: 'Unavailable' },
    'is not answered, but done': { kind: 'loseReply' },
    'is done 10 s later': { kind: 'hang', effectAfterMs: 10_000 },
    'has to wait for a limit': { kind: 'refuse', error: 'RateLimited', retryAfterMs: 5_000 },
  };
  for (const [how, fault] of Object.entries(fails)) {
    test(`that replaces an address whose unassign ${how} serves the new one once that is done`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { [A]: 'a' });
      world.address(B);
      world.provider.faults.next('unassignRoutedIP', fault);
      world.pool('ingress', { ips: [B] });
      await world.untilStates(ref, { [B]: 'active' }, 60_000);
      expect([world.holderOf(A), world.holderOf(B)]).toEqual([null, 'a']);
    });
  }

  test('that replaces an address which is listed again meanwhile serves what is listed then', async ({ open }) => {
    const world = open({ provider: { actionMs: 1_000 } });
    const ref = await serving(world, { [A]: 'a' });
    world.address(B);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(300);
    world.pool('ingress', { ips: [A] });
    await world.untilStates(ref, { [A]: 'active' }, 10_000);
    expect(world.holderOf(A)).toBe('a');
  });

  test('that removes an address, and names another one later, takes the old one off then', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [C]: 'c' });
    world.address(B);
    world.pool('ingress', { ips: [C] });
    await world.untilStates(ref, { [C]: 'active' });
    await world.clock.advance(20_000);
    expect(world.holderOf(A)).toBe('a');
    world.pool('ingress', { ips: [B, C] });
    await world.untilStates(ref, { [B]: 'active', [C]: 'active' }, 10_000);
    expect([world.holderOf(A), world.holderOf(B)]).toEqual([null, 'a']);
  });

  test('that changes the order of the addresses moves nothing', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    world.pool('ingress', { ips: [B, A] });
    await world.clock.advance(60_000);
    expect(world.states(ref)).toEqual({ [A]: 'active', [B]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });

  test('that changes the tolerations counts at once', async ({ open }) => {
    const world = open();
    const taints = [{ key: 'maintenance', effect: 'NoSchedule' }];
    world.nodes(node('a', { taints }));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'unassigned' });
    world.pool('ingress', { ips: [A], match: { nodeLabel: 'pool=work', tolerations: [{ key: 'maintenance', operator: 'Exists' }] } });
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
  });

  test('that changes the selector moves only what does not match any more', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    world.nodes(node('c', { labels: { pool: 'edge' } }), node('a', { labels: { pool: 'work', edge: 'yes' } }));
    world.pool('ingress', { ips: [A, B], match: { nodeLabel: 'pool in (work,edge),pool!=none,edge!=no', podLabel: '' } });
    await world.clock.advance(10_000);
    expect(world.provider.writes()).toEqual([]);
    world.pool('ingress', { ips: [A, B], match: { nodeLabel: 'pool=edge' } });
    await world.untilOn(A, 'c', 5_000);
    await world.untilStates(ref, { [A]: 'active', [B]: 'no-match' });
    expect(world.holderOf(B)).toBe('b');
  });
});

describe('desiredIPs', () => {
  test('below the number of addresses disables the rest, and does not touch them', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' }, { desiredIPs: 1 });
    await world.clock.advance(60_000);
    expect(world.states(ref)).toEqual({ [A]: 'active', [B]: 'disabled' });
    expect(world.holderOf(B)).toBe('b');
    expect(world.provider.writes()).toEqual([]);
    expect(world.cluster.annotations()).toEqual({ a: A });
  });

  test('lowered from two to one, then a failover: the address goes to a free node, not to that of the disabled one', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    world.pool('ingress', { ips: [A, B], desiredIPs: 1 });
    await world.untilStates(ref, { [A]: 'active', [B]: 'disabled' });
    world.nodes(node('c'));
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'c', 1_000);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`]);
  });

  test('raised again takes the disabled address over where it is', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' }, { desiredIPs: 1 });
    world.pool('ingress', { ips: [A, B], desiredIPs: 2 });
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });
});

describe('a spec that is not valid', () => {
  test('stops the pool with what is assigned in place, and a valid one goes on', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' });
    world.nodes(node('b'));
    world.pool('ingress', { ips: [A], match: { nodeLabel: 'pool in (' } });
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 5_000);
    expect(world.status(ref).error).toMatch(/^Error parsing node selector: /);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(30_000);
    expect(world.holderOf(A)).toBe('a');
    world.pool('ingress', { ips: [A] });
    await world.untilOn(A, 'b', 2_000);
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.status(ref)).not.toHaveProperty('error');
  });

  test('from the beginning says what is wrong, without a provider', async ({ open }) => {
    const world = open();
    const ref = world.pool('ingress', { provider: 'aws', ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 5_000);
    expect(world.status(ref).error).toBe('unknown provider "aws"');
  });

  test('that is mended starts the pool', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { provider: 'aws', ips: [A] });
    await world.start();
    await world.clock.advance(5_000);
    world.pool('ingress', { ips: [A] });
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('lets an assign that is under way end', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    const ref = await serving(world, { [A]: 'a' });
    world.nodes(node('b'));
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    world.pool('ingress', { ips: [A], match: { nodeLabel: 'pool in (' } });
    await world.untilOn(A, 'b', 10_000);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('because credentials are missing goes on when they are there', async ({ open }) => {
    const world = open({ facts: { missing: 'set DIGITALOCEAN_ACCESS_TOKEN' } });
    world.nodes(node('a'));
    world.address(C);
    const ref = world.pool('ingress', { ips: [C] });
    const process = await world.start();
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 5_000);
    expect(world.status(ref).error).toContain('set DIGITALOCEAN_ACCESS_TOKEN');
    expect(world.provider.writes()).toEqual([]);
    await process.stop();
  });
});
