import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { failureReason } from '../../../machines/model/failure.ts';
import type { Address, ErrorKind } from '../../../machines/model/types.ts';
import { NOT_ACQUIRING, type PoolContext, poolContext } from '../../../machines/pool/context.ts';
import type { AddressView, PoolView } from '../../../machines/pool/view.ts';
import type { PoolSpec } from '../../../machines/spec/pool.ts';
import { poolConditions, poolStatus } from '../../../machines/status/pool.ts';
import { A, absentNode, node as aNode, B, C, failure, member, providerIDOf, refOf, START, serving } from '../builders.ts';
import { poolInput, QUERY } from '../pool/world.ts';
import { shown, specOf, stable, view } from './status-view.ts';

/** Reason, status and message of each condition. */
const told = (given: PoolView) =>
  Object.fromEntries(poolConditions(given).map(({ type, status, reason, message }) => [type, [status, reason, message]]));

/** Takes nothing off machines outside of the cluster. */
const CAREFUL = { ...(specOf() as PoolSpec), adoption: 'Unassigned' as const };
/** On a machine that is no node of the cluster. */
const OUTSIDE = member({ holder: providerIDOf('stranger'), adopts: 'Outside' });

describe('the conditions of a pool', () => {
  test('whose addresses are all active', () => {
    expect(told(view())).toEqual({
      Ready: ['True', 'AllActive', '2 of 2 addresses are active'],
      Progressing: ['False', 'Idle', 'nothing is under way'],
      Degraded: ['False', 'AsExpected', 'nothing is wrong'],
    });
  });

  const cool = (kind: ErrorKind) => ({ [A]: shown('CoolOff', { failure: failure(kind) }), [B]: stable(B, 'b') });
  const waiting = { [A]: shown('Unassigned'), [B]: stable(B, 'b') };
  const contended = member({ contest: { moves: [START, START], restsSince: START } });

  test.each<[string, PoolView, string, string]>([
    ['its spec is not valid', view({ error: 'unknown provider "aws"' }), 'InvalidSpec', 'unknown provider "aws"'],
    [
      'several new addresses may be its own',
      view({ acquiring: { ...NOT_ACQUIRING, unclear: [B, C] } }),
      'CreateUnknown',
      'its outcome is unknown',
    ],
    [
      'no address can be created',
      view({ acquiring: { ...NOT_ACQUIRING, failure: failure('Invalid') } }),
      'CreateFailed',
      'answered Invalid',
    ],
    ['an older pool has its address', view({ conflicts: { [B]: 'default/older' } }), 'AddressConflict', 'default/older'],
    ['the provider does not know an address', view({}, cool('NotFound')), 'AddressNotFound', A],
    ['a node has another address', view({}, cool('NodeInUse')), 'NodeInUse', A],
    ['the credentials are refused', view({}, cool('Unauthorized')), 'Unauthorized', A],
    ['the provider limits it', view({}, cool('RateLimited')), 'RateLimited', A],
    ['the provider is away', view({}, cool('Unavailable')), 'AssignFailed', A],
    [
      'it holds',
      view({
        spec: specOf({ safeHold: { maxUnavailable: 1, windowSeconds: 60 } }),
        absent: [absentNode('a'), absentNode('b')],
        held: true,
      }),
      'SafeHold',
      'a, b do not match any more, 2 nodes where maxUnavailable is 1, and the provider',
    ],
    [
      'somebody else moves an address',
      view({ spec: specOf({ contention: { moves: 2, windowSeconds: 60 } }), members: { [A]: contended, [B]: serving('b') } }, waiting),
      'Contended',
      `${A} was moved by somebody else 2 times within 60 s: it is left attached to nothing, and tried again at 2026-03-01T12:01:00.000Z unless`,
    ],
    [
      'an address is in use elsewhere',
      view({ spec: CAREFUL, members: { [A]: OUTSIDE, [B]: serving('b') } }, waiting),
      'HeldElsewhere',
      `${A} is on digitalocean://stranger, which is no node of this cluster: it is taken once it is free (adopt: unassigned)`,
    ],
    ['no node is left', view({}, waiting), 'NoEligibleNode', `no eligible node is free for ${A}`],
    [
      'nobody can verify them',
      { ...view(), unverified: 'the provider refuses the token: 401' },
      'Unverified',
      'the provider refuses the token: 401',
    ],
  ])('say so when %s, and so does status.error', (_, given, reason, part) => {
    const { Degraded, Ready } = told(given);
    expect(Degraded).toEqual(['True', reason, expect.stringContaining(part)]);
    expect(poolStatus(given).error).toContain(part);
    if (Ready?.[0] === 'False') expect(Ready).toEqual(['False', reason, expect.stringContaining(part)]);
  });

  test('name the first trouble in the order in which a person would look', () => {
    const acquiring = { ...NOT_ACQUIRING, failure: failure('Invalid') };
    const conflicts = { [B]: 'default/older' };
    const all: Partial<PoolContext>[] = [{ error: 'x', acquiring, conflicts }, { acquiring, conflicts }, { conflicts }, {}];
    const reasons = all.map(
      (change) => told(view(change, { [A]: cool('NotFound')[A] as AddressView, [B]: shown('Unassigned') })).Degraded?.[1],
    );
    expect(reasons).toEqual(['InvalidSpec', 'CreateFailed', 'AddressConflict', 'AddressNotFound']);
  });

  test.each<[string, PoolView, string, string]>([
    ['reads what it has to know', view({}, {}, 'Priming'), 'Priming', 'reading'],
    ['creates an address', view({ acquiring: { ...NOT_ACQUIRING, unpublished: C } }), 'Creating', 'creating an address'],
    ['assigns one', view({}, { [A]: shown('Assigning'), [B]: stable(B, 'b') }), 'Assigning', A],
    [
      'waits for a node to which an address can move from one that is about to go',
      view({ leaving: [aNode('a').candidate] }),
      'Draining',
      `a is cordoned or about to go: ${A} leaves it as soon as another node is free`,
    ],
    [
      'gives a node time to come back',
      view({ spec: specOf({ recoveryGraceSeconds: 30 }), absent: [absentNode('a')] }),
      'Recovering',
      `a is not Ready, or runs no Ready pod: ${A} stays there until 2026-03-01T12:00:30.000Z`,
    ],
    ['waits for the time of the next one', view({ grantAt: START }, waiting), 'Spacing', '2026-03-01T12:00:00.000Z'],
  ])('say so when it %s, and that nothing is wrong', (_, given, reason, part) => {
    const { Progressing, Degraded } = told(given);
    expect(Progressing).toEqual(['True', reason, expect.stringContaining(part)]);
    expect(Degraded).toEqual(['False', 'AsExpected', 'nothing is wrong']);
  });

  test('call nothing wrong while an address only waits for its turn', () => {
    const members = { [A]: member(), [B]: member({ ready: false, node: refOf('b') }) };
    const turn = view(
      { spec: specOf({ assignmentCoolOffSeconds: 20 }), members },
      { [A]: shown('Unassigned'), [B]: shown('Assigning', { address: B }) },
    );
    expect([told(turn).Degraded?.[1], told(turn).Ready]).toEqual(['AsExpected', ['False', 'Assigning', '0 of 2 addresses are active']]);
  });

  test('call nothing wrong while an address is still read', () => {
    expect(told(view({}, { [A]: shown('Unassigned', { known: false }), [B]: stable(B, 'b') }))).toMatchObject({
      Ready: ['False', 'Waiting', '1 of 2 addresses are active'],
      Degraded: ['False', 'AsExpected', 'nothing is wrong'],
    });
  });

  test('are not Ready while addresses are wanted that do not exist, or belong to an older pool', () => {
    expect(told(view({ spec: specOf({ desiredIPs: 3 }) })).Ready).toEqual(['False', 'Waiting', '2 of 3 addresses are active']);
    expect(told(view({ conflicts: { [B]: 'default/older' } })).Ready?.[0]).toBe('False');
  });

  test('of a pool of which nothing is known yet are not Ready', () => {
    const empty: PoolView = { state: 'Priming', context: poolContext(poolInput()), addresses: {}, recordSet: null, term: 1, at: START };
    expect(told(empty).Ready).toEqual(['False', 'Priming', '0 of 0 addresses are active']);
  });
});

test('a hold names ten nodes, and counts the others', () => {
  const absent = Array.from({ length: 13 }, (_, index) => absentNode(`n${String(index).padStart(2, '0')}`));
  const held = view({ spec: specOf({ safeHold: { maxUnavailable: 5, windowSeconds: 60 } }), absent, held: true });
  expect(told(held).Degraded?.[2]).toContain('n08, n09 and 3 more do not match any more, 13 nodes where maxUnavailable is 5');
});

describe('a failure', () => {
  const KINDS: ErrorKind[] = [
    'NotFound',
    'InProgress',
    'NodeInUse',
    'Conflict',
    'RateLimited',
    'Unauthorized',
    'Invalid',
    'Unavailable',
    'Unsupported',
  ];

  test('of any kind has a reason as Kubernetes wants one', () => {
    for (const kind of KINDS) expect(failureReason({ kind })).toMatch(/^[A-Z][A-Za-z]+$/);
  });
});

/** Every word that a condition may have as its reason by what the machines say, from the page that tells what each one means. Why an object is not served the runtime says. */
const REASONS = new Set(
  [
    ...(
      readFileSync(join(import.meta.dirname, '../../../docs/conditions.md'), 'utf8')
        .split('\n## ')
        .find((section) => section.startsWith('Reasons\n'))
        ?.replace(/### Of what is not served\n[\s\S]*?(?=\n### )/, '')
        .replace(/^\| `(TurnFailed|EventSetAside|Pending)` .*$/gm, '') ?? ''
    ).matchAll(/^\| `(\w+)` \|/gm),
  ].map(([, reason]) => reason),
);

/** Mostly nothing: each trouble hides those behind it. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
const kinds = fc.constantFrom<ErrorKind>('NotFound', 'NodeInUse', 'Unauthorized', 'RateLimited', 'Unavailable');
const node = fc.option(fc.constantFrom('a', 'b').map(refOf));
const address = (which: Address): fc.Arbitrary<AddressView> =>
  fc
    .record({
      state: fc.constantFrom('Unassigned', 'FirewallOpening', 'Assigning', 'Pruning', 'Stable', 'Stable', 'CoolOff', 'Releasing'),
      known: fc.boolean(),
      assigned: node,
      elected: node,
      kind: fc.option(kinds),
      coolOffUntil: fc.option(fc.nat()),
      epoch: fc.nat(2),
    })
    .map(({ state, kind, ...rest }) =>
      shown(state, { ...rest, address: which, holder: rest.assigned?.providerID ?? null, failure: kind && failure(kind) }),
    );
const acquiring = fc
  .record({
    intent: seldom(fc.record({ knownAddresses: fc.constant([A]), listedAt: fc.nat(), region: fc.constantFrom('', 'nyc3') })),
    unpublished: seldom(fc.constant(C)),
    published: fc.subarray([C]),
    unclear: seldom(fc.constant([B, C])).map((several) => several ?? []),
    failure: seldom(
      fc.oneof(
        kinds.map((kind) => failure(kind)),
        fc.constant({ ...failure('Conflict'), reason: 'SpecReverted' as const }),
      ),
    ),
  })
  .map((how) => ({ ...NOT_ACQUIRING, ...how }));
const absence = fc.constantFrom('a', 'b').map((name) => absentNode(name));
const anyView: fc.Arbitrary<PoolView> = fc
  .record({
    state: fc.constantFrom('Serving', 'Serving', 'Serving', 'Priming', 'Invalid', 'Stopping'),
    error: seldom(fc.constant('ips or desiredIPs must be provided')),
    errorReason: fc.constantFrom(null, 'OperatorCredentialsNotAllowed' as const, 'CredentialsNotFound' as const),
    held: seldom(fc.constant(true)).map((held) => held ?? false),
    spec: fc.constantFrom(
      specOf(),
      specOf({ safeHold: { maxUnavailable: 1, windowSeconds: 60 } }),
      specOf({ contention: { moves: 1, windowSeconds: 60 } }),
      specOf({ desiredIPs: 1 }),
      CAREFUL,
      specOf({ desiredIPs: 3, assignmentCoolOffSeconds: 20 }),
      null,
    ),
    members: fc.constantFrom(
      { [A]: serving('a'), [B]: serving('b') },
      { [A]: member({ contest: { moves: [START], restsSince: START } }), [B]: serving('b') },
      { [A]: OUTSIDE, [B]: serving('b') },
    ),
    conflicts: seldom(fc.constant({ [B]: 'default/older' })).map((some) => some ?? {}),
    grantAt: seldom(fc.nat()),
    room: fc.constantFrom(
      null,
      { isGranted: true },
      ...['AddressLimitReached', 'AddressLedgerUnavailable'].map((reason) => ({
        isGranted: false,
        refusal: { reason, message: 'no room' },
      })),
    ),
    absent: fc.array(absence, { maxLength: 1 }),
    marks: seldom(
      fc.constantFrom(
        { isTold: true, paused: true, deleting: false, wrong: null },
        { isTold: true, paused: true, deleting: true, wrong: null },
        {
          isTold: false,
          paused: false,
          deleting: false,
          wrong: null,
          moveTo: 'asked',
          moves: [{ text: 'asked', address: A, node: 'c', begun: false, answer: null }],
        },
        { isTold: true, paused: false, deleting: false, wrong: 'another value' },
        { isTold: false, paused: false, deleting: false, wrong: null, parks: { parked: [{ address: A, by: 'alice' }], wrong: null } },
        { isTold: true, paused: false, deleting: false, wrong: null },
      ),
    ),
    leaving: fc.array(
      fc.constantFrom('a', 'b').map((name) => aNode(name).candidate),
      { maxLength: 1 },
    ),
    lastAssignmentAt: fc.option(fc.nat()),
    backOff: fc.constantFrom({}, { a: { until: START, attempts: 1 } }),
    acquiring,
    a: fc.option(address(A)),
    b: address(B),
    unverified: fc.constantFrom(null, 'the provider does not answer'),
    observed: fc.option(fc.constant({ query: QUERY, nodes: [aNode('a').notReady(), aNode('c')], serving: null })),
  })
  .map(({ state, a, b, unverified, observed, ...context }) => ({
    ...view(context, { ...(a && { [A]: a }), [B]: b }, state),
    unverified,
    observed,
  }));

test('whatever becomes of a pool, no text in its status is empty and every reason is one of those documented', () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(anyView, (given) => {
      const conditions = poolConditions(given);
      for (const { reason, message } of conditions) {
        expect([...REASONS]).toContain(reason);
        expect(message).not.toBe('');
        met.add(reason);
      }
      expect(JSON.stringify([poolStatus(given), conditions])).not.toMatch(/""|null|undefined|NaN/);
    }),
    { numRuns: 1000 },
  );
  expect([...met].sort()).toEqual([...REASONS].sort());
});
