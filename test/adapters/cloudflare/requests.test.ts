import { Agent } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { Fenced, Unreachable } from '../../../actors/ports/errors.ts';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { Call } from '../../../actors/ports/provider.ts';
import { cloudflareBudget, createCloudflareProvider } from '../../../adapters/cloudflare/provider.ts';
import { exchange } from '../../../adapters/http/exchange.ts';
import { memoryBudget } from '../../../adapters/memory/budget.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import type { DNSRecord } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { recordingBudget, recordingLog } from '../digitalocean/support.ts';
import { secret, startTestBed, type TestBed } from './support.ts';

const dns: Call = { purpose: 'dns' };
const record: Omit<DNSRecord, 'id'> = { type: 'A', name: 'nodes', data: '203.0.113.1', ttlSeconds: 60, proxied: false };

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** With a zone that is looked up already, and the log empty. */
async function testBed(...args: Parameters<typeof startTestBed>): Promise<TestBed & { zone: string; list: () => Promise<unknown> }> {
  const bed = await startTestBed(...args);
  closing.push(bed.close);
  return { ...bed, zone: bed.simulator.addZone({ name: 'example.com' }).id, list: () => bed.provider.listDNSRecords('example.com', dns) };
}

describe('the request budget', () => {
  test('is paid once for each request, as DNS', async () => {
    const { budget, simulator, list } = await testBed();
    await list();
    await list();
    expect(simulator.calls.all()).toHaveLength(3);
    expect(budget.paid).toEqual(['dns', 'dns', 'dns']);
  });

  test('that is spent sends nothing and says how long to wait', async () => {
    const { simulator, provider } = await testBed(
      {},
      {},
      recordingBudget(() => Promise.resolve(1234)),
    );
    const error = await failure(provider.createDNSRecord('example.com', record, dns));
    expect(error).toMatchObject({ kind: 'RateLimited', retryAfterMs: 1234, unknownOutcome: false });
    expect(simulator.calls.all()).toHaveLength(0);
  });

  test('that cannot be read sends nothing', async () => {
    const { simulator, provider } = await testBed(
      {},
      {},
      recordingBudget(() => Promise.reject(new Unreachable('the store is away'))),
    );
    const error = await failure(provider.createDNSRecord('example.com', record, dns));
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
    expect(simulator.calls.all()).toHaveLength(0);
  });

  test('is paid before the fence is asked, so that the answer of the fence is not old', async () => {
    const order: string[] = [];
    const budget = recordingBudget(async () => {
      order.push('pay');
      return 0;
    });
    const { provider, list } = await testBed({}, {}, budget);
    await list();
    order.length = 0;
    const fence = { read: async () => void order.push('read'), assertFresh: () => void order.push('assertFresh') };
    await provider.createDNSRecord('example.com', record, { purpose: 'dns', fence });
    expect(order).toEqual(['pay', 'read', 'assertFresh']);
  });

  test('is held back by the fence in the last moment, when the connection stands already, and reaches nobody', async () => {
    const { provider, simulator, list } = await testBed();
    await list();
    simulator.calls.clear();
    let asked = 0;
    const stale = {
      read: async () => undefined,
      assertFresh: () => {
        asked += 1;
        throw new Fenced('somebody else leads');
      },
    };
    for (let round = 0; round < 2; round += 1) {
      await expect(provider.createDNSRecord('example.com', record, { purpose: 'dns', fence: stale })).rejects.toThrow(Fenced);
    }
    expect([asked, simulator.calls.all().length]).toEqual([2, 0]);
    await list();
    expect(simulator.calls.all()).toHaveLength(1);
  });

  test('is closed by a 429 for as long as the answer asks', async () => {
    const { budget, list } = await testBed({}, { rateLimit: { requests: 2, windowMs: 300_000 } });
    await list();
    budget.closed.length = 0;
    const error = await failure(list());
    expect(error.kind).toBe('RateLimited');
    expect(error.retryAfterMs).toBe(300_000);
    expect(budget.closed).toEqual([300_000]);
  });

  test('is closed until the end of the window by the answer that leaves nothing, before the next request is refused', async () => {
    const { budget, list, simulator } = await testBed({}, { rateLimit: { requests: 2, windowMs: 60_000 } });
    await list();
    expect(simulator.calls.all().map(({ status }) => status)).toEqual([200, 200]);
    expect(budget.closed).toEqual([60_000]);
  });

  test('is closed for a minute by a 429 that names no time', async () => {
    const { budget, list, simulator } = await testBed();
    simulator.faults.add({ kind: 'status', code: 429, headers: { ratelimit: '' }, times: 1 });
    expect((await failure(list())).retryAfterMs).toBe(60_000);
    expect(budget.closed).toEqual([60_000]);
  });

  test('of a token lets no more than 1200 requests out in any five minutes', async () => {
    const clock = virtualClock();
    const budget = memoryBudget(clock, cloudflareBudget);
    const sent: number[] = [];
    while (clock.monotonic() < 900_000) {
      const wait = await budget.pay('dns');
      if (wait === 0) sent.push(clock.monotonic());
      else await clock.advance(wait);
    }
    const busiest = Math.max(...sent.map((from) => sent.filter((at) => at >= from && at < from + 300_000).length));
    expect(busiest).toBeGreaterThan(1000);
    expect(busiest).toBeLessThanOrEqual(1200);
  });
});

describe('the deadline', () => {
  test('ends a write that hangs, with unknown outcome', async () => {
    const { provider, simulator, list } = await testBed({ deadlineMs: 1_500 });
    await list();
    const fault = simulator.faults.add({ kind: 'hang', applied: true });
    expect(await failure(provider.createDNSRecord('example.com', record, dns))).toMatchObject({
      kind: 'Unavailable',
      unknownOutcome: true,
    });
    expect(fault.hits).toBe(1);
  });

  test('is for the look-up of the zone and all pages together', async () => {
    const attempt = async (): Promise<number> => {
      const { list, simulator } = await testBed({ deadlineMs: 600 });
      simulator.faults.add({ kind: 'latency', ms: 400 });
      expect(await failure(list())).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
      return simulator.calls.all().length;
    };
    let calls = await attempt();
    // Where the machine stood still all the time went into the look-up, which shows nothing of the two together.
    for (let tries = 1; calls < 2 && tries < 10; tries += 1) calls = await attempt();
    expect(calls).toBe(2);
  });

  test('before a secure connection stands leaves no doubt: nothing was sent, nor was the fence asked whether it may be', async () => {
    const sockets = new Set<{ destroy: () => void }>();
    const silent = createTcpServer((socket) => sockets.add(socket));
    closing.push(() => new Promise((resolve) => silent.close(() => resolve())));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const agent = new Agent();
    closing.push(() => agent.destroy());
    const asked: string[] = [];
    const fence = { read: async () => void asked.push('read'), assertFresh: () => void asked.push('assertFresh') };
    const verb = { what: 'create', call: { ...dns, fence }, deadlineAt: performance.now() + 1_000 };
    const error = await failure(
      exchange({ secure: true, agent, probe: undefined }, verb, { method: 'POST', url, headers: {}, body: '{}' }),
    );
    for (const socket of sockets) socket.destroy();
    expect([sockets.size, asked]).toEqual([1, []]);
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
  });
});

describe('answers', () => {
  test('that are cut in the middle are errors: of a read without, of a write with doubt', async () => {
    const { provider, simulator, list } = await testBed();
    await list();
    simulator.faults.add({ kind: 'truncatePages', times: 1 });
    expect(await failure(list())).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
    simulator.faults.add({ kind: 'status', code: 200, body: '{"success":tr', times: 1 });
    expect(await failure(provider.createDNSRecord('example.com', record, dns))).toMatchObject({
      kind: 'Unavailable',
      unknownOutcome: true,
    });
  });

  test('that lack what they should say are errors', async () => {
    const { simulator, list } = await testBed();
    await list();
    const item = { id: 'ab'.repeat(16), type: 'A', name: 'nodes.example.com', content: '203.0.113.1', ttl: 60, proxied: false };
    const info = { page: 1, per_page: 1000, count: 1, total_count: 1, total_pages: 1 };
    const bodies = [
      {},
      [],
      'text',
      { success: true },
      { success: true, result: [item] },
      { success: true, result: [item], result_info: { ...info, total_count: 2 } },
      { success: true, result: [{ ...item, id: '../x' }], result_info: info },
      { success: true, result: [{ ...item, ttl: '60' }], result_info: info },
      { success: false, errors: [], result: [item], result_info: info },
    ];
    for (const body of bodies) {
      simulator.faults.add({ kind: 'status', code: 200, body, times: 1 });
      expect(await failure(list()), JSON.stringify(body)).toMatchObject({ kind: 'Unavailable' });
    }
    simulator.faults.add({ kind: 'status', code: 200, body: { success: true, result: [item], result_info: info }, times: 1 });
    expect(await list()).toMatchObject({ records: [{ id: item.id, name: 'nodes' }] });
  });

  test('with smaller pages than asked for are read to the end', async () => {
    const { simulator, list, zone } = await testBed();
    for (let i = 0; i < 3; i++) simulator.addRecord(zone, { type: 'A', name: 'nodes', content: `203.0.113.${i}`, ttl: 60 });
    await list();
    const records = [...(simulator.zones.get(zone)?.records.values() ?? [])];
    expect(records).toHaveLength(3);
    for (const [page, one] of records.entries()) {
      const info = { page: page + 1, per_page: 1, count: 1, total_count: 3, total_pages: 3 };
      const body = { success: true, result: [{ ...one, created_on: '', modified_on: '' }], result_info: info };
      simulator.faults.add({ kind: 'status', code: 200, body, times: 1, match: { path: `[?&]page=${page + 1}&` } });
    }
    expect(await list()).toMatchObject({ records: [{ data: '203.0.113.0' }, { data: '203.0.113.1' }, { data: '203.0.113.2' }] });
  });

  test.each([
    [400, undefined, 'Invalid'],
    [401, undefined, 'Unauthorized'],
    [403, undefined, 'Unauthorized'],
    [404, undefined, 'NotFound'],
    [408, undefined, 'Unavailable'],
    [409, undefined, 'Conflict'],
    [429, undefined, 'RateLimited'],
    [500, undefined, 'Unavailable'],
    [502, undefined, 'Unavailable'],
    [522, undefined, 'Unavailable'],
    [400, 6003, 'Unauthorized'],
    [400, 9109, 'Unauthorized'],
    [400, 10_000, 'Unauthorized'],
    [400, 7003, 'NotFound'],
    [400, 81_044, 'NotFound'],
    [400, 81_057, 'Conflict'],
    [400, 81_058, 'Conflict'],
    [429, 10_000, 'RateLimited'],
    [503, 10_000, 'Unavailable'],
    [200, 7003, 'NotFound'],
  ] as const)('of status %i with the code %s are %3$s', async (status, code, kind) => {
    const { simulator, list } = await testBed();
    const body = { success: false, errors: [{ code, message: 'said' }], messages: [], result: null };
    simulator.faults.add({ kind: 'status', code: status, ...(code === undefined ? {} : { body }), times: 1 });
    expect((await failure(list())).kind).toBe(kind);
  });

  test('with a chain of errors show all of it', async () => {
    const { provider } = await testBed();
    const error = await failure(provider.createDNSRecord('example.com', { ...record, ttlSeconds: 30 }, dns));
    expect(error.kind).toBe('Invalid');
    expect(error.message).toContain('DNS Validation Error (1004); TTL must be between 60 and 86400 seconds, or 1 for Automatic. (9021)');
  });

  test('whose Retry-After is a date are understood', async () => {
    const { simulator, list } = await testBed();
    const date = new Date(Date.now() + 600_000).toUTCString();
    simulator.faults.add({ kind: 'status', code: 503, headers: { 'retry-after': date }, times: 1 });
    const error = await failure(list());
    expect(error.kind).toBe('Unavailable');
    expect(error.retryAfterMs).toBeGreaterThan(500_000);
    expect(error.retryAfterMs).toBeLessThan(601_000);
  });
});

describe('the address of the API', () => {
  test('may be given with the path and with slashes at its end', async () => {
    const { simulator } = await testBed();
    for (const end of ['', '/', '/client/v4', '/client/v4/']) {
      const options = { token: secret, url: simulator.url + end, budget: recordingBudget(), log: recordingLog() };
      const provider = createCloudflareProvider(options);
      closing.push(() => provider.close());
      expect((await provider.listDNSRecords('example.com', dns)).name, end).toBe('example.com');
    }
  });
});

describe('secrets', () => {
  test('never show in errors or logs, whatever fails', async () => {
    const log = recordingLog();
    const broken = { ...recordingBudget(), close: () => Promise.reject(new Unreachable('the store is away')) };
    const { provider, simulator, list } = await testBed({ deadlineMs: 400, log }, {}, broken);
    const errors: unknown[] = [];
    const faults = [
      { kind: 'status', code: 401 },
      { kind: 'status', code: 500 },
      { kind: 'status', code: 400 },
      { kind: 'status', code: 429 },
      { kind: 'resetBefore' },
      { kind: 'resetAfter' },
      { kind: 'hang' },
      { kind: 'status', code: 200, body: 'no JSON' },
    ] as const;
    for (const fault of faults) {
      simulator.faults.clear();
      simulator.faults.add(fault);
      for (const call of [list, () => provider.createDNSRecord('example.com', record, dns)]) {
        errors.push(await call().catch((error: unknown) => error));
      }
    }
    const strange = createCloudflareProvider({ token: `${secret}\n`, url: simulator.url, budget: broken, log });
    closing.push(() => strange.close());
    errors.push(await failure(strange.listDNSRecords('example.com', dns)));
    await simulator.stopListening();
    errors.push(await failure(list()));
    const shown =
      inspect(errors, { depth: 20, showHidden: true }) + JSON.stringify(errors) + errors.map(String).join('\n') + JSON.stringify(log.lines);
    expect(log.lines.length).toBeGreaterThan(0);
    expect(errors.filter((error) => error instanceof Error)).toHaveLength(errors.length);
    expect(shown).not.toContain(secret);
  });
});

describe('kill points', () => {
  test('are passed before the send, before the reply is read and after it', async () => {
    const passed: KillPoint[] = [];
    const { provider, list } = await testBed({ probe: (point) => passed.push(point) });
    await list();
    passed.length = 0;
    await provider.createDNSRecord('example.com', record, dns);
    expect(passed).toEqual(['beforeSend', 'beforeReplyRead', 'afterReply']);
  });
});
