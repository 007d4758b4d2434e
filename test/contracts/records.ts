import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { ActorRecord, CellWrite, Claim, JournalEntry, RecordStore, TimerCommand } from '../../actors/ports/records.ts';

/** A record store and the accidents that befall it. */
export interface RecordsHarness {
  readonly store: RecordStore;
  /** The same store as another process sees it. */
  another(): RecordStore;
  /** Everything is gone. */
  wipe(): Promise<void>;
  /** The server runs anew, with all that it had acknowledged. */
  restart(): Promise<void>;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

const CELL = 'pool/default/web';
const IP = `${CELL}/ip/203.0.113.7`;

const record = (version: number, deviation: Partial<ActorRecord> = {}): ActorRecord => ({
  chart: 'ip',
  chartVersion: 1,
  snapshot: { value: 'Assigning', context: { empty: [], nothing: null, text: 'zwölf "Zeichen"\n\u2028', big: 1_767_225_600_123 } },
  waiting: { assign: { commandId: `${IP}.1.${version}.0` }, coolOff: { commandId: `${IP}.1.${version}.1`, dueAt: 1_767_225_600_123 } },
  version,
  term: 1,
  ...deviation,
});

const write = (deviation: Partial<CellWrite> = {}): CellWrite => ({
  cell: CELL,
  term: 1,
  records: [],
  outbox: { add: [], clear: [] },
  claims: { take: [], free: [] },
  seen: {},
  journal: [],
  ...deviation,
});

/** Writes version `expected + 1` of one actor. */
const change = (actor: string, expected: number, deviation: Partial<CellWrite> = {}): CellWrite =>
  write({ records: [{ actor, expected, record: record(expected + 1) }], ...deviation });

const timer = (id: string): TimerCommand => ({ kind: 'timer', id, actor: IP, sendId: 'coolOff', dueAt: 1_767_225_600_123 });

const claim = (node: string, owner: string, limit = 1): Claim => ({ provider: 'digitalocean', node, owner, limit });

const entry = (at: number): JournalEntry => ({ actor: IP, at, event: 'NODE_GRANTED', from: 'Unassigned', to: { Electing: 'x' } });

/** The suite that every implementation of the record store passes. */
export const describeRecords = (name: string, setup: () => Promise<RecordsHarness>): void => {
  describe(`the record store ${name}`, () => {
    let world: RecordsHarness;
    let store: RecordStore;
    beforeEach(async () => {
      world = await setup();
      store = world.store;
      expect(await store.openTerm(1)).toBe(true);
    });
    afterEach(() => world.close());

    const saved = async (one: CellWrite): Promise<void> => {
      expect(await store.save(one)).toEqual({ kind: 'saved' });
    };

    describe('a term', () => {
      test('is none in an empty store', async () => {
        await world.wipe();
        expect((await store.state()).term).toBeNull();
      });

      test('opens only upwards, and once more is harmless', async () => {
        expect(await store.openTerm(5)).toBe(true);
        expect(await store.openTerm(5)).toBe(true);
        expect(await world.another().openTerm(4)).toBe(false);
        expect((await store.state()).term).toBe(5);
      });

      test('is not that of a server which has not opened it, and may lack what was decided since', async () => {
        await saved(change(IP, 0));
        expect(await store.fence(CELL, IP, 'assign')).toEqual({ commandId: `${IP}.1.1.0`, term: 1, isElsewhere: false });
        const { runId } = await store.state();
        await world.restart();
        const another = world.another();
        expect((await another.state()).runId).not.toBe(runId);
        expect(await another.fence(CELL, IP, 'assign')).toEqual({ commandId: `${IP}.1.1.0`, term: 1, isElsewhere: true });
        expect(await another.openTerm(2)).toBe(true);
        expect((await another.fence(CELL, IP, 'assign')).isElsewhere).toBe(false);
      });

      test('writes nothing on another server than the one that opened it, but for whoever makes that one complete', async () => {
        await saved(change(IP, 0));
        await world.restart();
        const another = world.another();
        expect(await another.save(change(IP, 1))).toEqual({ kind: 'lost' });
        expect((await another.load(CELL))?.records[IP]?.version).toBe(1);
        expect(await another.save(change(IP, 1, { overwrites: true }))).toEqual({ kind: 'saved' });
        expect(await another.save(change(IP, 2))).toEqual({ kind: 'lost' });
        expect(await another.openTerm(2)).toBe(true);
        expect(await another.save(change(IP, 2, { term: 2 }))).toEqual({ kind: 'saved' });
      });

      test('that is over writes nothing', async () => {
        await saved(change(IP, 0));
        expect(await world.another().openTerm(2)).toBe(true);
        expect(await store.save(change(IP, 1))).toEqual({ kind: 'stale', what: 'term' });
        expect(await store.drop(CELL, 1)).toBe(false);
        expect(await store.resetClaims('digitalocean', [], 1)).toBe(false);
        expect((await store.load(CELL))?.records[IP]?.version).toBe(1);
      });

      test('above the open one is that of a store that went back in time: nothing is written', async () => {
        expect(await store.save(change(IP, 0, { term: 2 }))).toEqual({ kind: 'lost' });
        expect(await store.load(CELL)).toBeNull();
      });
    });

    describe('a cell', () => {
      test('that was never written is null and unknown', async () => {
        expect(await store.load(CELL)).toBeNull();
        expect(await store.cells()).toEqual([]);
      });

      test('comes back as it was saved, for another process too', async () => {
        const other = 'pool/default/api';
        const both = [
          { actor: CELL, expected: 0, record: record(1, { chart: 'pool', waiting: {} }) },
          { actor: IP, expected: 0, record: record(1) },
        ];
        await saved(write({ records: both, seen: { 'firewall/digitalocean/web': 'firewall.1.2.0' } }));
        await saved(write({ cell: other, records: [{ actor: other, expected: 0, record: record(1) }] }));
        const stored = await world.another().load(CELL);
        expect(stored?.records).toEqual({ [CELL]: both[0]?.record, [IP]: both[1]?.record });
        expect(stored?.seen).toEqual({ 'firewall/digitalocean/web': 'firewall.1.2.0' });
        expect(stored?.outbox).toEqual([]);
        expect(await world.another().cells()).toEqual([other, CELL]);
      });

      test('refuses a write over a version that another process wrote meanwhile', async () => {
        await saved(change(IP, 0));
        expect(await world.another().save(change(IP, 1))).toEqual({ kind: 'saved' });
        expect(await store.save(change(IP, 1))).toEqual({ kind: 'stale', what: 'version' });
        expect(await store.save(change(IP, 0))).toEqual({ kind: 'stale', what: 'version' });
        expect((await store.load(CELL))?.records[IP]?.version).toBe(2);
      });

      test('says that what was acknowledged is gone when it holds an older version than was written', async () => {
        await saved(change(IP, 0));
        expect(await store.save(change(IP, 2))).toEqual({ kind: 'lost' });
        expect((await store.load(CELL))?.records[IP]?.version).toBe(1);
      });

      test('is written all or nothing', async () => {
        await saved(change(IP, 0));
        const half = write({
          records: [
            { actor: CELL, expected: 0, record: record(1) },
            { actor: IP, expected: 7, record: record(8) },
          ],
          outbox: { add: [timer('t.1')], clear: [] },
          claims: { take: [claim('node-a', IP)], free: [] },
          seen: { other: 'x' },
          journal: [entry(1)],
        });
        expect(await store.save(half)).toEqual({ kind: 'lost' });
        expect(await store.load(CELL)).toEqual({ records: { [IP]: record(1) }, outbox: [], seen: {} });
        expect(await store.journal(CELL, 10)).toEqual([]);
        await saved(change(IP, 1, { claims: { take: [claim('node-a', 'somebody')], free: [] } }));
      });

      test('forgets a record that is deleted, and takes it as new afterwards', async () => {
        await saved(change(IP, 0));
        await saved(write({ records: [{ actor: IP, expected: 1, record: null }] }));
        expect((await store.load(CELL))?.records).toEqual({});
        expect((await store.fence(CELL, IP, 'assign')).commandId).toBeNull();
        await saved(change(IP, 0));
      });

      test('is gone once dropped, with all that was its own', async () => {
        await saved(change(IP, 0, { outbox: { add: [timer('t.1')], clear: [] }, seen: { other: 'x' }, journal: [entry(1)] }));
        expect(await store.drop(CELL, 1)).toBe(true);
        expect(await store.load(CELL)).toBeNull();
        expect(await store.cells()).toEqual([]);
        expect(await store.journal(CELL, 10)).toEqual([]);
        await saved(change(IP, 0));
        expect(await store.load(CELL)).toEqual({ records: { [IP]: record(1) }, outbox: [], seen: {} });
      });
    });

    describe('the outbox', () => {
      test('keeps what was added, in that order, until it is cleared', async () => {
        const ids = Array.from({ length: 12 }, (_, index) => `t.${index}`);
        await saved(change(IP, 0, { outbox: { add: ids.map(timer), clear: [] } }));
        await saved(change(IP, 1, { outbox: { add: [timer('u.0')], clear: ['t.3', 't.0', 'unknown'] } }));
        const left = ids.filter((id) => id !== 't.0' && id !== 't.3');
        expect((await store.load(CELL))?.outbox).toEqual([...left, 'u.0'].map(timer));
      });

      test('can be cleared by a write that changes no record', async () => {
        await saved(change(IP, 0, { outbox: { add: [timer('t.0')], clear: [] } }));
        await saved(write({ outbox: { add: [], clear: ['t.0'] } }));
        expect((await store.load(CELL))?.outbox).toEqual([]);
      });
    });

    test('keeps the last send per sender', async () => {
      await saved(change(IP, 0, { seen: { a: 'a.1.1.0', b: 'b.1.1.0' } }));
      await saved(change(IP, 1, { seen: { a: 'a.1.2.0' } }));
      expect((await store.load(CELL))?.seen).toEqual({ a: 'a.1.2.0', b: 'b.1.1.0' });
    });

    describe('a claim', () => {
      test('beyond the limit names the nodes and writes nothing', async () => {
        await saved(change(IP, 0, { claims: { take: [claim('node-b', 'x'), claim('node-a', 'x'), claim('node-c', 'x', 2)], free: [] } }));
        const take = ['node-c', 'node-b', 'node-a', 'node-d'].map((node) => claim(node, 'y', node === 'node-c' ? 2 : 1));
        expect(await store.save(change(IP, 1, { claims: { take, free: [] }, journal: [entry(1)] }))).toEqual({
          kind: 'claimsFull',
          nodes: ['node-a', 'node-b'],
        });
        expect((await store.load(CELL))?.records[IP]?.version).toBe(1);
        expect(await store.journal(CELL, 10)).toEqual([]);
        await saved(change(IP, 1, { claims: { take: [claim('node-d', 'z')], free: [] } }));
      });

      test('that its owner has already is no second one', async () => {
        await saved(change(IP, 0, { claims: { take: [claim('node-a', 'x')], free: [] } }));
        await saved(change(IP, 1, { claims: { take: [claim('node-a', 'x')], free: [] } }));
      });

      test('is free for others once freed, in the same write too', async () => {
        await saved(change(IP, 0, { claims: { take: [claim('node-a', 'x')], free: [] } }));
        const free = [{ provider: 'digitalocean', node: 'node-a', owner: 'x' }];
        await saved(change(IP, 1, { claims: { take: [claim('node-a', 'y')], free } }));
        expect(await store.save(change(IP, 2, { claims: { take: [claim('node-a', 'x')], free } }))).toMatchObject({ kind: 'claimsFull' });
      });

      test('at another provider is another one', async () => {
        await saved(change(IP, 0, { claims: { take: [claim('node-a', 'x')], free: [] } }));
        await saved(change(IP, 1, { claims: { take: [{ ...claim('node-a', 'y'), provider: 'other' }], free: [] } }));
      });

      test('counts as it was reset, and no other does', async () => {
        await saved(change(IP, 0, { claims: { take: [claim('node-a', 'x'), { ...claim('node-a', 'x'), provider: 'other' }], free: [] } }));
        expect(await store.resetClaims('digitalocean', [claim('node-b', 'y'), claim('node-b', 'z', 2)], 1)).toBe(true);
        await saved(change(IP, 1, { claims: { take: [claim('node-a', 'y')], free: [] } }));
        expect(await store.save(change(IP, 2, { claims: { take: [claim('node-b', 'x', 2)], free: [] } }))).toMatchObject({
          nodes: ['node-b'],
        });
        const other = { ...claim('node-a', 'y'), provider: 'other' };
        expect(await store.save(change(IP, 2, { claims: { take: [other], free: [] } }))).toMatchObject({ nodes: ['node-a'] });
      });
    });

    describe('the fence', () => {
      test('tells the command that is waited for, and the term', async () => {
        await saved(change(IP, 0));
        expect(await store.fence(CELL, IP, 'assign')).toEqual({ commandId: `${IP}.1.1.0`, term: 1, isElsewhere: false });
        await world.another().save(change(IP, 1));
        expect(await store.fence(CELL, IP, 'assign')).toEqual({ commandId: `${IP}.1.2.0`, term: 1, isElsewhere: false });
      });

      test('tells that nothing is waited for under an unknown name, actor or cell', async () => {
        await saved(change(IP, 0));
        expect((await store.fence(CELL, IP, 'prune')).commandId).toBeNull();
        expect((await store.fence(CELL, 'pool/default/web/ip/203.0.113.8', 'assign')).commandId).toBeNull();
        expect((await store.fence('pool/default/other', IP, 'assign')).commandId).toBeNull();
      });

      test('tells that the store is empty', async () => {
        await saved(change(IP, 0));
        await world.wipe();
        expect(await store.fence(CELL, IP, 'assign')).toEqual({ commandId: null, term: null, isElsewhere: false });
      });
    });

    test('the journal shows the newest first and no more than its length', async () => {
      for (let version = 0; version < 4; version++)
        await saved(change(IP, version, { journal: [entry(2 * version), entry(2 * version + 1)] }));
      expect((await store.journal(CELL, 3)).map(({ at }) => at)).toEqual([7, 6, 5]);
      expect((await store.journal(CELL, 100)).map(({ at }) => at)).toEqual([7, 6, 5, 4, 3]);
      expect(await store.journal(CELL, 1)).toEqual([entry(7)]);
    });

    describe('a store that was emptied', () => {
      test('says that all is lost, until a term is opened', async () => {
        await saved(change(IP, 0));
        await world.wipe();
        expect(await store.save(change(IP, 1))).toEqual({ kind: 'lost' });
        expect(await store.drop(CELL, 1)).toBe(false);
        expect(await store.cells()).toEqual([]);
        expect(await store.openTerm(2)).toBe(true);
        await saved(change(IP, 0, { term: 2 }));
      });
    });

    describe('a server that runs anew', () => {
      test('has another run id and everything else as before', async () => {
        await saved(change(IP, 0));
        const before = await store.state();
        await world.restart();
        await expect.poll(() => store.state().catch(() => null)).not.toBeNull();
        const after = await store.state();
        expect(after.runId).not.toBe(before.runId);
        expect(after.term).toBe(1);
        expect(await store.openTerm(1)).toBe(true);
        await saved(change(IP, 1));
      });
    });

    test('a server that is away makes every call Unreachable, and works again afterwards', async () => {
      await saved(change(IP, 0));
      await world.goDown();
      const calls = {
        save: () => store.save(change(IP, 1)),
        load: () => store.load(CELL),
        cells: () => store.cells(),
        state: () => store.state(),
        openTerm: () => store.openTerm(9),
        drop: () => store.drop(CELL, 1),
        resetClaims: () => store.resetClaims('digitalocean', [], 1),
        fence: () => store.fence(CELL, IP, 'assign'),
        journal: () => store.journal(CELL, 1),
        check: () => store.check(),
      };
      await Promise.all(Object.entries(calls).map(([method, call]) => expect(call(), method).rejects.toBeInstanceOf(Unreachable)));
      await world.comeBack();
      await expect.poll(() => store.state().catch(() => null)).not.toBeNull();
      expect(await store.openTerm(1)).toBe(true);
      await saved(change(IP, 1));
    });
  });
};
