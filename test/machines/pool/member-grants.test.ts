import { describe, expect, test } from 'vitest';
import type { ErrorKind } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { A, B, C, node, refOf, SECOND, START } from '../builders.ts';
import type { Driven } from '../drive.ts';
import { assigned, cluster, failed, grantsIn, named, primed, ready, serving, spec } from './world.ts';

const granting = ({ state }: Driven<PoolContext>): string => /granting\.(\w+)/.exec(state)?.[1] ?? state;

describe('a pool with a cool-off of 20 s', () => {
  const waiting = () => {
    const pool = primed({ ips: [A, B, C], assignmentCoolOffSeconds: 20 }, ['a', 'b', 'c']);
    return pool.send('READY', ready(A)).send('READY', ready(B)).send('READY', ready(C));
  };

  test('assigns three addresses at t, t + 20 s and t + 40 s', () => {
    const pool = waiting();
    expect(pool.context.members[A]?.node).toEqual(refOf('a'));
    const times = ['a', 'b', 'c'].map((name, index) => {
      const at = pool.now - START;
      pool.send('ASSIGNED', assigned([A, B, C][index] ?? A, refOf(name)));
      if (pool.timer !== null) pool.elapse();
      return at;
    });
    expect(times).toEqual([0, 20 * SECOND, 40 * SECOND]);
    expect(Object.values(pool.context.members).every(({ confirmed }) => confirmed)).toBe(true);
  });

  test('grants one at a time: the next one waits for the confirmation, and then for the cool-off', () => {
    const pool = waiting();
    expect([granting(pool), pool.timer]).toEqual(['Open', null]);
    pool.after(SECOND).send('ASSIGNED', assigned(A, refOf('a')));
    expect([granting(pool), pool.timer, pool.context.grantAt]).toEqual(['Spacing', 20 * SECOND, START + 21 * SECOND]);
    expect(grantsIn(pool.elapse())).toEqual([`${B} → b`]);
  });

  test('tells no time for the next grant once it is made', () => {
    const pool = waiting()
      .send('ASSIGNED', assigned(A, refOf('a')))
      .elapse();
    expect([granting(pool), pool.context.grantAt]).toEqual(['Open', null]);
  });

  test('tells no time for the next grant when nobody waits any more', () => {
    const pool = waiting()
      .send('ASSIGNED', assigned(A, refOf('a')))
      .send('SPEC_OBSERVED', spec({ ips: [A], assignmentCoolOffSeconds: 20 }));
    expect([granting(pool), pool.context.grantAt, pool.timer]).toEqual(['Open', null, null]);
  });

  test('that is changed shifts the pending time by the difference', () => {
    const pool = waiting()
      .send('ASSIGNED', assigned(A, refOf('a')))
      .after(5 * SECOND);
    const change = (seconds: number) => spec({ ips: [A, B, C], assignmentCoolOffSeconds: seconds });
    expect(pool.send('SPEC_OBSERVED', change(30)).timer).toBe(25 * SECOND);
    expect(pool.send('SPEC_OBSERVED', change(6)).timer).toBe(SECOND);
    expect(grantsIn(pool.send('SPEC_OBSERVED', change(5)))).toEqual([`${B} → b`]);
  });

  test('does not count from an adoption, nor from an error', () => {
    expect(waiting().send('ASSIGNED', assigned(A, refOf('a'), false)).context.lastAssignmentAt).toBeNull();
    const pool = waiting();
    expect(grantsIn(pool.send('FAILED', failed(A, 'Unavailable', refOf('a'))))).toEqual([`${B} → b`]);
  });

  test('waits no longer than that when the clock is set back, however often it hears something', () => {
    const pool = waiting()
      .send('ASSIGNED', assigned(A, refOf('a')))
      .after(-3_600 * SECOND);
    const set = pool.now;
    expect(pool.send('CLUSTER_OBSERVED', named('a', 'b', 'c')).context.grantAt).toBe(set + 20 * SECOND);
    expect(pool.after(10 * SECOND).send('CLUSTER_OBSERVED', named('a', 'b', 'c')).context.grantAt).toBe(set + 20 * SECOND);
    expect(grantsIn(pool.after(10 * SECOND).send('CLUSTER_OBSERVED', named('a', 'b', 'c')))).toEqual([`${B} → b`]);
  });

  test('goes on after a restart with the time it was set for', () => {
    const pool = waiting().send('ASSIGNED', assigned(A, refOf('a')));
    const resumed = pool.after(7 * SECOND).send('RESUME');
    expect([granting(resumed), resumed.timer]).toEqual(['Spacing', 13 * SECOND]);
  });
});

describe('a node that could not take an address', () => {
  const alone = () => primed({ ips: [A] }, ['a']).send('READY', ready(A));
  const again = (pool: Driven<PoolContext>) => pool.send('FAILED', failed(A, 'NodeInUse', refOf('a'))).send('READY', ready(A));

  test('is tried again by the back-off table until it works', () => {
    const pool = alone();
    const waits = Array.from({ length: 9 }, () => {
      const wait = (again(pool).timer ?? 0) / SECOND;
      pool.elapse();
      return wait;
    });
    expect(waits).toEqual([1, 1, 5, 5, 10, 10, 10, 60, 60]);
    expect(pool.context.members[A]?.node).toEqual(refOf('a'));
  });

  test('counts from the start once it worked', () => {
    const pool = again(again(again(alone()).elapse()).elapse()).elapse();
    pool.send('ASSIGNED', assigned(A, refOf('a'))).send('READY', ready(A));
    expect(pool.context.backOff).toEqual({});
  });

  test('is passed over meanwhile', () => {
    const pool = primed({ ips: [A] }, ['a', 'b']).send('READY', ready(A));
    pool.send('FAILED', failed(A, 'NodeInUse', refOf('a')));
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${A} → b`]);
  });

  test.each<ErrorKind>(['Unauthorized', 'RateLimited'])('because of something else is not passed over: %s', (kind) => {
    const pool = alone().send('FAILED', failed(A, kind, refOf('a')));
    expect(pool.context.backOff).toEqual({});
    expect(grantsIn(pool.send('READY', ready(A)))).toEqual([`${A} → a`]);
  });

  test('is forgotten when it is gone, and not because it does not match for a moment', () => {
    const pool = again(alone());
    expect(Object.keys(pool.send('CLUSTER_OBSERVED', cluster(node('a').notReady())).context.backOff)).toEqual(['a']);
    expect(Object.keys(pool.send('CLUSTER_OBSERVED', named('b')).context.backOff)).toEqual([]);
  });
});

describe('an address that the provider does not know', () => {
  test('frees its node at once for the next one, and goes to the end of the line', () => {
    const pool = serving({}, ['a', 'b'])
      .send('SPEC_OBSERVED', spec({ ips: [A, B, C] }, { generation: 2 }))
      .send('READY', ready(C));
    expect(grantsIn(pool)).toEqual([]);
    expect(grantsIn(pool.send('FAILED', failed(A, 'NotFound', null)))).toEqual([`${C} → a`]);
    expect(pool.context.members[A]?.rank).toBeGreaterThan(pool.context.members[C]?.rank ?? Number.POSITIVE_INFINITY);
  });
});

describe('a node whose address the provider does not know', () => {
  test('is the next one to be had, and not at fault', () => {
    const pool = serving({}, ['a', 'b', 'c']).send('FAILED', failed(B, 'NotFound', refOf('b')));
    expect([pool.context.candidates.map(({ name }) => name), pool.context.backOff]).toEqual([['b', 'a', 'c'], {}]);
  });
});

describe('an address that lost its node', () => {
  test('goes to the end of the line, behind those that never had one', () => {
    const pool = serving({ ips: [A, B] }, ['a', 'b']).send('SPEC_OBSERVED', spec({ ips: [A, B, C] }, { generation: 2 }));
    pool.send('CLUSTER_OBSERVED', named('b')).send('READY', ready(A, 'a')).send('READY', ready(C));
    expect(grantsIn(pool.send('CLUSTER_OBSERVED', named('b', 'd')))).toEqual([`${C} → d`]);
  });

  test('keeps its turn when it only waited', () => {
    const pool = primed({}, []).send('READY', ready(B)).send('READY', ready(A)).send('READY', ready(B));
    expect(grantsIn(pool.send('CLUSTER_OBSERVED', named('z')))).toEqual([`${A} → z`]);
  });
});
