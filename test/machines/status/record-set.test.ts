import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RecordSetContext, recordSetContext } from '../../../machines/dns/record-set.ts';
import type { RecordsFailure } from '../../../machines/events.ts';
import type { ErrorKind } from '../../../machines/model/types.ts';
import { checkRecordSetSpec } from '../../../machines/spec/record-set.ts';
import { recordSetConditions, recordSetEvents, recordSetProblem, recordSetStatus } from '../../../machines/status/record-set.ts';
import { recordsReason } from '../../../machines/status/record-set-reasons.ts';
import { A, B, registry, START } from '../builders.ts';
import { POOL_SET, REF, setSpec, WEB } from '../dns/world.ts';

const { spec } = checkRecordSetSpec(setSpec().spec, registry());

/** A NodeDNSRecordSet of two nodes, as its zone has it; say what is different. */
const context = (change: Partial<RecordSetContext> = {}): RecordSetContext => ({
  ...recordSetContext({ id: WEB, ref: REF, since: START }),
  generation: 3,
  spec,
  isKnown: true,
  nodes: 2,
  target: spec?.target ?? null,
  addresses: [A, B],
  revision: 1,
  isClaimed: true,
  outcome: { failure: null },
  ...change,
});
const failing = (kind: ErrorKind) => context({ outcome: { failure: { kind, message: 'the provider said so' } } });

const status = (given: RecordSetContext) => recordSetStatus({ context: given, term: 4 });
const told = (given: RecordSetContext) =>
  Object.fromEntries(
    recordSetConditions({ context: given, term: 4 }).map(({ type, status: is, reason, message }) => [type, [is, reason, message]]),
  );
const events = (before: RecordSetContext | undefined, after: RecordSetContext) =>
  recordSetEvents(before, after).map(({ type, reason, action, message }) => `${type} ${reason} ${action}: ${message}`);

describe('the status of a NodeDNSRecordSet', () => {
  test.each<[string, RecordSetContext, object]>([
    ['active when all is published', context(), { state: 'active', records: 2, addresses: [A, B] }],
    ['in-progress while its nodes are read', context({ isKnown: false }), { state: 'in-progress', records: 0 }],
    ['in-progress while the zone is written', context({ outcome: null }), { state: 'in-progress', records: 0 }],
    ['in-progress without an address', context({ addresses: [] }), { state: 'in-progress', records: 0 }],
    [
      'error when the zone says so',
      failing('Unavailable'),
      { state: 'error', records: 0, error: 'Failed to update DNS: the provider said so' },
    ],
    [
      'error when its spec is not valid',
      context({ error: 'unknown provider "x"', isKnown: false }),
      { state: 'error', records: 0, error: 'unknown provider "x"' },
    ],
  ])('is %s', (_, given, shown) => expect(status(given)).toEqual({ observedGeneration: 3, term: 4, ...shown }));
});

describe('the conditions of a NodeDNSRecordSet', () => {
  const IDLE = ['False', 'Idle', 'nothing is under way'];
  const FINE = ['False', 'AsExpected', 'nothing is wrong'];

  test('that stands', () => {
    expect(told(context())).toEqual({
      Ready: ['True', 'Published', 'web.example.com lists 2 addresses'],
      Progressing: IDLE,
      Degraded: FINE,
    });
  });

  test.each<[string, RecordSetContext, string, string]>([
    ['its nodes are read', context({ isKnown: false }), 'Priming', 'reading the nodes and the pods'],
    ['the zone is written', context({ outcome: null, addresses: [A] }), 'Publishing', 'web.example.com is to list 1 address'],
  ])('say so while %s, and that nothing is wrong', (_, given, reason, message) => {
    expect(told(given)).toEqual({ Ready: ['False', reason, message], Progressing: ['True', reason, message], Degraded: FINE });
  });

  test.each<[string, RecordSetContext, string, string]>([
    ['its spec is not valid', context({ error: 'unknown provider "x"', isKnown: false }), 'InvalidSpec', 'unknown provider "x"'],
    [
      'no node matches',
      context({ addresses: [], nodes: 0 }),
      'NoAddress',
      'no node matches: the records of web.example.com stay as they are',
    ],
    [
      'no node has an address',
      context({ addresses: [], without: ['a', 'b'] }),
      'NoAddress',
      'no matching node has an address of type ExternalIP: the records of web.example.com stay as they are',
    ],
    ['there is no such zone', failing('NotFound'), 'ZoneNotFound', 'Failed to update DNS: the provider said so'],
    ['something else has the name', failing('Conflict'), 'RecordConflict', 'Failed to update DNS: the provider said so'],
    [
      'the name lies outside of the zone',
      context({ outcome: { failure: { kind: 'Invalid', message: 'www.example.org. is not in zone example.com', outsideZone: true } } }),
      'NameOutsideZone',
      'Failed to update DNS: www.example.org. is not in zone example.com',
    ],
  ])('say so when %s', (_, given, reason, message) => {
    expect(told(given)).toEqual({ Ready: ['False', reason, message], Progressing: IDLE, Degraded: ['True', reason, message] });
  });

  test('warn about nodes without an address, and are Ready all the same', () => {
    const { Ready, Degraded } = told(context({ without: ['c'], nodes: 3 }));
    expect([Ready?.[0], Degraded]).toEqual([
      'True',
      ['True', 'NodesWithoutAddress', '1 of 3 matching nodes have no address of type ExternalIP: c'],
    ]);
    const many = Array.from({ length: 12 }, (_, index) => `node-${index + 10}`);
    expect(told(context({ without: many, nodes: 14 })).Degraded?.[2]).toMatch(/node-10, .*, node-19 and 2 more$/);
  });

  test('of a pool’s set name the pool’s want of active addresses, and nothing when none is wanted', () => {
    const pool = { ...recordSetContext({ id: POOL_SET, ref: null, since: START }), isKnown: true };
    expect(recordSetProblem({ ...pool, target: spec?.target ?? null })?.message).toBe(
      'no address of the pool is active: the records of web.example.com stay as they are',
    );
    expect([recordSetProblem(pool), told(pool).Ready]).toEqual([null, ['False', 'Waiting', 'nothing is published']]);
  });
});

describe('the Events of a NodeDNSRecordSet', () => {
  const publishing = context({ outcome: null });

  test('tell what was published, once', () => {
    expect(events(publishing, context())).toEqual(['Normal Published Publish: web.example.com lists 2 addresses']);
    expect(events(context(), context())).toEqual([]);
    expect(events(context({ isKnown: false, isClaimed: false }), context())).toEqual([]);
    expect(events(context({ revision: 1 }), context({ revision: 2 }))).toHaveLength(1);
  });

  test('tell a failure with its reason, once, and that it is over', () => {
    expect(events(publishing, failing('Invalid'))).toEqual(['Warning RecordRefused Publish: Failed to update DNS: the provider said so']);
    expect(events(failing('Invalid'), failing('Invalid'))).toEqual([]);
    expect(events(failing('Invalid'), context())).toEqual(['Normal Published Publish: web.example.com lists 2 addresses']);
  });

  test('tell why a spec is not valid, and why nothing is written', () => {
    expect(events(context(), context({ error: 'unknown provider "x"', isKnown: false }))).toEqual([
      'Warning InvalidSpec Validate: unknown provider "x"',
    ]);
    expect(events(context(), context({ addresses: [], nodes: 0, outcome: null }))).toEqual([
      'Warning NoAddress Publish: no node matches: the records of web.example.com stay as they are',
    ]);
    expect(events(undefined, context({ isKnown: false, outcome: null }))).toEqual([]);
  });
});

/** Every word that a condition may have as its reason, from the page that tells what each one means. */
const REASONS = [
  ...(
    readFileSync(join(import.meta.dirname, '../../../docs/conditions.md'), 'utf8')
      .split('\n## ')
      .find((section) => section.startsWith('A NodeDNSRecordSet\n')) ?? ''
  ).matchAll(/^\| `([A-Z]\w+)` \|/gm),
].map(([, reason]) => reason ?? '');

test('whatever becomes of a record set, no text in its status is empty and every reason is one of those documented', () => {
  const kinds: ErrorKind[] = [
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
  const met = new Set<string>();
  const outside: RecordsFailure = { kind: 'Invalid', message: 'no', outsideZone: true };
  const failures: RecordsFailure[] = [...kinds.map((kind) => ({ kind, message: 'no' })), outside];
  const any = fc
    .record({
      isKnown: fc.boolean(),
      error: fc.constantFrom(null, null, 'invalid dnsRecordSet specification'),
      errorReason: fc.constantFrom(null, 'OperatorCredentialsNotAllowed' as const),
      addresses: fc.constantFrom([], [A], [A, B]),
      without: fc.constantFrom([], ['c']),
      nodes: fc.nat(3),
      target: fc.constantFrom(spec?.target ?? null, null),
      outcome: fc.option(fc.record({ failure: fc.option(fc.constantFrom(...failures)) })),
    })
    .map(context);
  fc.assert(
    fc.property(any, (given) => {
      const conditions = recordSetConditions({ context: given, term: 1 });
      for (const { reason } of conditions) met.add(reason);
      expect(JSON.stringify([status(given), conditions])).not.toMatch(/""|null|undefined|NaN/);
    }),
    { numRuns: 1000 },
  );
  expect([...met].sort()).toEqual(REASONS.toSorted());
  for (const kind of kinds) expect(REASONS).toContain(recordsReason({ kind }));
});
