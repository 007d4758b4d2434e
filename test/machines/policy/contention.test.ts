import { describe, expect, test } from 'vitest';
import {
  adopted,
  type ContentionRules,
  type Contest,
  moved,
  NO_CONTEST,
  restsUntil,
  triedAgain,
} from '../../../machines/policy/contention.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { A, B, node, refOf, SECOND, START } from '../builders.ts';
import type { Driven } from '../drive.ts';
import { assigned, cluster, grantsIn, named, ready, serving, spec, toldIn } from '../pool/world.ts';

const WINDOW = 600 * SECOND;
const YIELD: ContentionRules = { moves: 3, windowMs: WINDOW, takeover: 'Yield' };
const RECLAIM: ContentionRules = { ...YIELD, takeover: 'Reclaim' };
/** The address was moved by somebody else at these times, ms after the start. */
const movedAt = (rules: ContentionRules, ...times: readonly number[]): Contest =>
  times.reduce((contest, time) => moved(contest, rules, START + time), NO_CONTEST);
const rest = (contest: Contest, rules: ContentionRules, at: number): number | null => {
  const until = restsUntil(contest, rules, START + at);
  return until === null ? null : until - START;
};

describe('an address that somebody else moves', () => {
  test('is fought for until the move that is one too many', () => {
    expect(
      [1, 2, 3].map((count) => rest(movedAt(YIELD, ...[0, 10, 20].slice(0, count).map((s) => s * SECOND)), YIELD, 20 * SECOND)),
    ).toEqual([null, null, 20 * SECOND + WINDOW]);
  });

  test('is not contended when the moves lie further apart than the window', () => {
    expect(rest(movedAt(YIELD, 0, 400 * SECOND, 800 * SECOND, 1_200 * SECOND), YIELD, 1_200 * SECOND)).toBeNull();
    expect(rest(movedAt(YIELD, 0, 1, WINDOW), YIELD, WINDOW)).toBeNull();
    expect(rest(movedAt(YIELD, 0, 1, WINDOW - 1), YIELD, WINDOW - 1)).toBe(2 * WINDOW - 1);
  });

  test('rests a window from then on, and no longer when the clock is set back', () => {
    const contest = movedAt(YIELD, 0, 0, 0);
    expect([0, WINDOW - 1, WINDOW, -WINDOW].map((at) => rest(contest, YIELD, at))).toEqual([WINDOW, WINDOW, null, 0]);
  });

  test('rests no more than a rule says that was changed, and not at all without one', () => {
    const contest = movedAt(YIELD, 0, 0, 0);
    expect(rest(contest, { ...YIELD, windowMs: 60 * SECOND }, 0)).toBe(60 * SECOND);
    expect(restsUntil(contest, null, START)).toBeNull();
    expect(moved(contest, null, START)).toEqual(NO_CONTEST);
  });

  test('keeps no more moves in mind than the rule asks for', () => {
    expect(movedAt(YIELD, 0, 1, 2, 3, 4, 5).moves).toEqual([START + 3, START + 4, START + 5]);
  });
});

describe('an address that was left to somebody else', () => {
  const left = movedAt(YIELD, 0, 0, 0);

  test('with Yield rests anew with each move, and is fought for afresh once it was tried again', () => {
    expect(rest(moved(left, YIELD, START + 500 * SECOND), YIELD, 500 * SECOND)).toBe(500 * SECOND + WINDOW);
    expect(triedAgain(left, YIELD, START + WINDOW)).toEqual(NO_CONTEST);
  });

  test('with Reclaim rests no longer for being moved, but a window after each time that it was taken back', () => {
    const held = movedAt(RECLAIM, 0, 0, 0);
    expect(rest(moved(held, RECLAIM, START + 500 * SECOND), RECLAIM, 500 * SECOND)).toBe(WINDOW);
    const again = triedAgain(held, RECLAIM, START + WINDOW);
    expect(rest(moved(again, RECLAIM, START + WINDOW + SECOND), RECLAIM, WINDOW + SECOND)).toBe(2 * WINDOW);
  });

  test('with Reclaim is fought for afresh after a window in which nobody moved it', () => {
    const again = triedAgain(movedAt(RECLAIM, 0, 0, 0), RECLAIM, START + WINDOW);
    expect(rest(moved(again, RECLAIM, START + 2 * WINDOW), RECLAIM, 2 * WINDOW)).toBeNull();
    expect(rest(moved(again, RECLAIM, START + 2 * WINDOW - 1), RECLAIM, 2 * WINDOW - 1)).toBe(2 * WINDOW);
  });

  test('and put on a node that may have it does not rest there; the next move counts', () => {
    const there = adopted(left);
    expect([rest(there, YIELD, 0), rest(moved(there, YIELD, START + SECOND), YIELD, SECOND)]).toEqual([null, SECOND + WINDOW]);
    expect(adopted(NO_CONTEST)).toBe(NO_CONTEST);
  });

  test('that is none is not touched when it is tried', () => expect(triedAgain(NO_CONTEST, RECLAIM, START)).toBe(NO_CONTEST));
});

describe('a pool whose address A was taken away twice, one time too many', () => {
  const contention = { moves: 2, windowSeconds: 600 };
  const pool = (change: Readonly<Record<string, unknown>> = {}): Driven<PoolContext> => {
    const begun = serving({ contention, ...change }, ['a', 'b']).send('READY', ready(A, 'z'));
    expect(grantsIn(begun)).toEqual([`${A} → a`]);
    return begun
      .send('ASSIGNED', assigned(A, refOf('a')))
      .after(10 * SECOND)
      .send('READY', ready(A, 'z'));
  };

  test('grants it no node before its time, and knows when that is', () => {
    const left = pool();
    expect([grantsIn(left), left.context.grantAt, left.timerOf('nextGrant')]).toEqual([[], START + 610 * SECOND, 600 * SECOND]);
    expect(grantsIn(left.elapse('nextGrant'))).toEqual([`${A} → a`]);
    expect(left.context.members[A]?.contest).toEqual(NO_CONTEST);
  });

  test('lets others have their nodes meanwhile', () => {
    expect(grantsIn(pool().send('READY', ready(B)))).toEqual([`${B} → b`]);
    expect(pool().context.members[B]?.contest).toEqual(NO_CONTEST);
  });

  test('grants it the node on which somebody puts it', () => {
    const left = pool().send('CLUSTER_OBSERVED', named('a', 'b', 'c'));
    expect(grantsIn(left.send('READY', ready(A, 'c')))).toEqual([`${A} → c`]);
    expect(left.context.members[A]?.contest.restsSince).toBeNull();
  });

  test('leaves it on a node about to go on which somebody puts it, for as long as it rests', () => {
    const nodes = cluster(node('a'), node('b'), node('c').cordoned());
    const left = pool({ drainPolicy: 'OnCordon' }).send('CLUSTER_OBSERVED', nodes).send('READY', ready(A, 'c'));
    expect(grantsIn(left)).toEqual([`${A} → c`]);
    left.send('ASSIGNED', assigned(A, refOf('c')));
    expect([toldIn(left), left.context.grantAt]).toEqual([[], START + 610 * SECOND]);
    expect(toldIn(left.elapse('nextGrant'))).toEqual([`NODE_OBSERVED ${A}`]);
  });

  test('grants it a node when the rule is gone', () => {
    expect(grantsIn(pool().send('SPEC_OBSERVED', spec({}, { generation: 2 })))).toEqual([`${A} → a`]);
  });

  test('counts the time anew when the clock was set back, once', () => {
    const left = pool()
      .after(-3_600 * SECOND)
      .send('CLUSTER_OBSERVED', named('a', 'b'));
    const set = left.now;
    expect(left.context.grantAt).toBe(set + 600 * SECOND);
    expect(left.after(100 * SECOND).send('CLUSTER_OBSERVED', named('a', 'b')).context.grantAt).toBe(set + 600 * SECOND);
  });

  test('moves it as somebody asks for once its time is over, and knows when that is', () => {
    const reclaim = { contention: { ...contention, takeover: 'Reclaim' } };
    const left = pool(reclaim)
      .elapse('nextGrant')
      .send('ASSIGNED', assigned(A, refOf('a')))
      .send('CLUSTER_OBSERVED', named('a', 'b', 'c'));
    left.send('SPEC_OBSERVED', spec(reclaim, { marks: { moveTo: `${A}=c` } }));
    expect([toldIn(left), left.context.grantAt]).toEqual([[], left.now + 600 * SECOND]);
    expect(toldIn(left.elapse('nextGrant'))).toEqual([`NODE_OBSERVED ${A}`]);
  });

  test('counts nothing while the node is not the address’s any more', () => {
    const lost = serving({ contention }, ['a', 'b']).send('CLUSTER_OBSERVED', named('b')).send('READY', ready(A, 'z'));
    expect(lost.context.members[A]?.contest).toEqual(NO_CONTEST);
  });
});
