import { describe, expect } from 'vitest';
import { redisGoes, redisReturns } from '../support/away-crash.ts';
import { node } from '../support/world.ts';
import { NODES, one, stable } from './routed-crash-scenarios.ts';
import { test } from './routed-test.ts';
import { FIREWALL, MINUTE, SECOND, servicePort } from './routed-world.ts';

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

  test.for([
    { what: 'and that stands in a status is closed by the next leader', isWritten: true, unknown: [] },
    {
      what: 'and that stands in no status, since none could be written, nobody knows of any more',
      isWritten: false,
      unknown: ['tcp/9090'],
    },
  ])('what was opened by a process that ends then $what', async ({ isWritten, unknown }, { open }) => {
    const world = open({ away: true });
    const ref = one()(world);
    const process = await world.start();
    await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
    await world.clock.advance(10 * SECOND);
    redisGoes(world);
    await world.clock.advance(5 * SECOND);
    if (!isWritten) world.cluster.failWrites();
    world.setWeb('shop', ['old', 'young'], { ports: [servicePort(9090)] });
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    await world.clock.advance(MINUTE);
    process.kill();
    world.setWeb('shop', ['old', 'young']);
    world.cluster.mendWrites();
    redisReturns(world);
    await world.start();
    await world.clock.runUntil(() => stable(world, ref, 'young'), 2 * MINUTE);
    await world.clock.advance(2 * MINUTE);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080', ...unknown]);
    expect([world.rules.firewalls.unknownIn(FIREWALL), world.rules.wrongs()]).toEqual([unknown, []]);
  });
});
