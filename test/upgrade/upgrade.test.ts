import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routedStageOnce } from '../e2e/routed.ts';
import { busyStage } from './acts.ts';
import { buildsOf } from './builds.ts';
import type { Member } from './cast.ts';
import { changeOfLeader } from './changes.ts';
import { DEFECTS } from './defects.ts';
import type { History } from './history.ts';
import { RULES } from './rules.ts';
import { atRest, formerStays, othersCome, populate, prepare } from './setting.ts';
import { tableOf } from './table.ts';
import { openWorld, type World } from './world.ts';

const builds = buildsOf(process.env);
/** Of the two leaders that end one is killed. */
const [UP, DOWN] = builds.seed % 2 === 0 ? (['SIGKILL', 'SIGTERM'] as const) : (['SIGTERM', 'SIGKILL'] as const);
/** Whether the former definitions come back before the former version does, as with `kubectl apply`, or after it, as after `kubectl rollout undo`. */
const DEFINES_FIRST = builds.seed % 3 === 0;

const routed = routedStageOnce({ cloud: { reservedIPQuota: 50, createsPerMinute: 600 } });
let world: World;
let leader: Member;
let follower: Member;
let history: History;
const notes: string[] = [];
let ended = 0;

beforeAll(async () => {
  const { cloud } = routed().stage;
  const given = [1, 2, 3].map(() => cloud.addReservedIP({ region: 'nyc3' }).ip);
  world = await openWorld(routed(), builds);
  await world.define('old');
  await prepare(world);
  leader = await world.cast.start('old');
  await populate(world, { quiet: given.slice(1), busy: given.slice(0, 1) });
});
afterAll(async () => {
  if (history) console.log(`upgrade from ${builds.commit.slice(0, 12)} and back, seed ${builds.seed}\n${tableOf(history, notes)}`);
  await world.close();
});

/** What happens first, then what is asked for in every stage, until all is at rest. */
async function stage(number: number, begin: () => Promise<string>): Promise<void> {
  if (ended !== number - 1) throw new Error(`stage ${number - 1} did not come to its end`);
  world.stage = number;
  const from = Date.now();
  notes.push(await begin());
  await busyStage(world);
  await atRest(world);
  expect(await leader.leads()).toBe(true);
  const running = (await world.cast.records()).filter(({ ended }) => ended === null);
  await world.ended({ leads: leader.version, follows: running.length > 1 ? follower.version : null, from });
  ended = number;
}

async function leaderEnds(signal: 'SIGTERM' | 'SIGKILL'): Promise<string> {
  const changed = await changeOfLeader(world, leader, follower, signal);
  [leader, follower] = [follower, changed.follower];
  return changed.underWay;
}

describe('an upgrade from the former version and the way back', () => {
  test('1: the old version is alone', () => stage(1, async () => ''));
  test('2: the old version leads, the new one follows', () =>
    stage(2, async () => {
      await world.define('new');
      follower = await world.cast.start('new');
      return 'new definitions first';
    }));
  test('3: the new version leads, the old one follows', () => stage(3, () => leaderEnds(UP)));
  test('4: the new version is alone', () =>
    stage(4, async () => {
      await world.cast.end(follower, 'SIGTERM');
      await formerStays(world);
      await othersCome(world);
      return 'the old one ends: SIGTERM';
    }));
  test('5: the new version leads, the old one follows again', () =>
    stage(5, async () => {
      if (DEFINES_FIRST) await world.define('old');
      follower = await world.cast.start('old');
      return DEFINES_FIRST ? 'old definitions first' : 'under the new definitions';
    }));
  test('6: the old version leads, the new one follows', () => stage(6, () => leaderEnds(DOWN)));
  test('7: the old version is alone again', () =>
    stage(7, async () => {
      await world.cast.end(follower, 'SIGTERM');
      if (!DEFINES_FIRST) await world.define('old');
      return `the new one ends: SIGTERM${DEFINES_FIRST ? '' : '; old definitions'}`;
    }));
});

describe('over all of it', () => {
  beforeAll(async () => {
    history = await world.history();
  });

  for (const [rule, wrongs] of Object.entries(RULES)) {
    test(rule, () => expect(wrongs(history)).toEqual([]));
  }

  test('every rule has a defect that it catches', () => {
    expect(new Set(DEFECTS.map(({ rule }) => rule))).toEqual(new Set(Object.keys(RULES)));
  });

  for (const { rule, what, spoil, says } of DEFECTS) {
    test(`${rule}: is broken when ${what}`, () => {
      const wrongs = RULES[rule] ?? (() => []);
      const before = wrongs(history);
      expect(wrongs(spoil(history)).filter((wrong) => !before.includes(wrong))).toEqual([expect.stringMatching(says)]);
    });
  }
});
