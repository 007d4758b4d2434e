import { describe, expect } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import { aways } from '../../support/away-crash.ts';
import { refuseCalls, withoutHands } from '../../support/replicas.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { OperatorProcess, World } from '../../support/world.ts';

const A = '203.0.113.207';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Calls last shorter than the Lease: what is in doubt by its own time is settled before others have to know of a new term. */
const DEADLINE = { callDeadlineMs: 5 * SECOND };

/** One leads, and another one, or two, run its jobs. */
const serving = async (world: World, follow: () => Promise<readonly OperatorProcess[]>) => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a' } });
  const moment: { saved: () => void } = { saved: () => undefined };
  const noticed = (point: KillPoint) => {
    if (point === 'afterWrite') moment.saved();
    return false;
  };
  const first = await withoutHands(world, () => world.start(noticed));
  const followers = await follow();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.advance(20 * SECOND);
  expect(first.supervisor.leading).toBe(true);
  return { ref, first, followers, moment };
};

/** As soon as the failover is saved in Redis nobody who is there reaches the records: its job waits in the queue. */
const holdsUp = (moment: { saved: () => void }, ...processes: readonly OperatorProcess[]): void => {
  moment.saved = () => {
    for (const { store } of processes) store.cut();
  };
};

/** The next assign gets through, and takes effect this much later, just before its call would be given up. */
const takesEffectLate = (world: World, ms: number): void =>
  world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: ms });

describe('an assign that another process takes from Redis and sends late', () => {
  test('meets no other one of a leader that has gone on in memory', async ({ open }) => {
    const world = open({ away: true, settings: DEADLINE });
    const { first, followers, moment } = await serving(world, async () => [await world.start()]);
    const [second] = followers as [OperatorProcess];
    holdsUp(moment, first, second);
    lose(world, 'a');
    await world.clock.advance(500);
    // It has seen the Lease renewed, and sees no term after that.
    second.lease.cut();
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    await world.clock.advance(9 * SECOND);
    expect(world.assigns()).toEqual([]);
    takesEffectLate(world, 4 * SECOND);
    second.store.mend();
    await untilAssigns(world, 1, 2 * SECOND);
    const [sent] = world.assigns();
    lose(world, 'b');
    lose(world, 'c');
    await world.untilOn(A, 'd', MINUTE);
    await world.clock.advance(MINUTE);
    expect([sent?.what, world.holderOf(A), first.supervisor.term > 1]).toEqual([expect.not.stringContaining('d'), 'd', true]);
    expect(world.assigns().filter(({ what }) => what === `${A} → d`)).toHaveLength(1);
  });

  test('meets no other one of a leader that has nothing but the status to go by', async ({ open }) => {
    const world = open({ away: true, settings: DEADLINE });
    const others: OperatorProcess[] = [];
    const { first, followers, moment } = await serving(world, async () => {
      const { contender } = world.lease;
      world.lease.contender = (name) => {
        const lease = contender(name);
        // One more has seen that the Lease is held again, and sees no term after that.
        const writeTerm = (term: number, server: string | null): Promise<void> => {
          for (const other of others) other.lease.cut();
          return lease.writeTerm(term, server);
        };
        return { ...lease, writeTerm };
      };
      const second = await withoutHands(world, () => world.start());
      world.lease.contender = contender;
      return [second, await world.start()];
    });
    const [second, third] = followers as [OperatorProcess, OperatorProcess];
    others.push(third);
    // What the status says is what was true before the failover.
    world.cluster.lag();
    holdsUp(moment, first, second, third);
    lose(world, 'a');
    await world.clock.advance(500);
    first.kill();
    await world.clock.runUntil(() => aways(world) === 1, MINUTE);
    await world.clock.advance(12 * SECOND);
    expect(world.assigns()).toEqual([]);
    takesEffectLate(world, 4 * SECOND);
    third.store.mend();
    await untilAssigns(world, 1, 2 * SECOND);
    const [sent] = world.assigns();
    lose(world, 'b');
    lose(world, 'c');
    world.cluster.catchUp();
    await world.untilOn(A, 'd', 2 * MINUTE);
    await world.clock.advance(MINUTE);
    expect([sent?.what, world.holderOf(A), second.supervisor.leading]).toEqual([expect.not.stringContaining('d'), 'd', true]);
  });
});

describe('an assign that another process takes from Redis in the moment in which it is back for the leader', () => {
  for (const call of [null, 'openTerm', 'resetClaims'] as const)
    test(`is found by whoever carries out what the leader decides then, and is not sent again, the store going again at ${call}`, async ({
      open,
    }) => {
      const world = open({ away: true, settings: DEADLINE, provider: { deadlineMs: 5 * SECOND } });
      const refusals = call && refuseCalls(world, call);
      const { ref, first, followers, moment } = await serving(world, async () => [await world.start()]);
      const [second] = followers as [OperatorProcess];
      holdsUp(moment, first, second);
      lose(world, 'a');
      await world.clock.advance(500);
      // It sees no term after that.
      second.lease.cut();
      await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
      moment.saved = () => undefined;
      // The leader cannot find out where the address is, and is about to try again when Redis is back.
      world.provider.faults.always('findRoutedIP', { kind: 'refuse', error: 'Unavailable' });
      await world.clock.advance(6 * SECOND);
      expect(world.assigns()).toEqual([]);
      if (refusals) refusals.left = 1;
      first.store.mend();
      await world.clock.advance(1_500);
      takesEffectLate(world, 4_900);
      second.store.mend();
      await untilAssigns(world, 1, SECOND);
      await world.clock.runUntil(() => world.log.some(({ message }) => message === 'the store is back'), 2 * SECOND);
      world.provider.faults.clear();
      second.lease.mend();
      await world.untilStates(ref, { [A]: 'active' }, MINUTE);
      await world.clock.advance(MINUTE);
      expect(world.assigns()).toHaveLength(1);
    });
});

describe('a process that wrote a term on the Lease, and then Redis was gone', () => {
  test('does not take the records for out of date: nobody has decided under it', async ({ open }) => {
    const world = open({ away: true });
    const { ref, first } = await serving(world, async () => [await world.start()]);
    const refusals = refuseCalls(world, 'openTerm');
    for (const process of world.processes) process.kill();
    const second = await world.start();
    expect(first.dead).toBe(true);
    refusals.left = 2;
    await world.clock.runUntil(() => second.supervisor.leading, MINUTE);
    await world.untilStates(ref, { [A]: 'active' });
    const rebuilt = world.log.filter(({ message }) => message === 'the stored records are out of date, and are rebuilt from what is shown');
    expect([refusals.left, second.supervisor.term, rebuilt]).toEqual([0, 4, []]);
  });
});
