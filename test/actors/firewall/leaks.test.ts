import { describe, expect } from 'vitest';
import { firewallActor } from '../../../machines/model/actor-id.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const ACTOR = firewallActor(PROVIDER, FIREWALL);

/** Senders of which the firewall remembers what it heard last, as stored. */
const senders = async (world: RoutedWorld): Promise<readonly string[]> => Object.keys((await world.store.load(ACTOR))?.seen ?? {}).sort();

/** A RoutedIP that stays and keeps the firewall, and a leader. */
async function kept(world: RoutedWorld) {
  world.setClass({ routedIPReclaimPolicy: 'Delete' });
  world.setNode(node('a', { createdAt: 1 }), node('b', { createdAt: 2 }));
  world.setWeb('keep', ['a']);
  const process = await world.leader();
  const ref = world.setRoutedIP('keep');
  await world.stable(ref);
  return { process, ref };
}

/** One that comes, is served and goes. */
async function passes(world: RoutedWorld, name: string): Promise<void> {
  world.setWeb(name, ['b']);
  const ref = world.setRoutedIP(name);
  await world.stable(ref);
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
}

describe('what a firewall remembers of senders', () => {
  test('goes once they have ended, and that of others stays', async ({ open }) => {
    const world = open();
    await kept(world);
    const before = await senders(world);
    expect(before).toHaveLength(1);
    for (const name of ['one', 'two', 'three']) await passes(world, name);
    await world.clock.advance(2 * world.settings.sweepEveryMs);
    expect(await senders(world)).toEqual(before);
  });

  test('goes with the next leader when nobody led as they ended', async ({ open }) => {
    const world = open();
    const { process } = await kept(world);
    const before = await senders(world);
    world.setWeb('late', ['b']);
    const ref = world.setRoutedIP('late');
    await world.stable(ref);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    expect(await senders(world), 'nobody has swept yet').toHaveLength(2);
    await world.restart(process);
    await world.clock.advance(2 * world.settings.sweepEveryMs);
    expect(await senders(world)).toEqual(before);
  });

  test('lasts for one that comes again under its name: what it sent before is heard no more, what it sends now is', async ({ open }) => {
    const world = open();
    await kept(world);
    for (const round of [1, 2, 3]) {
      await passes(world, 'again');
      if (round === 2) await world.clock.advance(2 * world.settings.sweepEveryMs);
      expect(world.firewallRecord()?.claims).toEqual({ [`rip/web/keep/ip/${world.provider.cloud.list()[0]?.address}`]: expect.anything() });
    }
    expect(world.firewall().nodes).toHaveLength(1);
  });

  test('is written once, not with each look', async ({ open }) => {
    const world = open();
    const { process } = await kept(world);
    await passes(world, 'one');
    await world.clock.advance(2 * world.settings.sweepEveryMs);
    const turns = () => world.invariants.turns.filter(({ cell }) => cell === ACTOR).length;
    const before = turns();
    await world.clock.advance(MINUTE);
    expect(turns()).toBe(before);
    expect(process.dead).toBe(false);
  });
});

describe('the ids of commands', () => {
  test('never repeat within a term, however often an actor of the same name ends and begins', async ({ open }) => {
    const world = open();
    await kept(world);
    const ids: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const since = world.invariants.turns.length;
      await passes(world, 'again');
      const turns = world.invariants.turns.slice(since).filter(({ cell }) => cell === 'rip/web/again');
      const waited = turns.flatMap(({ transitions }) => transitions.flatMap(({ after }) => Object.values(after?.waiting ?? {})));
      ids.push(...new Set(waited.map(({ commandId }) => commandId)));
    }
    expect(ids.length).toBeGreaterThan(12);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

test('an address that a pool had is looked for on nodes for an hour, and no longer', async ({ open }) => {
  const world = open();
  const [A, B] = [world.address('203.0.113.7'), world.address('203.0.113.8')];
  world.setNode(node('a'), node('b'));
  const ref = world.pool('ingress', { ips: [A, B] });
  await world.leader();
  await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
  const shown = () => world.cluster.projections.findLast(({ ref: of }) => of.uid === ref.uid)?.addresses;
  world.pool('ingress', { ips: [A] });
  await world.clock.runUntil(() => Object.keys(world.states(ref)).length === 1, MINUTE);
  expect(shown()).toEqual(expect.arrayContaining([A, B]));
  await world.clock.advance(61 * MINUTE);
  world.setNode(node('c'));
  await world.clock.advance(2 * SECOND);
  expect(shown()).toEqual([A]);
});

test('how the store is set up is looked at each minute, and said while it is wrong', async ({ open }) => {
  const world = open();
  const { process } = await kept(world);
  expect(process.supervisor.storeHealth.notice).toBeNull();
  world.store.misconfigure([{ reason: 'EvictingPolicy', isFatal: true, message: 'drops keys' }]);
  await world.clock.advance(MINUTE);
  expect(process.supervisor.storeHealth.notice).toBe('drops keys');
  expect(process.supervisor.leading).toBe(true);
  world.store.misconfigure([]);
  await world.clock.advance(MINUTE);
  expect(process.supervisor.storeHealth.notice).toBeNull();
  const said = world.log.filter(({ fields }) => (fields as { reason?: string } | undefined)?.reason === 'EvictingPolicy');
  expect(said.map(({ level }) => level)).toEqual(['warn', 'info']);
});
