import { describe, expect, test } from 'vitest';
import { askedAgainMs, holds, type SafeHoldRules } from '../../../machines/policy/safe-hold.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { A, absentNode, B, frozen, node, providerIDOf, SECOND, START } from '../builders.ts';
import type { Driven } from '../drive.ts';
import * as world from '../pool/world.ts';

const RULES: SafeHoldRules = { maxUnavailable: 2, windowMs: 60 * SECOND };
/** Nodes that went so many seconds after the start. */
const went = (...times: readonly number[]) => times.map((time, index) => absentNode(`n${index}`, { since: START + time * SECOND }));

describe('a hold', () => {
  const begins = (at: number, ...times: readonly number[]) => holds(frozen(went(...times)), false, RULES, START + at * SECOND);
  const lasts = (at: number, ...times: readonly number[]) => holds(frozen(went(...times)), true, RULES, START + at * SECOND);

  test('begins with the node that is one too many within the window', () => {
    expect([begins(0), begins(0, 0), begins(0, 0, 0), begins(0, 0, 0, 0)]).toEqual([false, false, false, true]);
    expect([begins(59, 0, 30, 59), begins(60, 0, 30, 60)]).toEqual([true, false]);
  });

  test('lasts as long as more are absent than allowed, however long ago they went', () => {
    expect([lasts(7_200, 0, 0, 0), lasts(7_200, 0, 0), lasts(0)]).toEqual([true, false, false]);
  });

  test('counts a node that went in a future which the clock was set back from', () => expect(begins(0, 3_600, 3_600, 0)).toBe(true));

  test('is none without a rule, and ends with it', () => {
    expect([holds(went(0, 0, 0, 0), false, null, START), holds(went(0, 0, 0, 0), true, null, START)]).toEqual([false, false]);
  });

  test('has the provider asked again ever more seldom', () => {
    expect([1, 2, 3, 4, 99].map((asks) => askedAgainMs(asks) / SECOND)).toEqual([60, 300, 600, 600, 600]);
  });
});

describe('a pool of which one node may be away', () => {
  const HOLD = { safeHold: { maxUnavailable: 1, windowSeconds: 60 } };
  const pool = (change: Readonly<Record<string, unknown>> = {}): Driven<PoolContext> =>
    world.serving({ ...HOLD, ...change }, ['a', 'b', 'c', 'd']);
  const left = world.named('c', 'd');
  const absent = ({ context }: Driven<PoolContext>): readonly string[] => context.absent.map(({ node: { name } }) => name);
  const asked = (given: Driven<PoolContext>) => given.inputOf('findNodes') as { nodes: { name: string }[]; purpose: string } | undefined;

  test('tells an address at once of the first one, and asks nobody', () => {
    const one = pool().send('CLUSTER_OBSERVED', world.named('b', 'c', 'd'));
    expect([one.context.held, absent(one), world.toldIn(one), one.started, one.timerOf('recovery')]).toEqual([
      false,
      ['a'],
      [`NODE_OBSERVED ${A}`],
      [],
      null,
    ]);
  });

  test('tells nobody of two, and asks for their machines before the reserve of the budget', () => {
    const two = pool().send('CLUSTER_OBSERVED', left);
    expect([two.context.held, absent(two), world.toldIn(two), two.started]).toEqual([true, ['a', 'b'], [], ['findNodes']]);
    expect([asked(two)?.nodes.map(({ name }) => name), asked(two)?.purpose]).toEqual([['a', 'b'], 'failover']);
  });

  test('asks for those without an address afterwards, and leaves the reserve alone', () => {
    const three = pool().send('CLUSTER_OBSERVED', world.named('d'));
    expect(asked(three)?.nodes.map(({ name }) => name)).toEqual(['a', 'b']);
    three.done('findNodes', { gone: [] });
    expect([asked(three)?.nodes.map(({ name }) => name), asked(three)?.purpose]).toEqual([['c'], 'verify']);
  });

  test('tells only the address whose machine is gone while it still holds, and the others when that ends it', () => {
    const gone = (...names: readonly string[]) => ({ gone: names.map((name) => providerIDOf(name)) });
    const three = pool().send('CLUSTER_OBSERVED', world.named('d')).done('findNodes', gone('a'));
    expect([three.context.held, world.toldIn(three)]).toEqual([true, [`NODE_OBSERVED ${A}`]]);
    const two = pool().send('CLUSTER_OBSERVED', left).done('findNodes', gone('a'));
    expect([two.context.held, absent(two), world.toldIn(two)]).toEqual([false, ['b'], [`NODE_OBSERVED ${A}`, `NODE_OBSERVED ${B}`]]);
  });

  test('asks again a minute later, then after 5 and every 10 minutes, and after a restart at the time that was set', () => {
    const two = pool().send('CLUSTER_OBSERVED', left).done('findNodes', { gone: [] });
    const waits = [two.timerOf('recovery')];
    for (let times = 0; times < 3; times += 1) {
      two.elapse('recovery');
      expect(two.started).toEqual(['findNodes']);
      waits.push(two.done('findNodes', { gone: [] }).timerOf('recovery'));
    }
    expect(waits.map((ms) => (ms ?? 0) / SECOND)).toEqual([60, 300, 600, 600]);
    expect(
      two
        .after(200 * SECOND)
        .send('RESUME')
        .timerOf('recovery'),
    ).toBe(400 * SECOND);
  });

  test('is not held by nodes that went one window apart', () => {
    const apart = pool()
      .send('CLUSTER_OBSERVED', world.named('b', 'c', 'd'))
      .after(60 * SECOND)
      .send('CLUSTER_OBSERVED', left);
    expect([apart.context.held, absent(apart), world.toldIn(apart)]).toEqual([false, ['b'], [`NODE_OBSERVED ${B}`]]);
  });

  test('gives a node that is not Ready its grace once, though it counts for a hold after that', () => {
    const graced = pool({ recoveryGraceSeconds: 30 }).send(
      'CLUSTER_OBSERVED',
      world.cluster(node('a').notReady(), node('b'), node('c'), node('d')),
    );
    expect([absent(graced), world.toldIn(graced), graced.timerOf('recovery')]).toEqual([['a'], [], 30 * SECOND]);
    graced.elapse('recovery');
    expect([absent(graced), world.toldIn(graced), graced.timerOf('recovery')]).toEqual([['a'], [`NODE_OBSERVED ${A}`], null]);
    // The timer comes late: somebody else is heard first.
    const late = pool({ recoveryGraceSeconds: 30 })
      .send('CLUSTER_OBSERVED', world.cluster(node('a').notReady(), node('b'), node('c'), node('d')))
      .after(31 * SECOND)
      .send('CLAIMS_OBSERVED', { fullNodes: [] });
    expect(late.timerOf('recovery')).not.toBeNull();
    late.elapse('recovery');
    expect([world.toldIn(late), late.timerOf('recovery')]).toEqual([[`NODE_OBSERVED ${A}`], null]);
  });

  test('forgets who is back', () => {
    const back = pool()
      .send('CLUSTER_OBSERVED', left)
      .send('CLUSTER_OBSERVED', world.named('a', 'b', 'c', 'd'));
    expect([back.context.held, absent(back), world.toldIn(back), back.timerOf('recovery')]).toEqual([false, [], [], null]);
  });

  test('takes another machine of the same name for another node', () => {
    const other = pool().send('CLUSTER_OBSERVED', left);
    const renewed = [node('a').withProviderID(providerIDOf('a2')), node('c'), node('d')];
    other.send('CLUSTER_OBSERVED', world.cluster(...renewed));
    expect([other.context.held, absent(other), other.context.candidates.map(({ name }) => name)]).toEqual([
      true,
      ['a', 'b'],
      ['c', 'd', 'a'],
    ]);
  });

  test('is held no more under other selectors', () => {
    const edited = pool().send('CLUSTER_OBSERVED', left);
    const match = { nodeLabel: 'pool in (work)' };
    edited.send('SPEC_OBSERVED', world.spec({ ...HOLD, match }, { generation: 2 }));
    edited.send('CLUSTER_OBSERVED', { ...left, query: JSON.stringify([match.nodeLabel, null, null]) });
    expect([edited.context.held, absent(edited), world.toldIn(edited)]).toEqual([false, [], [`NODE_OBSERVED ${A}`, `NODE_OBSERVED ${B}`]]);
  });

  test('does not count nodes that are about to go', () => {
    const draining = pool({ drainPolicy: 'OnCordon' });
    draining.send('CLUSTER_OBSERVED', world.cluster(node('a').cordoned(), node('b').goingAway(), node('c').cordoned(), node('d')));
    expect([draining.context.held, absent(draining)]).toEqual([false, []]);
  });

  test('publishes its addresses while it holds', () => {
    const published = pool({ dnsRecordSet: { zone: 'example.com', recordName: 'web' } }).elapse('naming');
    published.send('CLUSTER_OBSERVED', left);
    expect([published.context.named?.addresses, published.timerOf('naming')]).toEqual([[A, B], null]);
  });
});
