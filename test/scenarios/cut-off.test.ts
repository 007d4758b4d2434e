import { describe, expect, onTestFinished, test } from 'vitest';
import type { KillPoint } from '../../actors/ports/observers.ts';
import { type Replica, SHORT_LEASE, serveByFleet } from '../e2e/fleet.ts';
import { cutOffFromRedis, follows, move, shownAfter, standsStillIn, takesTurns } from '../e2e/fleet-steps.ts';
import { movedFrom, staged } from '../e2e/served.ts';
import type { Stage } from '../e2e/stage.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';
import { isStopped } from '../support/processes.ts';
import type { TcpProxy } from '../support/proxy.ts';
import { type ScriptRun, watchScripts } from '../support/redis-watch.ts';

/** One replica stands still or cannot reach something, while the others can. */
describe('a leader that stands still until another one leads', () => {
  const { stage } = staged();

  for (const [where, { at, isLate }] of Object.entries(TURNS)) {
    test(`${where}: it changes nothing any more when it goes on, and follows`, async () => {
      const situation = await serveByFleet(stage(), 2, { stroke: { at, about: 'pool/', by: 'SIGSTOP' }, flags: STANDING });
      const { fleet, leader, follower, ip, holder, term } = situation;
      leader.arm();
      await stage().notReady(holder);
      await stage().until('the leader stands still', () => isStopped(leader.operator.pid));
      const now = await movedFrom(situation, holder);
      await stage().until('the other one leads', () => follower.leads());
      await shownAfter(situation, term);

      const scripts = await watchScripts(stage().redis.url);
      onTestFinished(() => scripts.close());
      const before = await told(stage());
      leader.operator.kill('SIGCONT');
      if (isLate) await stage().until('its write reaches Redis', () => scripts.runs.some((run) => run.term <= term));
      else await stage().until('its job is not sent', () => fleet.replicas.some(hasHeldBack));
      await follows(situation, leader);
      expect(scripts.runs.filter((run) => run.term <= term && run.wrote)).toEqual([]);
      expect(await told(stage())).toEqual(before);
      expect([stage().heldBy(ip), stage().assigns(ip).length]).toEqual([now, 2]);
      await takesTurns(situation, follower, leader);
      expect(scripts.runs.some((run) => run.term > term && run.wrote)).toBe(true);
    });
  }

  test('after it has sent an assign: the other one finds it, and nobody sends it again', async () => {
    const situation = await serveByFleet(stage(), 2, {
      stroke: { at: 'beforeReplyRead', about: 'assign ', by: 'SIGSTOP' },
      flags: STANDING,
    });
    const { leader, follower, ip, holder, term } = situation;
    await cutOffFromRedis(situation, follower);
    leader.arm();
    await stage().notReady(holder);
    await stage().until('the leader stands still', () => isStopped(leader.operator.pid));
    expect([leader.assigns() + follower.assigns(), stage().assigns(ip).length]).toEqual([2, 2]);
    follower.redis.mend();
    const now = await movedFrom(situation, holder);
    await stage().until('the other one leads', () => follower.leads());
    await shownAfter(situation, term);
    leader.operator.kill('SIGCONT');
    await follows(situation, leader);
    expect([stage().heldBy(ip), stage().assigns(ip).length]).toEqual([now, 2]);
    await takesTurns(situation, follower, leader);
  });
});

describe('an API server that cannot be reached', () => {
  const { stage } = staged();

  test('by the leader: another one leads, its status comes too late and so does what it decides, and it follows once it can', async () => {
    const situation = await serveByFleet(stage(), 3);
    const { fleet, leader, ip, holder, term } = situation;
    const scripts = await watchScripts(stage().redis.url);
    onTestFinished(() => scripts.close());
    const known = await leader.figure(ASSIGNMENTS);
    const slow = stage().cloud.faults.add({ kind: 'slowAction', ms: 2_000, match: { method: 'POST', path: '/actions$' } });
    await stage().notReady(holder);
    await stage().until('the assign was received', () => stage().assigns(ip).length === 2);
    leader.api.hold();
    slow.remove();
    await stage().until('the leader knows that it is done', async () => (await leader.figure(ASSIGNMENTS)) === known + 1);
    expect(stage().heldBy(ip)).not.toBe(holder);
    expect(await stage().activeOn('ingress', ip)).not.toBe(stage().heldBy(ip));
    const now = await movedFrom(situation, holder);
    expect(stage().assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
    const next = await fleet.leader();
    expect(next).not.toBe(leader);
    await stage().until('the leader has given up', () => hasGivenUp(leader));
    await move(situation);
    await shownAfter(situation, term);
    const before = await told(stage());
    leader.api.mend();
    await follows(situation, leader);
    expect(await told(stage())).toEqual(before);
    expect(await fleet.leader()).toBe(next);
    await move(situation);
    expectNothingLate(scripts.runs, term);
  });

  test('by one that follows, and slowly by the leader: it is all the same', async () => {
    const situation = await serveByFleet(stage(), 2);
    const { leader, follower, term } = situation;
    follower.api.cut();
    leader.api.delay(100);
    await stage().until('it is noticed', () => follower.operator.log.some(({ msg }) => msg === 'the lease was not read'));
    await move(situation);
    expect([await leader.leads(), await leader.figure('routedip_term')]).toEqual([true, term]);
    follower.api.mend();
    leader.api.mend();
    await stage().until('the follower is ready', () => follower.isReady());
    await takesTurns(situation, leader, follower);
  });
});

describe('a Redis that cannot be reached', () => {
  const { stage } = staged();

  for (const [how, { cutOff, isLate }] of Object.entries(CUTS)) {
    test(`by the leader, since ${how}: it makes room for another one, nothing that it writes too late is taken, and it follows`, async () => {
      const situation = await serveByFleet(stage(), 2, { flags: MORTAL_FLAGS });
      const { leader, follower, ip, holder, term } = situation;
      const scripts = await watchScripts(stage().redis.url);
      onTestFinished(() => scripts.close());
      cutOff(leader.redis);
      await stage().notReady(holder);
      // Moved by the leader, from its memory, or by the one that it makes room for.
      const now = await movedFrom(situation, holder);
      await stage().until('the other one leads, alone', async () => (await follower.leads()) && !(await leader.leads()));
      expect(stage().assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
      await stage().until('the former one has said so', () => hasGivenUp(leader));
      await shownAfter(situation, term);
      leader.redis.mend();
      await follows(situation, leader);
      await takesTurns(situation, follower, leader);
      const late = expectNothingLate(scripts.runs, term);
      if (isLate) expect(late).not.toEqual([]);
    });

    test(`by one that follows, since ${how}: the job in which it has sent an assign is ended by another one, without a second assign`, async () => {
      const situation = await serveByFleet(stage(), 2, {
        stroke: { at: 'beforeReplyRead', about: 'assign ', by: 'SIGSTOP' },
        flags: SHORT_LOCKS,
      });
      const { leader, follower, ip, term } = situation;
      follower.arm();
      const from = await standsStillIn(situation, follower);
      const sent = stage().assigns(ip).length;
      cutOff(follower.redis);
      follower.operator.kill('SIGCONT');
      await movedFrom(situation, from);
      expect(stage().assigns(ip)).toHaveLength(sent);
      await move(situation);
      expect([await leader.leads(), await leader.figure('routedip_term')]).toEqual([true, term]);
      follower.redis.mend();
      await stage().until('the follower is ready', () => follower.isReady());
      await takesTurns(situation, leader, follower);
      expect(follower.operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }
});

/** A leader that lost its Lease on the way would be stopped in its takeover instead, in which it sends nothing. */
const STANDING: readonly string[] = [...MORTAL_FLAGS, ...SHORT_LEASE];

/** Where in a turn; `isLate`: what it wanted to save reaches Redis when it goes on. Else it is what it has decided that comes too late. */
const TURNS: Readonly<Record<string, { readonly at: KillPoint; readonly isLate: boolean }>> = {
  'before its turn is saved': { at: 'beforeWrite', isLate: true },
  'after its turn is saved': { at: 'afterWrite', isLate: false },
};

const hasHeldBack = ({ operator }: Replica): boolean =>
  operator.log.some(({ msg, jobName }) => msg === 'a job was not sent' && jobName === 'assign');

/** How a way is interrupted; `isLate`: what was sent meanwhile arrives in the end, for sure. */
const CUTS: Readonly<Record<string, { readonly cutOff: (way: TcpProxy) => void; readonly isLate: boolean }>> = {
  'connections break': { cutOff: (way) => way.cut(), isLate: false },
  'nothing passes': { cutOff: (way) => way.hold(), isLate: true },
};

/** Where the status says that addresses are, and since when. A former leader knows an older assignment of them. */
async function told(stage: Stage): Promise<unknown> {
  const { ips = {}, lastAssignmentTime } = (await stage.getPool('ingress')).status ?? {};
  const nodes = Object.entries(ips).map(([ip, { state, nodeName }]) => [ip, state, nodeName]);
  return { nodes, lastAssignmentTime };
}

/** Whoever leads next is the only one whose writes Redis takes. Answers what a former leader has tried to write from then on, all in the order of Redis. */
function expectNothingLate(runs: readonly ScriptRun[], formerTerm: number): readonly ScriptRun[] {
  const opened = runs.findIndex((run) => run.term > formerTerm && run.wrote);
  expect(opened).toBeGreaterThan(-1);
  const late = runs.slice(opened).filter((run) => run.term <= formerTerm);
  expect(late.filter(({ wrote }) => wrote)).toEqual([]);
  return late;
}

const hasGivenUp = ({ operator }: Replica): boolean => operator.log.some(({ msg }) => msg === 'leads no longer');

/** Nobody is to lose the Lease, and jobs of one that stands still are to be others' soon. */
const SHORT_LOCKS: readonly string[] = ['--lock-duration=1500ms'];

/** Assignments that were confirmed to the leader. */
const ASSIGNMENTS = 'flipop_floatingippoolcontroller_ip_assignments';
