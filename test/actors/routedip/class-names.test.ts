import { describe, expect } from 'vitest';
import { ObservedPolicies } from '../../../actors/controllers/class-cache.ts';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.7';

async function ready(world: RoutedWorld) {
  world.setNode(node('old', { createdAt: 1 }), node('young', { createdAt: 2 }));
  for (const name of ['shop', 'other']) world.setWeb(name, ['old', 'young']);
  return world.leader();
}

const classOf = (world: RoutedWorld, ref: Parameters<RoutedWorld['statusOf']>[0]): unknown =>
  (world.statusOf(ref).class as { readonly name?: string } | undefined)?.name;
const wipe = (world: RoutedWorld): void => {
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
};

describe('two classes with one implementation', () => {
  test('are both had by their names, are both ready, and say that they share a className', async ({ open }) => {
    const world = open();
    const [nyc, fra] = [world.setClass({}, 'nyc'), world.setClass({ region: 'nyc3', routedIPFirewallName: '' }, 'fra')];
    await ready(world);
    const [shop, other] = [world.setRoutedIP('shop', { className: 'nyc' }), world.setRoutedIP('other', { className: 'fra' })];
    await world.stable(shop);
    await world.stable(other);
    expect([classOf(world, shop), classOf(world, other)]).toEqual(['nyc', 'fra']);
    expect([world.reasonOf(shop, 'FirewallReady'), world.reasonOf(other, 'FirewallReady')]).toEqual(['FirewallOpened', 'NoFirewall']);
    await world.clock.advance(SECOND);
    expect([nyc, fra].map((ref) => [world.reasonOf(ref), world.reasonOf(ref, 'Conflict')])).toEqual([
      ['AsExpected', 'Conflict'],
      ['AsExpected', 'Conflict'],
    ]);
    expect(world.messageOf(fra, 'Conflict')).toContain('className: fra');
    world.cluster.removePolicy(nyc);
    await world.clock.runUntil(() => world.reasonOf(fra, 'Conflict') === '', SECOND);
  });

  test('leave who names the className to say which one he means; nothing is asked of the provider until he does', async ({ open }) => {
    const world = open();
    for (const name of ['nyc', 'fra']) world.setClass({}, name);
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'ClassAmbiguous', 'Ready', SECOND);
    await world.clock.advance(10 * MINUTE);
    expect(world.statusOf(ref).error).toBe(
      `several ClusterRoutedIPClasses have the className "${CLASS_NAME}": name one of them as className: fra, nyc`,
    );
    expect([world.eventsOf(ref), world.provider.calls]).toEqual([['ClassAmbiguous'], []]);
    world.setRoutedIP('shop', { className: 'nyc' });
    await world.stable(ref, 'young', 5 * SECOND);
    expect(classOf(world, ref)).toBe('nyc');
  });

  test('are one again when the other goes: whoever waited is served at once', async ({ open }) => {
    const world = open();
    const [nyc] = [world.setClass({}, 'nyc'), world.setClass({}, 'fra')];
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'ClassAmbiguous');
    world.cluster.removePolicy(nyc);
    await world.stable(ref, 'young', 5 * SECOND);
    expect(classOf(world, ref)).toBe('fra');
  });
});

describe('a RoutedIP that is served', () => {
  /** What comes, which a RoutedIP that came now would take for its class, or for none. */
  const added: readonly (readonly [string, string, (world: RoutedWorld) => unknown, string])[] = [
    [
      'another class with the className that it names',
      CLASS_NAME,
      (world) => world.setClass({ routedIPFirewallName: '' }, 'a-newer'),
      'ClassAmbiguous',
    ],
    [
      'a class whose className is the name that it names',
      'floating',
      (world) => world.setClass({ className: 'floating', updateRoutedIP: { template: {} } }, 'thief'),
      'InvalidSpec',
    ],
  ];

  test.for(added)(
    'stays with its class when there comes %s, also after restarts and without records',
    async ([, className, come, reason], { open }) => {
      const world = open();
      world.setClass();
      world.address(A);
      let process = await ready(world);
      const ref = world.setRoutedIP('shop', { className, routedIP: A });
      await world.stable(ref, 'young');
      come(world);
      const late = world.setRoutedIP('other', { className });
      await world.untilReason(late, reason, 'Ready', 5 * SECOND);
      for (const loses of [() => {}, wipe]) {
        const writes = world.changes().length;
        process.kill();
        loses(world);
        process = await world.start();
        await world.clock.runUntil(() => process.supervisor.leading, MINUTE);
        await world.clock.advance(MINUTE);
        expect([classOf(world, ref), world.reasonOf(ref), world.changes().length]).toEqual(['floating', 'Assigned', writes]);
      }
      // It fails over by it, too.
      world.cluster.setNode(node('young', { createdAt: 2, ready: false }));
      await world.stable(ref, 'old');
      expect([classOf(world, ref), world.firewall().nodes.length]).toEqual(['floating', 1]);
    },
  );

  test('and waits for its first node stays with its class as well, while whoever decided so leads on', async ({ open }) => {
    const world = open();
    world.setClass();
    await world.leader();
    const ref = world.setRoutedIP('shop');
    world.setWeb('shop', []);
    await world.clock.advance(SECOND);
    world.setClass({ routedIPFirewallName: '' }, 'a-newer');
    await world.clock.advance(SECOND);
    world.setNode(node('young', { createdAt: 2 }));
    world.setWeb('shop', ['young']);
    await world.stable(ref, 'young');
    expect(classOf(world, ref)).toBe('floating');
  });

  test('goes to the class that it names from now on, and says so if that is one of several', async ({ open }) => {
    const world = open();
    for (const name of ['nyc', 'fra']) world.setClass(name === 'fra' ? { routedIPFirewallName: '' } : {}, name);
    world.address(A);
    await ready(world);
    const ref = world.setRoutedIP('shop', { className: 'nyc', routedIP: A });
    await world.stable(ref, 'young');
    // The same class by its other name.
    world.setRoutedIP('shop', { className: CLASS_NAME, routedIP: A });
    await world.clock.advance(MINUTE);
    expect([classOf(world, ref), world.reasonOf(ref)]).toEqual(['nyc', 'Assigned']);
    world.setRoutedIP('shop', { className: 'fra', routedIP: A });
    await world.clock.runUntil(() => classOf(world, ref) === 'fra', 5 * SECOND);
    await world.untilReason(ref, 'NoFirewall', 'FirewallReady');
    expect(world.holderOf(A)).toBe('young');
  });
});

test('a class that nobody can name says so, and is not ready', async ({ open }) => {
  const world = open();
  world.setClass({}, 'nyc');
  const fra = world.setClass({}, 'fra');
  world.setClass({ className: 'fra' }, 'other');
  await ready(world);
  await world.untilReason(fra, 'Conflict', 'Ready', 5 * SECOND);
  expect(world.messageOf(fra)).toMatch(/no RoutedIP can name this one/);
});

test.for([
  ['no class', 'nobody', 'ClassNotFound'],
  ['several', 'edge', 'ClassAmbiguous'],
] as const)(
  'a RoutedIP that came to name %s is let go by the class by which it has its address, without records, too',
  async ([, className, reason], { open }) => {
    const world = open();
    world.setClass({}, 'nyc');
    for (const name of ['x', 'y']) world.setClass({ className: 'edge' }, name);
    const process = await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    world.setRoutedIP('shop', { className });
    await world.untilReason(ref, reason);
    process.kill();
    wipe(world);
    world.cluster.markDeleting(ref);
    await world.start();
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 3 * MINUTE);
    expect([world.firewall().nodes, world.provider.cloud.addresses().length]).toEqual([[], 1]);
  },
);

test('a class that is being deleted leaves its className to the one that stays, and keeps who is served', () => {
  const policies = new ObservedPolicies('default', undefined, undefined, ({ ref: { name } }) =>
    name === 'served' ? { kind: 'ClusterRoutedIPClass', name: 'nyc' } : null,
  );
  const object = (kind: string, name: string, spec: PoolObject['spec']): PoolObject => ({
    ...{ ref: { kind, namespace: '', name, uid: name }, generation: 1, createdAt: 0, deleting: false, spec, status: {} },
  });
  const [nyc, fra] = ['nyc', 'fra'].map((name) => object('ClusterRoutedIPClass', name, { className: CLASS_NAME }));
  if (!nyc || !fra) throw new Error('there are two');
  const [served, fresh] = ['served', 'fresh'].map((name) => object('RoutedIP', name, { className: CLASS_NAME }));
  const has = (): unknown => [served, fresh].map((each) => each && policies.factOf(each).policy?.name);
  for (const policy of [nyc, fra]) policies.put(policy);
  expect([has(), policies.conflictOf(fra) !== null]).toEqual([['nyc', undefined], true]);
  expect(policies.put({ ...nyc, deleting: true }), 'that is news').toBe(true);
  expect([has(), policies.conflictOf(fra)]).toEqual([['nyc', 'fra'], null]);
});
