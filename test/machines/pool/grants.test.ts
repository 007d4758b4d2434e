import { describe, expect, test } from 'vitest';
import { type GrantInput, grants } from '../../../machines/pool/assignment.ts';
import { A, B, C, frozen, member, node, providerIDOf, refOf, SECOND, START, serving } from '../builders.ts';

const at = START;
const input = (change: Partial<GrantInput> = {}): GrantInput => ({
  members: {},
  candidates: [],
  keeping: [],
  leaving: [],
  fullNodes: [],
  backOff: {},
  occupied: [],
  resting: {},
  coolOffMs: 0,
  lastAssignmentAt: null,
  ...change,
});
const candidates = (...names: string[]) => names.map((name) => node(name).candidate);
const held = (name: string) => member({ holder: providerIDOf(name) });

/** Who gets what, as text, in the order of the answer. */
const decided = (change: Partial<GrantInput>, now = at): string[] =>
  grants(frozen(input(change)), now).grants.map(({ address, node: { name } }) => `${address} → ${name}`);
const nextAt = (change: Partial<GrantInput>, now = at) => grants(frozen(input(change)), now).nextAt;

describe('addresses and nodes', () => {
  test('meet in line: the first address gets the first node', () => {
    const members = { [B]: member({ rank: 1 }), [A]: member({ rank: 2 }) };
    expect(decided({ members, candidates: candidates('c', 'a') })).toEqual([`${B} → c`, `${A} → a`]);
  });

  test('meet last where one was refused before', () => {
    const backOff = { a: { until: at - SECOND } };
    expect(decided({ members: { [A]: member() }, candidates: candidates('a', 'b'), backOff })).toEqual([`${A} → b`]);
    expect(decided({ members: { [A]: member() }, candidates: candidates('a'), backOff })).toEqual([`${A} → a`]);
  });

  test('of one rank meet by address', () => {
    expect(decided({ members: { [B]: member(), [A]: member() }, candidates: candidates('a', 'b') })).toEqual([`${A} → a`, `${B} → b`]);
  });

  test('that are left over wait, whichever they are', () => {
    const members = { [A]: member({ rank: 1 }), [B]: member({ rank: 2 }) };
    expect(decided({ members, candidates: candidates('a') })).toEqual([`${A} → a`]);
    expect(decided({ members: { [A]: member() }, candidates: candidates('a', 'b') })).toEqual([`${A} → a`]);
    expect(decided({})).toEqual([]);
  });

  test('meet once: a node that holds or was granted an address gets no other', () => {
    const members = { [A]: serving('a'), [B]: member({ rank: 2, ready: false, node: refOf('b') }), [C]: member() };
    expect(decided({ members, candidates: candidates('a', 'b') })).toEqual([]);
    expect(decided({ members, candidates: candidates('a', 'b', 'c') })).toEqual([`${C} → c`]);
  });

  test('that are not ready, or on their way out, get nothing', () => {
    const members = { [A]: member({ ready: false }), [B]: member({ retiring: true }) };
    expect(decided({ members, candidates: candidates('a', 'b') })).toEqual([]);
  });
});

describe('an address that sits somewhere already', () => {
  test('keeps its node when that node matches, whatever waits before it', () => {
    const members = { [A]: member({ rank: 1 }), [B]: { ...held('a'), rank: 9 } };
    expect(decided({ members, candidates: candidates('a', 'b') })).toEqual([`${B} → a`, `${A} → b`]);
  });

  test('keeps it in a cool-off and in the node’s back-off too: no call is needed for that', () => {
    const change = {
      members: { [A]: held('a') },
      candidates: candidates('a'),
      backOff: { a: { until: at + SECOND } },
      coolOffMs: 60 * SECOND,
      lastAssignmentAt: at,
    };
    expect(decided(change)).toEqual([`${A} → a`]);
  });

  test('does not keep a node that another pool holds', () => {
    expect(decided({ members: { [A]: held('a') }, candidates: candidates('a', 'b'), fullNodes: ['a'] })).toEqual([`${A} → b`]);
  });

  test('waits on its eligible node while an address on its way out has not let go of it', () => {
    const leaving = { ...serving('a'), retiring: true };
    expect(decided({ members: { [A]: held('a'), [B]: leaving }, candidates: candidates('a', 'b') })).toEqual([]);
    expect(decided({ members: { [A]: held('a'), [B]: leaving }, candidates: candidates('b') })).toEqual([`${A} → b`]);
  });

  test('keeps the node on which it stands, whatever is said of claims', () => {
    const stands = { ...held('a'), stands: refOf('a') };
    expect(decided({ members: { [A]: stands }, candidates: candidates('a', 'b'), fullNodes: ['a'] })).toEqual([`${A} → a`]);
  });

  test('has its node to itself until it is confirmed elsewhere', () => {
    const moving = member({ ready: false, holder: providerIDOf('a'), node: refOf('b'), stands: refOf('a') });
    expect(decided({ members: { [A]: moving, [B]: member() }, candidates: candidates('a', 'b', 'c') })).toEqual([`${B} → c`]);
  });

  test('does not keep a node that another address was granted', () => {
    expect(decided({ members: { [A]: held('a'), [B]: serving('a') }, candidates: candidates('a', 'b') })).toEqual([`${A} → b`]);
  });

  test('shares a node with another only until both have been told: the first in line keeps it', () => {
    const members = { [A]: { ...held('a'), rank: 2 }, [B]: { ...held('a'), rank: 1 } };
    expect(decided({ members, candidates: candidates('a', 'b') })).toEqual([`${B} → a`, `${A} → b`]);
    expect(decided({ members, candidates: candidates('a') })).toEqual([`${B} → a`]);
  });

  test('comes after those attached to nothing: its node may come back', () => {
    const members = { [A]: { ...held('gone'), rank: 1 }, [B]: member({ rank: 9 }) };
    expect(decided({ members, candidates: candidates('a') })).toEqual([`${B} → a`]);
  });
});

describe('a node', () => {
  test('in back-off is passed over until its time, and then tried again', () => {
    const change = { members: { [A]: member() }, candidates: candidates('a', 'b'), backOff: { a: { until: at + 5 * SECOND } } };
    expect(decided(change)).toEqual([`${A} → b`]);
    const alone = { ...change, candidates: candidates('a') };
    expect(decided(alone)).toEqual([]);
    expect(nextAt(alone)).toBe(at + 5 * SECOND);
    expect(decided(alone, at + 5 * SECOND - 1)).toEqual([]);
    expect(decided(alone, at + 5 * SECOND)).toEqual([`${A} → a`]);
  });

  test('of another region is passed over; without a region it takes any', () => {
    const members = { [A]: member({ region: 'ams3' }) };
    const [far, near, any] = [node('a').candidate, node('b').in('ams3').candidate, node('c').in('').candidate];
    expect(decided({ members, candidates: [far, near] })).toEqual([`${A} → b`]);
    expect(decided({ members, candidates: [far] })).toEqual([]);
    expect(decided({ members, candidates: [far, any] })).toEqual([`${A} → c`]);
    expect(decided({ members: { [A]: member({ region: '' }) }, candidates: [far] })).toEqual([`${A} → a`]);
  });

  test('of another region does not hold up the address behind', () => {
    const members = { [A]: member({ rank: 1, region: 'ams3' }), [B]: member({ rank: 2 }) };
    expect(decided({ members, candidates: candidates('a') })).toEqual([`${B} → a`]);
  });

  test('that another pool holds is passed over', () => {
    expect(decided({ members: { [A]: member() }, candidates: candidates('a', 'b'), fullNodes: ['a'] })).toEqual([`${A} → b`]);
  });

  test('on which a stranger’s address sits comes last', () => {
    const members = { [A]: member({ rank: 1 }), [B]: member({ rank: 2 }), [C]: member({ rank: 3 }) };
    const change = { members, candidates: candidates('a', 'b', 'c'), occupied: [providerIDOf('a')] };
    expect(decided(change)).toEqual([`${A} → b`, `${B} → c`, `${C} → a`]);
  });

  test('on which an address of ours sits that recovers from an error, or is on its way out, comes last', () => {
    const others = [
      { ...held('a'), ready: false },
      { ...held('a'), retiring: true },
    ];
    for (const other of others) {
      const members = { [A]: member(), [B]: other };
      expect(decided({ members, candidates: candidates('a', 'b') })).toEqual([`${A} → b`]);
      expect(decided({ members, candidates: candidates('a') })).toEqual([`${A} → a`]);
    }
  });
});

describe('a pool with a cool-off', () => {
  const spaced = { coolOffMs: 20 * SECOND, candidates: candidates('a', 'b', 'c') };
  const three = { [A]: member({ rank: 1 }), [B]: member({ rank: 2 }), [C]: member({ rank: 3 }) };

  test('assigns three at t, t + 20 s and t + 40 s', () => {
    expect(decided({ ...spaced, members: three })).toEqual([`${A} → a`]);
    const granted = { ...three, [A]: member({ ready: false, node: refOf('a') }) };
    expect(decided({ ...spaced, members: granted })).toEqual([]);
    expect(nextAt({ ...spaced, members: granted })).toBeNull();
    expect(decided({ ...spaced, members: { ...three, [A]: member({ ready: false, toward: 'a' }) } })).toEqual([]);
    const confirmed = { ...spaced, members: { ...three, [A]: serving('a') }, lastAssignmentAt: at + SECOND };
    expect(nextAt(confirmed, at + SECOND)).toBe(at + 21 * SECOND);
    expect(decided(confirmed, at + 21 * SECOND - 1)).toEqual([]);
    expect(decided(confirmed, at + 21 * SECOND)).toEqual([`${B} → b`]);
    const again = { ...spaced, members: { ...three, [A]: serving('a'), [B]: serving('b') }, lastAssignmentAt: at + 22 * SECOND };
    expect(nextAt(again, at + 22 * SECOND)).toBe(at + 42 * SECOND);
    expect(decided(again, at + 42 * SECOND)).toEqual([`${C} → c`]);
  });

  test('whose cool-off is changed shifts the pending time by the difference', () => {
    const waiting = { ...spaced, members: three, lastAssignmentAt: at };
    expect(nextAt(waiting)).toBe(at + 20 * SECOND);
    expect(nextAt({ ...waiting, coolOffMs: 5 * SECOND })).toBe(at + 5 * SECOND);
    expect(nextAt({ ...waiting, coolOffMs: 5 * SECOND }, at + 6 * SECOND)).toBeNull();
    expect(nextAt({ ...waiting, coolOffMs: 90 * SECOND }, at + 6 * SECOND)).toBe(at + 90 * SECOND);
  });

  test('waits for no time when nothing waits, or no node can be had', () => {
    expect(nextAt({ ...spaced, members: { [A]: serving('a') }, lastAssignmentAt: at })).toBeNull();
    expect(nextAt({ ...spaced, candidates: [], members: three, lastAssignmentAt: at })).toBeNull();
  });

  test('never waits longer than the cool-off, even when the clock was set back', () => {
    expect(nextAt({ ...spaced, members: three, lastAssignmentAt: at + 3_600 * SECOND })).toBe(at + 20 * SECOND);
  });
});
