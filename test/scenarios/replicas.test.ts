import { describe, expect, test } from 'vitest';
import { LEASE_MS, type ReplicaOptions, SHORT_LEASE, type Stroke, serveByFleet } from '../e2e/fleet.ts';
import { cutOffFromRedis, move, moveUntil, shown } from '../e2e/fleet-steps.ts';
import { movedFrom, staged } from '../e2e/served.ts';
import { shareOfScenarios } from '../support/extent.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

/** Where the leader ends by SIGKILL in the middle of a failover. `alone`: no other replica can take its job. */
const DEATHS: Readonly<Record<string, { readonly stroke: Stroke; readonly replicas: number; readonly alone: boolean }>> = {
  'when it has decided and nothing is queued yet': { stroke: { at: 'afterWrite', about: 'pool/' }, replicas: 3, alone: false },
  'when it is about to send the assign': { stroke: { at: 'beforeSend', about: 'assign ' }, replicas: 2, alone: true },
  'when it has sent the assign and not read the answer': { stroke: { at: 'beforeReplyRead', about: 'assign ' }, replicas: 2, alone: true },
};

/** What comes on top of the duration of a Lease until its successor decides, on a machine that is busy with much else, ms. */
const TAKEOVER_MS = 15_000;

/** So much longer than handing over takes on the busiest machine that what is quicker was not waited for it to run out. */
const LONG_LEASE: ReplicaOptions = { flags: ['--leader-elect-lease-duration=90s', '--leader-elect-renew-deadline=60s'] };
const AT_ONCE_MS = 45_000;

/** Of the time that its call may take; what a process needs to end, on a busy machine. */
const CALL_MS = 20_000;
const END_MS = 12_000;

/** Several processes of one operator on one Redis, all of which run jobs while one decides. */
describe.each(shareOfScenarios([3, 2], 2))('of %i replicas', (count) => {
  const { stage } = staged();

  // The leader lives, and those that are killed have nothing under way that is waited for.
  test('one leads, all run jobs, and those that remain do not mind when the others are killed', async () => {
    const situation = await serveByFleet(stage(), count);
    const { fleet, leader, term, ip } = situation;
    const moves = await moveUntil(situation, async () =>
      (await Promise.all(fleet.replicas.map((each) => each.jobs()))).every((n) => n > 0),
    );
    expect(stage().assigns(ip)).toHaveLength(1 + moves);
    expect(fleet.replicas.reduce((sum, each) => sum + each.assigns(), 0)).toBe(1 + moves);

    const followers = await fleet.followers();
    expect(followers).toHaveLength(count - 1);
    for (const { operator } of followers) {
      operator.kill('SIGKILL');
      expect([await operator.exited, operator.signal()]).toEqual([null, 'SIGKILL']);
    }
    await move(situation);
    expect(stage().assigns(ip)).toHaveLength(2 + moves);
    expect([await leader.leads(), await leader.figure('routedip_term')]).toEqual([true, term]);
    expect(leader.operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('another replica leads within the time of a Lease and a failover is still one assign when the leader is killed', () => {
  const { stage } = staged();

  for (const [where, { stroke, replicas, alone }] of Object.entries(DEATHS)) {
    test(where, async () => {
      const situation = await serveByFleet(stage(), replicas, { stroke, flags: MORTAL_FLAGS });
      const { fleet, leader, follower, ip, holder, term } = situation;
      if (alone) await cutOffFromRedis(situation, follower);
      leader.arm();
      await stage().notReady(holder);
      await leader.operator.exited;
      expect(leader.operator.signal()).toBe('SIGKILL');
      expect([leader.assigns() + follower.assigns(), stage().assigns(ip).length]).toEqual(
        stroke.at === 'beforeReplyRead' ? [2, 2] : [1, 1],
      );
      const diedAt = performance.now();
      follower.redis.mend();
      const next = await fleet.leader();
      expect(performance.now() - diedAt).toBeLessThan(LEASE_MS + TAKEOVER_MS);
      const now = await movedFrom(situation, holder);
      expect(stage().assigns(ip)).toEqual([
        { address: ip, node: holder },
        { address: ip, node: now },
      ]);
      await stage().until('its term is a later one', async () => (await next.figure('routedip_term')) > term);
      expect(next.operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }
});

describe('a leader that is asked to stop', () => {
  const { stage } = staged();

  test('hands over at once; while all replicas are replaced one after the other no address moves', async () => {
    const situation = await serveByFleet(stage(), 2, LONG_LEASE);
    const { fleet, ip, holder } = situation;
    const writes = stage().cloud.calls.select({ writes: true }).length;
    for (const round of [1, 2]) {
      const leader = await fleet.leader();
      const term = await leader.figure('routedip_term');
      const askedAt = performance.now();
      expect(await leader.operator.stop()).toBe(0);
      const next = await fleet.leader();
      expect(performance.now() - askedAt).toBeLessThan(AT_ONCE_MS);
      expect(await next.figure('routedip_term')).toBe(term + 1);
      await shown(situation, term + 1);
      const replacement = await fleet.start(LONG_LEASE);
      await stage().until(`the replacement ${round} is ready`, () => replacement.isReady());
    }
    expect(stage().cloud.calls.select({ writes: true }).length).toBe(writes);
    expect([stage().heldBy(ip), await stage().activeOn('ingress', ip), await stage().annotation(holder)]).toEqual([holder, holder, ip]);
    await move(situation);
    expect(stage().assigns(ip)).toHaveLength(2);
    for (const { operator } of fleet.replicas) expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('ends at once when it is asked a second time, and what it has sent is found by the next one', async () => {
    const situation = await serveByFleet(stage(), 2, { flags: [`--call-deadline=${CALL_MS}ms`, ...SHORT_LEASE] });
    const { fleet, leader, follower, ip, holder } = situation;
    await cutOffFromRedis(situation, follower);
    const hang = stage().cloud.faults.add({ kind: 'hang', applied: true, match: { method: 'POST', path: '/actions$' } });
    await stage().notReady(holder);
    await stage().until('the assign was received', () => hang.hits === 1);
    leader.operator.kill('SIGTERM');
    await stage().until('it says so', () => leader.operator.log.some(({ msg }) => String(msg).startsWith('was asked to stop')));
    // It waits for its call: this is not the end.
    await stage().until('it leads on', () => leader.leads());
    const askedAt = performance.now();
    leader.operator.kill('SIGTERM');
    expect(await leader.operator.exited).toBe(1);
    expect(performance.now() - askedAt).toBeLessThan(END_MS);
    hang.remove();
    follower.redis.mend();
    expect(await fleet.leader()).toBe(follower);
    await movedFrom(situation, holder);
    expect(stage().assigns(ip)).toHaveLength(2);
  });
});
