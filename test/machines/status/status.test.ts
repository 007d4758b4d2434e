import { describe, expect, test } from 'vitest';
import type { AddressContext } from '../../../machines/address/context.ts';
import type { Member } from '../../../machines/pool/assignment.ts';
import { NOT_ACQUIRING, type PoolContext } from '../../../machines/pool/context.ts';
import { annotations, changesAt, type IPState, ipState, poolConditions, poolError, poolStatus } from '../../../machines/status/pool.ts';
import { rememberedPool } from '../../../machines/status/restore-pool.ts';
import { A, absentNode, B, C, failure, member, node, providerIDOf, refOf, SECOND, START, serving } from '../builders.ts';
import { shown, specOf, stable, view } from './status-view.ts';

describe('the state of an address', () => {
  const cases: [string, Partial<AddressContext>, IPState][] = [
    ['Stable', {}, 'active'],
    ['Electing', {}, 'in-progress'],
    ['FirewallOpening', {}, 'in-progress'],
    ['Assigning', {}, 'in-progress'],
    ['Pruning', {}, 'in-progress'],
    ['Releasing', {}, 'in-progress'],
    ['CoolOff', { failure: failure('Unavailable') }, 'error'],
    ['Unassigned', { assigned: refOf('a') }, 'no-match'],
    ['Unassigned', {}, 'unassigned'],
    ['Unassigned', { known: false }, 'in-progress'],
  ];

  test.each(cases)('in %s with %o is told in FLIPOP’s word: %s', (state, change, word) => {
    expect(ipState(shown(state, change))).toBe(word);
    expect(poolStatus(view({}, { [A]: shown(state, change) })).ips[A]).toMatchObject({ state: word, machineState: state });
  });

  test('that is not started yet is in progress', () => expect(poolStatus(view({}, {})).ips[A]).toEqual({ state: 'in-progress' }));

  test('beyond desiredIPs is disabled', () => {
    expect(poolStatus(view({ spec: specOf({ desiredIPs: 1 }) })).ips).toMatchObject({
      [A]: { state: 'active' },
      [B]: { state: 'disabled' },
    });
  });

  test('that another pool has is an error that names it', () => {
    expect(poolStatus(view({ conflicts: { [B]: 'default/older' } })).ips[B]).toEqual({
      state: 'error',
      error: `${B} belongs to pool default/older, which keeps it`,
    });
  });

  test('that the pool lists no more is told as long as an assign of it may be under way', () => {
    const told = (change: Partial<Member>) =>
      poolStatus(
        view(
          { members: { [C]: { ...serving('c'), retiring: true, ...change } } },
          { [C]: shown('Assigning', { elected: refOf('c'), epoch: 2 }) },
        ),
      ).ips[C];
    expect(told({ confirmed: false })).toEqual({
      state: 'in-progress',
      machineState: 'Assigning',
      origin: 'Found',
      electedNode: 'c',
      epoch: 2,
    });
    expect(told({ node: null, toward: 'c' })).toMatchObject({ electedNode: 'c' });
    expect([told({}), told({ node: null })]).toEqual([undefined, undefined]);
  });

  test('says where it is, where it goes, and what a rebuild wants to know', () => {
    const moving = shown('CoolOff', {
      address: A,
      origin: 'Created',
      assigned: refOf('a'),
      holder: providerIDOf('a'),
      elected: refOf('b'),
      previous: [refOf('z'), refOf('c')],
      epoch: 7,
      failure: failure('Unavailable'),
      coolOffUntil: START,
      inDoubtUntil: START,
    });
    expect(poolStatus(view({}, { [A]: moving })).ips[A]).toEqual({
      state: 'error',
      nodeName: 'a',
      providerID: providerIDOf('a'),
      error: 'the provider answered Unavailable',
      machineState: 'CoolOff',
      origin: 'Created',
      electedNode: 'b',
      previousNodes: ['c', 'z'],
      epoch: 7,
      coolOffUntil: '2026-03-01T12:00:00.000Z',
      inDoubt: true,
    });
  });

  test('says nothing of what is over once it is active', () => {
    const served = { ...stable(A, 'a'), context: { ...stable(A, 'a').context, failure: failure('Unavailable'), coolOffUntil: START } };
    expect(poolStatus(view({}, { [A]: served })).ips[A]).toEqual({
      state: 'active',
      nodeName: 'a',
      providerID: providerIDOf('a'),
      machineState: 'Stable',
      origin: 'Found',
      epoch: 1,
    });
  });

  test('says until when it is left to somebody else who moves it', () => {
    const contest = { moves: [START - 5, START - 1], restsSince: START - SECOND };
    const spec = specOf({ contention: { moves: 2, windowSeconds: 60 } });
    const told = (change: Partial<Member>) =>
      poolStatus(view({ spec, members: { [A]: member({ contest, ...change }) } }, { [A]: shown('Unassigned') })).ips[A]?.contendedUntil;
    expect(told({})).toBe('2026-03-01T12:00:59.000Z');
    expect(told({ node: refOf('a') })).toBeUndefined();
    expect(told({ contest: { ...contest, restsSince: START - 60 * SECOND } })).toBeUndefined();
  });

  test('says since when its node has had time to come back, and until when, while it is active there', () => {
    const absent = [absentNode('a', { since: START - SECOND })];
    const given = { spec: specOf({ recoveryGraceSeconds: 30 }), absent };
    expect(poolStatus(view(given)).ips[A]).toMatchObject({
      state: 'active',
      notReadySince: '2026-03-01T11:59:59.000Z',
      graceUntil: '2026-03-01T12:00:29.000Z',
    });
    const elsewhere = { [A]: shown('Assigning', { address: A, assigned: refOf('a'), elected: refOf('b') }), [B]: stable(B, 'b') };
    const told = [poolStatus(view(given)).ips[B], poolStatus(view(given, elsewhere)).ips[A]];
    for (const entry of told) expect([entry?.notReadySince, entry?.graceUntil]).toEqual([undefined, undefined]);
  });

  test('says that it is held while its pool holds, and the pool for which nodes: so that a rebuild goes on with it', () => {
    const absent = [absentNode('a', { since: START - SECOND }), absentNode('b', { failing: false })];
    const told = poolStatus(view({ spec: specOf({ safeHold: { maxUnavailable: 1, windowSeconds: 60 } }), absent, held: true }));
    expect(told.ips[A]).toMatchObject({ state: 'active', held: true, notReadySince: '2026-03-01T11:59:59.000Z' });
    expect(told.ips[A]).not.toHaveProperty('graceUntil');
    const read = rememberedPool(JSON.parse(JSON.stringify(told)), START, 15 * SECOND);
    expect([read.held, read.absent.map(({ node: { name, providerID }, since }) => [name, providerID, since])]).toEqual([
      true,
      [
        ['a', providerIDOf('a'), START - SECOND],
        ['b', providerIDOf('b'), START],
      ],
    ]);
    expect(poolStatus(view({ absent }))).not.toHaveProperty('safeHold');
  });

  test('is listed only while the spec lists it', () => {
    expect(Object.keys(poolStatus(view({ spec: specOf({ ips: [B] }) })).ips)).toEqual([B]);
  });

  test('that was just published is listed before the spec that lists it is seen', () => {
    const acquiring = { ...NOT_ACQUIRING, published: [C] };
    expect(Object.keys(poolStatus(view({ spec: specOf({ desiredIPs: 3 }), acquiring })).ips)).toEqual([A, B, C]);
  });
});

describe('the status of a pool', () => {
  test('counts what is active, and says of which generation and which leader it is', () => {
    expect(poolStatus(view({}, { [A]: stable(A, 'a'), [B]: shown('Unassigned') }))).toMatchObject({
      activeIPs: 1,
      observedGeneration: 3,
      term: 4,
    });
  });

  test('tells which nodes wait for an address and which wait after an error', () => {
    const candidates = ['d', 'c', 'b', 'a', 'e'].map((name) => node(name).candidate);
    const until = START + SECOND;
    const told = poolStatus(view({ candidates, fullNodes: ['e'], backOff: { c: { until, attempts: 1 }, a9: { until, attempts: 2 } } }));
    expect([told.assignableNodes, told.nodeErrors]).toEqual([['d'], ['a9', 'c']]);
  });

  test('tells of a wait after an error until its time is over, and when that is', () => {
    const candidates = ['d', 'c'].map((name) => node(name).candidate);
    const backOff = { c: { until: START + SECOND, attempts: 1 }, d: { until: START + 5 * SECOND, attempts: 2 } };
    const at = (ms: number) => ({ ...view({ candidates, members: {}, backOff }), at: START + ms });
    const told = [at(0), at(SECOND), at(5 * SECOND)].map((given) => [poolStatus(given).nodeErrors, poolStatus(given).assignableNodes]);
    expect(told).toEqual([
      [['c', 'd'], []],
      [['d'], ['c']],
      [[], ['d', 'c']],
    ]);
    expect([at(0), at(SECOND), at(5 * SECOND)].map(changesAt)).toEqual([START + SECOND, START + 5 * SECOND, null]);
  });

  test('is one from which a rebuild starts', () => {
    const intent = { knownAddresses: [A, B], listedAt: START + 5, region: 'nyc3' };
    const created = { ...stable(A, 'a'), context: { ...stable(A, 'a').context, origin: 'Created' as const, epoch: 9 } };
    const assigning = shown('Assigning', { address: B, elected: refOf('b'), epoch: 2 });
    const told = poolStatus(
      view({ lastAssignmentAt: START + 7, acquiring: { ...NOT_ACQUIRING, intent } }, { [A]: created, [B]: assigning }),
    );
    expect(rememberedPool(JSON.parse(JSON.stringify(told)), START + 60 * SECOND, 15 * SECOND)).toMatchObject({
      lastAssignmentAt: START + 7,
      intent,
      created: [A],
      addresses: { [A]: { epoch: 9, inDoubtUntil: null }, [B]: { epoch: 2, inDoubtUntil: START + 75 * SECOND } },
    });
  });

  test('bears no times that no date can hold', () => {
    const waiting = shown('CoolOff', { failure: failure('RateLimited'), coolOffUntil: Number.MAX_VALUE });
    expect(poolStatus(view({}, { [A]: waiting })).ips[A]?.coolOffUntil).toBe('+275760-09-13T00:00:00.000Z');
    expect(poolConditions(view({ grantAt: Number.MAX_VALUE })).map(({ reason }) => reason)).toContain('Spacing');
  });

  test.each<[string, Partial<PoolContext>, string | null]>([
    ['nothing', {}, null],
    ['an invalid spec', { error: 'unknown provider "aws"' }, 'unknown provider "aws"'],
    [
      'a creation that fails',
      { acquiring: { ...NOT_ACQUIRING, failure: failure('Invalid') } },
      'creating new ip with provider: the provider answered Invalid',
    ],
    [
      'a creation that is unclear',
      { acquiring: { ...NOT_ACQUIRING, unclear: [B, C] } },
      `creating new ip with provider: its outcome is unknown, and ${B}, ${C} are new: list the one that belongs to this pool in spec.ips, and delete the others`,
    ],
  ])('has as its error %s', (_, change, error) => {
    expect(poolError(view(change).context)).toBe(error);
    expect(poolStatus(view(change)).error).toBe(error ?? undefined);
  });
});

describe('the annotations of nodes', () => {
  test('name the address that stands there, as long as the node may hold it', () => {
    const moving = { ...serving('b'), node: refOf('c'), confirmed: false };
    const members = { [A]: serving('a'), [B]: moving };
    expect(annotations(view({ members }))).toEqual({ a: A, b: B });
    expect(annotations(view({ members, candidates: [node('a').candidate] }))).toEqual({ a: A });
    expect(annotations(view({ members: { [A]: { ...serving('a'), eligible: false } } }))).toEqual({});
  });
});
