import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { creationAt, rememberedPool, termIn } from '../../../machines/status/restore-pool.ts';
import { A, B, C, START } from '../builders.ts';

const NOW = START;
const DEADLINE = 15_000;
const remembered = (status: unknown) => rememberedPool(status, NOW, DEADLINE);

describe('what a status remembers of a pool', () => {
  test('is nothing for a pool that never had one', () => {
    for (const status of [undefined, null, {}, { ips: {} }]) {
      expect(remembered(status)).toEqual({
        lastAssignmentAt: null,
        intent: null,
        inDoubtUntil: NOW + DEADLINE,
        created: [],
        addresses: {},
        absent: [],
        held: false,
      });
    }
  });

  test('is the time of the last assignment, to the millisecond', () => {
    expect(remembered({ lastAssignmentTime: '2026-03-01T12:00:00.123Z' }).lastAssignmentAt).toBe(START + 123);
    expect(remembered({ lastAssignmentTime: '2026-03-01T13:00:00+01:00' }).lastAssignmentAt).toBe(START);
    expect(remembered({ lastAssignmentTime: 'yesterday' }).lastAssignmentAt).toBeNull();
    expect(remembered({ lastAssignmentTime: START }).lastAssignmentAt).toBeNull();
  });

  test('is which addresses it created', () => {
    const ips = { [A]: { state: 'active', origin: 'Created' }, [B]: { state: 'active', origin: 'Found' }, [C]: { state: 'active' } };
    expect(remembered({ ips }).created).toEqual([A]);
  });

  test('is how often each address was elected', () => {
    const ips = { [A]: { state: 'active', epoch: 7 }, [B]: { state: 'active' } };
    expect(remembered({ ips }).addresses).toEqual({
      [A]: { epoch: 7, inDoubtUntil: null, shown: true },
      [B]: { epoch: 0, inDoubtUntil: null },
    });
  });

  test('is since when a node has not been Ready that has time to come back: its machine is asked for again', () => {
    const entry = { state: 'active', nodeName: 'a', providerID: 'digitalocean://1', notReadySince: '2026-03-01T11:59:50.000Z' };
    const node = { name: 'a', providerID: 'digitalocean://1', region: '', createdAt: 0 };
    expect(remembered({ ips: { [A]: entry } }).absent).toEqual([{ node, since: START - 10_000, failing: true, askAt: NOW, asks: 0 }]);
    expect(remembered({ ips: { [A]: { ...entry, notReadySince: '2026-03-01T13:00:00Z' } } }).absent[0]?.since).toBe(NOW);
    for (const lacking of [{ nodeName: undefined }, { providerID: 7 }]) {
      expect(remembered({ ips: { [A]: { ...entry, ...lacking } } }).absent).toEqual([]);
    }
  });

  test('is on which node an address served: should that not be Ready by now, it has its whole time to come back', () => {
    const absent = [
      { node: { name: 'a', providerID: 'digitalocean://1', region: '', createdAt: 0 }, since: NOW, failing: true, askAt: NOW, asks: 0 },
    ];
    const entry = { nodeName: 'a', providerID: 'digitalocean://1' };
    for (const serving of [{ state: 'active', machineState: 'Stable' }, { state: 'active' }]) {
      const read = remembered({ ips: { [A]: { ...entry, ...serving } } });
      expect([read.absent, read.addresses[A]?.servedOn]).toEqual([absent, 'digitalocean://1']);
    }
    for (const other of [
      { state: 'no-match', machineState: 'Unassigned' },
      { state: 'no-match' },
      { state: 'active', machineState: 'Pruning' },
    ]) {
      const read = remembered({ ips: { [A]: { ...entry, ...other } } });
      expect([read.absent, read.addresses[A]?.servedOn]).toEqual([[], undefined]);
    }
  });

  test('is that it held, and for which nodes', () => {
    const held = (name: string, providerID: string) => ({ name, providerID, notReadySince: '2026-03-01T11:59:50.000Z' });
    const safeHold = { nodes: [held('b', 'digitalocean://2'), held('a', 'digitalocean://1'), 7, { name: 'c' }] };
    const entry = { state: 'active', nodeName: 'a', providerID: 'digitalocean://1', notReadySince: '2026-03-01T11:59:50.000Z' };
    const read = remembered({ safeHold, ips: { [A]: entry } });
    expect([read.held, read.absent.map(({ node: { name }, since }) => [name, since])]).toEqual([
      true,
      [
        ['a', START - 10_000],
        ['b', START - 10_000],
      ],
    ]);
    for (const nothing of [undefined, null, {}, { nodes: [] }, { nodes: 'a' }]) expect(remembered({ safeHold: nothing }).held).toBe(false);
  });

  test.each([
    ['was being assigned', { machineState: 'Assigning' }],
    ['was in doubt', { machineState: 'CoolOff', inDoubt: true }],
  ])('is that an address which %s may still be moved by a call of before', (_, entry) => {
    expect(remembered({ ips: { [A]: entry } }).addresses[A]).toEqual({ epoch: 0, inDoubtUntil: NOW + DEADLINE });
  });

  test('is the creation that was decided, with the addresses that existed before', () => {
    const pendingCreate = { region: 'nyc3', knownAddresses: [A, 'rubbish', 7, B], startedAt: '2026-03-01T12:00:00.000Z' };
    expect(remembered({ pendingCreate }).intent).toEqual({ knownAddresses: [A, B], listedAt: START, region: 'nyc3' });
    expect(remembered({ pendingCreate: { knownAddresses: [], startedAt: '2026-03-01T12:00:00Z' } }).intent).toEqual({
      knownAddresses: [],
      listedAt: START,
      region: '',
    });
  });

  test('is where it was begun, unless the status is of before and does not say', () => {
    expect(creationAt({ pendingCreate: { provider: 'job.http', knownAddresses: [], startedAt: '2026-03-01T12:00:00Z' } })).toBe('job.http');
    expect([{ pendingCreate: { provider: '' } }, { pendingCreate: 7 }, null].map(creationAt)).toEqual([null, null, null]);
  });

  test.each<[string, unknown]>([
    ['no list', { startedAt: '2026-03-01T12:00:00Z' }],
    ['no time', { knownAddresses: [A] }],
    ['a time that is none', { knownAddresses: [A], startedAt: 'soon' }],
    ['another type', 'pending'],
  ])('is no creation when what was noted has %s', (_, pendingCreate) => expect(remembered({ pendingCreate }).intent).toBeNull());

  test('leaves out what is no address', () => {
    expect(remembered({ ips: { 'not-an-ip': { origin: 'Created' }, [A]: null, [B]: 'active' } })).toMatchObject({
      created: [],
      addresses: { [A]: { epoch: 0 }, [B]: { epoch: 0 } },
    });
  });
});

describe('the term in a status', () => {
  test.each<[unknown, number]>([
    [{ term: 12 }, 12],
    [{ term: 0 }, 0],
    [{}, 0],
    [null, 0],
    [{ term: '12' }, 0],
    [{ term: 1.5 }, 0],
    [{ term: Number.MAX_VALUE }, 0],
    [{ term: -3 }, 0],
    [[12], 0],
  ])('of %o is %d', (status, term) => expect(termIn(status)).toBe(term));
});

test('any JSON is read, into something that survives JSON', () => {
  const entry = fc.record(
    {
      origin: fc.jsonValue(),
      epoch: fc.jsonValue(),
      inDoubt: fc.jsonValue(),
      machineState: fc.jsonValue(),
      nodeName: fc.oneof(fc.string(), fc.jsonValue()),
      providerID: fc.oneof(fc.string(), fc.jsonValue()),
      notReadySince: fc.oneof(fc.constant('2026-03-01T12:00:00Z'), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const status = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        ips: fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom<string>(A, B, '__proto__', 'x'), fc.oneof(entry, fc.jsonValue()))),
        lastAssignmentTime: fc.oneof(
          fc.jsonValue(),
          fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        ),
        safeHold: fc.oneof(
          fc.jsonValue(),
          fc.record({ nodes: fc.oneof(fc.jsonValue(), fc.array(fc.record({ name: fc.jsonValue(), providerID: fc.jsonValue() }))) }),
        ),
        pendingCreate: fc.oneof(fc.jsonValue(), fc.record({ knownAddresses: fc.jsonValue(), startedAt: fc.jsonValue() })),
        term: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(status, (given) => {
      const read = remembered(given);
      expect(JSON.parse(JSON.stringify(read))).toEqual(read);
      expect(termIn(given)).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 500 },
  );
});
