import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Memory } from '../../../actors/leadership/in-doubt.ts';
import { type TakeoverPorts, writeMemory } from '../../../actors/leadership/recovery.ts';
import type { CellWrite, Command } from '../../../actors/ports/records.ts';
import { redisBudget } from '../../../adapters/redis/budget.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS } from '../../support/wait-for.ts';

const CELL = 'pool/default/web';
const IP = `${CELL}/ip/203.0.113.7`;
const HASHES = ['records', 'heads', 'outbox', 'seen'].map((name) => `cell:${CELL}:${name}`);
const KEYS = [...HASHES, `cell:${CELL}:journal`, 'cells', 'claims:digitalocean'];

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
beforeEach(() => redis.flushAll());
afterAll(() => redis.stop());

const linked = () => {
  const link = redisLink({ url: redis.url, commandTimeoutMs: PATIENCE_MS });
  onTestFinished(() => link.close());
  return link;
};

const recordOf = (version: number) => ({
  chart: 'pool',
  chartVersion: 1,
  snapshot: { value: 'Ready', context: {} },
  waiting: { find: { commandId: `find-${version}` } },
  version,
  term: 1,
});

const command: Command = { kind: 'send', id: 'a.1.1.0', actor: 'a', to: 'b', event: { type: 'CLAIM' } } as unknown as Command;

const write = (expected: number, more: Partial<CellWrite> = {}): CellWrite => ({
  cell: CELL,
  term: 1,
  records: [CELL, IP].map((actor) => ({ actor, expected, record: recordOf(expected + 1) })),
  outbox: { add: [command], clear: [] },
  claims: { take: [{ provider: 'digitalocean', node: 'a', owner: 'x', limit: 1 }], free: [] },
  seen: { other: 'other.1.1.0' },
  journal: [{ at: 1 } as never],
  ...more,
});

/** With one cell, written once. */
const written = async () => {
  const store = redisStore({ link: linked(), prefix: '{garbage}' });
  await store.openTerm(1);
  expect(await store.save(write(0))).toEqual({ kind: 'saved' });
  return store;
};

const put = async (key: string, ...[name, ...args]: [string, ...string[]]): Promise<void> => {
  await redis.command('DEL', `{garbage}:${key}`);
  await redis.command(name, `{garbage}:${key}`, ...args);
};

describe('a value of another type in the place', () => {
  test.each(KEYS)('of %s counts as lost, and what is remembered is written over it', async (key) => {
    const store = await written();
    await put(key, 'SET', 'garbage');
    expect(await store.save(write(1))).toEqual({ kind: 'lost' });
    // As a takeover does.
    const versions = (await store.load(CELL))?.records ?? {};
    const version = versions[CELL]?.version ?? 0;
    const replaced = await store.save({ ...write(1), records: write(1).records.map((each) => ({ ...each, expected: version })) });
    expect(replaced).toEqual({ kind: 'saved' });
    expect((await store.load(CELL))?.records[IP]).toMatchObject({ version: 2 });
    expect(await store.cells()).toEqual([CELL]);
    expect(await store.resetClaims('digitalocean', [], 1)).toBe(true);
    expect(await store.save(write(2))).toEqual({ kind: 'saved' });
  });

  test('of the term counts as a store that was emptied, and a term can be opened', async () => {
    const store = await written();
    await put('meta', 'SET', 'garbage');
    expect((await store.state()).term).toBeNull();
    expect(await store.openTerm(1)).toBe(true);
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test.each(KEYS)('of %s leaves something to be read, or nothing', async (key) => {
    const store = await written();
    await put(key, 'ZADD', '1', 'garbage');
    await store.load(CELL);
    await store.cells();
    await store.journal(CELL, 10);
  });

  test.each(['', ':minute', ':creations', ':turns:30', ':turns:30:-'])('of the budget (%s) is nothing that was spent', async (key) => {
    const budget = redisBudget({ link: linked(), prefix: '{garbage}', tokenHash: 'token' });
    expect(await budget.pay('verify')).toBe(0);
    await put(`budget:token${key}`, 'SADD', 'garbage');
    expect(await budget.pay('verify')).toBe(0);
  });
});

describe('a figure of the budget that is none', () => {
  const budgeted = async () => {
    const budget = redisBudget({ link: linked(), prefix: '{garbage}', tokenHash: 'token' });
    expect(await budget.pay('verify')).toBe(0);
    return budget;
  };
  const far = String(Date.now() + 10 * 365 * 86_400_000);

  test.each([
    ['hour', 'garbage'],
    ['hour', '-999999999999'],
    ['hour', '-inf'],
    ['hour', 'nan'],
    ['at', 'garbage'],
    ['at', far],
    ['closedUntil', 'garbage'],
    ['closedUntil', far],
    ['count', 'garbage'],
  ])('(%s: %s) does not keep it shut', async (name, value) => {
    const budget = await budgeted();
    await redis.command('HSET', '{garbage}:budget:token', name, value);
    expect(await budget.pay('verify')).toBe(0);
    await budget.left();
    await budget.close(1);
    await redis.command('HSET', '{garbage}:budget:token', name, value);
    await redis.command('HDEL', '{garbage}:budget:token', name === 'closedUntil' ? 'at' : 'closedUntil');
    expect(await budget.pay('failover')).toBe(0);
  });

  test.each(['garbage', far])('among the calls of the minute (%s) does not keep it shut', async (value) => {
    const budget = await budgeted();
    for (let count = 0; count < 250; count += 1) await redis.command('LPUSH', '{garbage}:budget:token:minute', value);
    await budget.pay('verify');
    expect(await budget.pay('verify')).toBe(0);
  });
});

test.each([12, 15, 16])('a version of %i digits, in the record and in its head, ends with the next takeover', async (digits) => {
  const version = Number('9'.repeat(digits));
  const store = await written();
  for (const actor of [CELL, IP]) {
    await redis.command('HSET', `{garbage}:cell:${CELL}:heads`, actor, `${'9'.repeat(digits)} {}`);
    await redis.command('HSET', `{garbage}:cell:${CELL}:records`, actor, JSON.stringify({ ...recordOf(1), version }));
  }
  let memory = new Map([[CELL, new Map([CELL, IP].map((actor) => [actor, { ...recordOf(1), version }]))]]) as unknown as Memory;
  for (let takeover = 0; takeover < 3; takeover += 1) {
    const cells = await writeMemory(memory, { store } as unknown as TakeoverPorts, 1, false);
    memory = new Map([...cells].map(([cell, { records }]) => [cell, new Map(Object.entries(records))]));
  }
  const now = memory.get(CELL)?.get(IP)?.version ?? 0;
  expect(now).toBeLessThan(1e13);
  expect((await store.load(CELL))?.records[IP]).toMatchObject({ version: now });
  expect(await store.save({ ...write(now), records: write(now).records })).toEqual({ kind: 'saved' });
});

describe('a field that is no value of ours', () => {
  test.each([
    ['no JSON', '{"chart":'],
    ['nothing', ''],
    ['null', 'null'],
    ['a number', '5'],
    ['of another shape', '{"chart":"pool"}'],
    ['without a context', JSON.stringify({ ...recordOf(1), snapshot: {} })],
    ['of another version', JSON.stringify(recordOf(7))],
    ['50 MB long', JSON.stringify({ ...recordOf(1), filler: 'x'.repeat(50 * 2 ** 20) })],
  ])('where a record should be, %s: it is told as unreadable under its version, and the others are read', async (_, value) => {
    const store = await written();
    await redis.command('HSET', `{garbage}:cell:${CELL}:records`, IP, value);
    expect((await store.load(CELL))?.records).toMatchObject({ [CELL]: recordOf(1), [IP]: { chart: 'unreadable', version: 1 } });
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test.each([
    'garbage',
    '',
    '-1',
    'x {}',
    '1 {"find":',
    '9'.repeat(15),
    `${'9'.repeat(15)} {}`,
    `${'9'.repeat(16)} {}`,
    `${'9'.repeat(400)} {}`,
  ])('where a head should be (%s) waits for nothing, and does not stand for ever', async (value) => {
    const store = await written();
    await redis.command('HSET', `{garbage}:cell:${CELL}:heads`, IP, value);
    expect((await store.fence(CELL, IP, 'find')).commandId).toBeNull();
    const stored = await store.load(CELL);
    const records = write(1).records.map((each) => ({ ...each, expected: stored?.records[each.actor]?.version ?? 0 }));
    expect(await store.save({ ...write(1), records })).toEqual({ kind: 'saved' });
  });

  test.each(['garbage', '', '5', '{"id":"another"}', '1 {}', '1 {"id":'])('where a command should be (%s) is none', async (value) => {
    const store = await written();
    await redis.command('HSET', `{garbage}:cell:${CELL}:outbox`, 'b.1.1.0', value);
    expect((await store.load(CELL))?.outbox).toEqual([command]);
  });

  test.each(['garbage', '5', '{"a":1', 'null'])('where claims should be (%s) has all claims written again', async (value) => {
    const store = await written();
    await redis.command('HSET', '{garbage}:claims:digitalocean', 'a', value);
    expect(await store.save(write(1))).toEqual({ kind: 'lost' });
    await store.resetClaims('digitalocean', [], 1);
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test('in the list of cells has the cell written again, with nothing of it left half written', async () => {
    const store = await written();
    await redis.command('HSET', '{garbage}:cells', CELL, 'garbage');
    expect(await store.save(write(1))).toEqual({ kind: 'lost' });
    expect(await store.load(CELL)).toBeNull();
    expect(await store.save(write(0))).toEqual({ kind: 'saved' });
  });

  test('a cell that nobody can find is begun anew: what is left of it is in nobody’s way', async () => {
    const store = await written();
    await redis.command('DEL', '{garbage}:cells');
    expect(await store.load(CELL)).toBeNull();
    expect(await store.save({ ...write(0), seen: {} })).toEqual({ kind: 'saved' });
    expect(await store.load(CELL)).toMatchObject({ seen: {} });
  });

  test.each(['garbage', '', '-1', '1e999', '9'.repeat(13), '9'.repeat(15), '9'.repeat(400)])(
    'where the term should be (%s) is no term',
    async (value) => {
      const store = await written();
      await redis.command('HSET', '{garbage}:meta', 'term', value);
      expect((await store.state()).term).toBeNull();
      expect((await store.save(write(1))).kind).not.toBe('saved');
      expect(await store.openTerm(2)).toBe(true);
    },
  );

  test('in the journal is left out', async () => {
    const store = await written();
    await redis.command('LPUSH', `{garbage}:cell:${CELL}:journal`, 'garbage');
    expect(await store.journal(CELL, 10)).toEqual([{ at: 1 }]);
  });
});
