import { describe, expect } from 'vitest';
import { Refused } from '../../../actors/ports/errors.ts';
import { redisGoes, redisReturns } from '../../support/away-crash.ts';
import { node, type WorldOptions } from '../../support/world.ts';
import { NODES, one, stable } from '../crash/routed-scenarios.ts';
import { test } from '../routedip/routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND, servicePort } from '../routedip/world.ts';

const MADE = '203.0.113.1';

describe('a RoutedIP with a firewall, while Redis is away', () => {
  test('goes on to move each time its node fails, and what it left open is closed when Redis is back', async ({ open }) => {
    const world = open({ away: true });
    const ref = one()(world);
    await world.start();
    await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
    await world.clock.advance(10 * SECOND);
    redisGoes(world);
    await world.clock.advance(5 * SECOND);
    let [holder, spare] = [NODES.young, NODES.old];
    for (let move = 1; move <= 6; move += 1) {
      world.cluster.setNode({ ...holder, ready: false });
      await world.untilOn(MADE, spare.name, 30 * SECOND);
      world.cluster.setNode(holder);
      [holder, spare] = [spare, holder];
      await world.clock.advance(MINUTE);
    }
    expect(world.assigns().map(({ what }) => what.split(' → ')[1])).toEqual(['young', 'old', 'young', 'old', 'young', 'old', 'young']);
    expect(world.provider.writes().filter(({ verb }) => verb.startsWith('delete'))).toEqual([]);
    redisReturns(world);
    await world.clock.runUntil(() => stable(world, ref, 'young') && world.firewall(FIREWALL).nodes.length === 1, 2 * MINUTE);
    expect([world.firewall(), world.assigns().length]).toEqual([{ ports: ['tcp/22', 'tcp/8080'], nodes: ['digitalocean://young'] }, 7]);
  });

  test('moves although another one that shares its firewall is deleted', async ({ open }) => {
    const world = open({ away: true });
    const ref = one()(world);
    world.setNode(node('other', { createdAt: 3 }));
    world.setWeb('blog', ['other']);
    const blog = world.setRoutedIP('blog');
    await world.start();
    await world.clock.runUntil(() => stable(world, ref, 'young') && stable(world, blog, 'other'), MINUTE);
    redisGoes(world);
    await world.clock.advance(5 * SECOND);
    world.cluster.markDeleting(blog);
    await world.clock.advance(5 * SECOND);
    world.cluster.setNode({ ...NODES.young, ready: false });
    await world.untilOn(MADE, 'old', MINUTE);
    redisReturns(world);
    await world.clock.runUntil(() => stable(world, ref, 'old') && world.cluster.pool(blog) === null, 2 * MINUTE);
  });

  test('what was opened by a process that ends then stands in a status, by which the next leader closes it', async ({ open }) => {
    const { world, process, ref } = await withoutRedis(open);
    world.setWeb('shop', ['old', 'young'], { ports: [servicePort(9090)] });
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    process.kill();
    world.setWeb('shop', ['old', 'young']);
    redisReturns(world);
    await world.start();
    await world.clock.runUntil(() => stable(world, ref, 'young'), 2 * MINUTE);
    await world.clock.advance(2 * MINUTE);
    expect([world.firewall().ports, world.rules.wrongs()]).toEqual([['tcp/22', 'tcp/8080'], []]);
  });

  test('what was open for one that was made again without Redis and needs nothing there any more is closed when Redis is back', async ({
    open,
  }) => {
    const { world, process, ref } = await withoutRedis(open);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    process.kill();
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    world.cluster.markDeleting(ref);
    world.cluster.removePool(ref);
    world.setWeb('shop', ['old', 'young'], { ports: [] });
    const again = world.setRoutedIP('shop', { routedIP: MADE });
    await world.start();
    await world.clock.runUntil(() => world.statusOf(again).state === 'Stable', 2 * MINUTE);
    redisReturns(world);
    await world.clock.runUntil(() => world.firewall().nodes.length === 0, 10 * MINUTE);
    expect(world.firewall().ports).toEqual(['tcp/22']);
  });

  test('nothing is opened while no status can be written', async ({ open }) => {
    const { world, ref } = await withoutRedis(open);
    world.cluster.failWrites();
    world.setWeb('shop', ['old', 'young'], { ports: [servicePort(8080), servicePort(9090)] });
    await world.clock.advance(MINUTE);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    world.cluster.mendWrites();
    await world.clock.runUntil(() => stable(world, ref, 'young') && world.firewall().ports.includes('tcp/9090'), 2 * SECOND);
  });

  test('one whose status the API server refuses keeps no other that shares its firewall waiting', async ({ open }) => {
    const { world, process, ref } = await withoutRedis(open);
    world.setNode(node('other', { createdAt: 3 }));
    world.setWeb('blog', ['other'], { ports: [servicePort(7070)] });
    const { written } = process.cluster;
    const refuses = process.cluster as { written: typeof written };
    refuses.written = (of) => (of.name === 'blog' ? Promise.reject(new Refused('it is not valid')) : written(of));
    const blog = world.setRoutedIP('blog', { routedIP: world.address('203.0.113.9') });
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/7070'), MINUTE);
    world.setWeb('shop', ['old', 'young'], { ports: [servicePort(8080), servicePort(9090)] });
    await world.clock.runUntil(() => stable(world, ref, 'young') && world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    expect(world.statusOf(blog).assignedNode).toBeUndefined();
  });
});

/** A RoutedIP that was served before Redis went. */
async function withoutRedis(open: (options: WorldOptions) => RoutedWorld) {
  const world = open({ away: true });
  const ref = one()(world);
  const process = await world.start();
  await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
  await world.clock.advance(10 * SECOND);
  redisGoes(world);
  await world.clock.advance(5 * SECOND);
  return { world, process, ref };
}
