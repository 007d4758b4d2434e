import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import type { Budget } from '../../../actors/ports/budget.ts';
import { Fenced, Unreachable } from '../../../actors/ports/errors.ts';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { Call, ListCall } from '../../../actors/ports/provider.ts';
import { createRequestLayer } from '../../../adapters/digitalocean/gaps.ts';
import { library } from '../../../adapters/digitalocean/library.ts';
import { createDigitalOceanProvider } from '../../../adapters/digitalocean/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { recordingBudget, recordingLog, secret, startTestBed, type TestBed } from './support.ts';

const read: Call = { purpose: 'verify' };
const failover: Call = { purpose: 'failover' };

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function testBed(...args: Parameters<typeof startTestBed>): Promise<TestBed & { address: Address; node: ProviderID }> {
  const bed = await startTestBed(...args);
  closing.push(bed.close);
  const node = `digitalocean://${bed.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id}` as ProviderID;
  const holder = bed.simulator.addDroplet({ name: 'holder', region: 'nyc3' });
  return { ...bed, node, address: bed.simulator.addReservedIP({ region: 'nyc3', dropletId: holder.id }).ip as Address };
}

describe('the request budget', () => {
  test('is paid once for each request, by its purpose, before it is sent', async () => {
    const { provider, budget, simulator, address, node } = await testBed();
    await provider.findRoutedIP(address, read);
    await provider.assignRoutedIP(address, node, failover);
    expect(budget.paid).toEqual(['verify', 'failover']);
    expect(simulator.calls.all()).toHaveLength(2);
  });

  test('is paid for all pages of a list together, once it is known how many there are', async () => {
    const payments: number[] = [];
    const budget = recordingBudget();
    const pay: Budget['pay'] = async (_, calls = 1) => {
      payments.push(calls);
      return 0;
    };
    const { provider, simulator } = await testBed({ budget: { ...budget, pay } });
    const call: ListCall = { purpose: 'confirm', family: 4 };
    for (let count = 1; count < 450; count += 1) simulator.addReservedIP({ region: 'nyc3' });
    for (const paid of [
      [1, 2],
      [1, 2, 3],
    ]) {
      await provider.listRoutedIPs(call);
      expect(payments).toEqual(paid);
    }
    expect(simulator.calls.all()).toHaveLength(6);
  });

  test('that lets no whole list out lets no page of it out', async () => {
    let isShort = false;
    const budget = recordingBudget();
    const { provider, simulator } = await testBed({ budget: { ...budget, pay: async (_, calls = 1) => (isShort && calls > 1 ? 500 : 0) } });
    const call: ListCall = { purpose: 'confirm', family: 4 };
    for (let count = 1; count < 450; count += 1) simulator.addReservedIP({ region: 'nyc3' });
    await provider.listRoutedIPs(call);
    isShort = true;
    expect(await failure(provider.listRoutedIPs(call))).toMatchObject({ kind: 'RateLimited', retryAfterMs: 500 });
    expect(simulator.calls.all()).toHaveLength(3);
  });

  test('that is spent sends nothing and says how long to wait', async () => {
    const budget = recordingBudget(() => Promise.resolve(1234));
    const { provider, simulator, address, node } = await testBed({}, {}, budget);
    const error = await failure(provider.assignRoutedIP(address, node, failover));
    expect(error).toMatchObject({ kind: 'RateLimited', retryAfterMs: 1234, unknownOutcome: false });
    expect(simulator.calls.all()).toHaveLength(0);
  });

  test('that cannot be read sends nothing', async () => {
    const budget = recordingBudget(() => Promise.reject(new Unreachable('the store is away')));
    const { provider, simulator, address, node } = await testBed({}, {}, budget);
    expect(await failure(provider.assignRoutedIP(address, node, failover))).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
    expect(simulator.calls.all()).toHaveLength(0);
  });

  test('is paid before the fence is asked, so that the answer of the fence is not old', async () => {
    const order: string[] = [];
    const budget = recordingBudget(async () => {
      order.push('pay');
      return 0;
    });
    const { provider, address, node } = await testBed({}, {}, budget);
    const fence = { read: async () => void order.push('read'), assertFresh: () => void order.push('assertFresh') };
    await provider.assignRoutedIP(address, node, { purpose: 'failover', fence });
    expect(order).toEqual(['pay', 'read', 'assertFresh']);
  });

  test('is held back by the fence in the last moment, when the connection stands already, and reaches nobody', async () => {
    const { provider, simulator, address, node } = await testBed();
    let asked = 0;
    const stale = {
      read: async () => undefined,
      assertFresh: () => {
        asked += 1;
        throw new Fenced('somebody else leads');
      },
    };
    for (let round = 0; round < 2; round += 1) {
      await expect(provider.assignRoutedIP(address, node, { purpose: 'failover', fence: stale })).rejects.toThrow(Fenced);
    }
    expect([asked, simulator.calls.all().length]).toEqual([2, 0]);
    await provider.findRoutedIP(address, read);
    expect(simulator.calls.all()).toHaveLength(1);
  });

  test('learns what the answers say of the limit', async () => {
    const now = Date.now();
    const { provider, budget, address } = await testBed({}, { now: () => now });
    await provider.findRoutedIP(address, read);
    expect(budget.observed).toEqual([{ remaining: 4999, resetAtMs: expect.any(Number) }]);
    expect(Math.abs((budget.observed[0]?.resetAtMs ?? 0) - now - 3_600_000)).toBeLessThan(2_000);
  });

  test('is closed by a 429 for as long as the answer asks, and does not take a spent minute for a spent hour', async () => {
    const { provider, budget, address } = await testBed({}, { rateLimit: { perHour: 5000, perMinute: 1 }, now: () => 1_000_000 });
    await provider.findRoutedIP(address, read);
    const error = await failure(provider.findRoutedIP(address, read));
    expect(error.kind).toBe('RateLimited');
    expect(error.retryAfterMs).toBeGreaterThan(55_000);
    expect(budget.closed).toEqual([error.retryAfterMs]);
    expect(budget.observed).toHaveLength(1);
  });

  test('is closed until the reset when the hour is spent and there is no Retry-After', async () => {
    const { provider, budget, address } = await testBed({}, { rateLimit: { perHour: 1, perMinute: 250 } });
    await provider.findRoutedIP(address, read);
    await failure(provider.findRoutedIP(address, read));
    expect(budget.closed[0]).toBeGreaterThan(3_500_000);
  });

  test('stays open when only the creations of this minute are spent', async () => {
    const { provider, budget } = await testBed({}, { createsPerMinute: 1, now: () => 1_000_000 });
    await provider.createRoutedIP('nyc3', { purpose: 'create' });
    const error = await failure(provider.createRoutedIP('nyc3', { purpose: 'create' }));
    expect(error.kind).toBe('RateLimited');
    expect(error.retryAfterMs).toBeGreaterThan(50_000);
    expect(budget.closed).toEqual([]);
  });

  test('understands a Retry-After that is a date', async () => {
    const { provider, simulator, address } = await testBed();
    const date = new Date(Date.now() + 600_000).toUTCString();
    simulator.faults.add({ kind: 'status', code: 503, headers: { 'retry-after': date }, times: 1 });
    const error = await failure(provider.findRoutedIP(address, read));
    expect(error.kind).toBe('Unavailable');
    expect(error.retryAfterMs).toBeGreaterThan(500_000);
    expect(error.retryAfterMs).toBeLessThan(601_000);
  });
});

describe('the deadline', () => {
  test('ends a write that hangs, with unknown outcome', async () => {
    const { provider, simulator, address, node } = await testBed({ deadlineMs: 1_500 });
    const fault = simulator.faults.add({ kind: 'hang', applied: true });
    const error = await failure(provider.assignRoutedIP(address, node, failover));
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: true });
    expect(fault.hits).toBe(1);
  });

  test('is for all pages of a list together', async () => {
    const { provider, simulator } = await testBed({ deadlineMs: 150 });
    for (let i = 0; i < 650; i++) simulator.addReservedIP({ region: 'nyc3' });
    simulator.faults.add({ kind: 'latency', ms: 100 });
    expect(await failure(provider.listRoutedIPs({ ...read, family: 4 }))).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
    expect(simulator.calls.all().length).toBeLessThan(4);
  });

  test('before a secure connection stands leaves no doubt: nothing was sent, nor was the fence asked whether it may be', async () => {
    const silent = createTcpServer();
    closing.push(() => new Promise((resolve) => silent.close(() => resolve())));
    const sockets = new Set<{ destroy: () => void }>();
    silent.on('connection', (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const provider = createDigitalOceanProvider({ token: secret, url, budget: recordingBudget(), log: recordingLog(), deadlineMs: 1_000 });
    closing.push(() => provider.close());
    const asked: string[] = [];
    const fence = { read: async () => void asked.push('read'), assertFresh: () => void asked.push('assertFresh') };
    const call = { ...failover, fence };
    const error = await failure(provider.assignRoutedIP('203.0.113.1' as Address, 'digitalocean://1' as ProviderID, call));
    for (const socket of sockets) socket.destroy();
    expect([sockets.size, asked]).toEqual([1, ['read']]);
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
  });
});

describe('answers', () => {
  test('that are cut in the middle are errors: of a read without, of a write with doubt', async () => {
    const { provider, simulator } = await testBed();
    simulator.faults.add({ kind: 'truncatePages', times: 1 });
    expect(await failure(provider.listRoutedIPs({ ...read, family: 4 }))).toMatchObject({ kind: 'Unavailable', unknownOutcome: false });
    simulator.faults.add({ kind: 'status', code: 202, body: '{"reserved_ip":{"ip":"203.0', times: 1 });
    const error = await failure(provider.createRoutedIP('nyc3', { purpose: 'create' }));
    expect(error).toMatchObject({ kind: 'Unavailable', unknownOutcome: true });
  });

  test('that lack what they should say are errors', async () => {
    const { provider, simulator, address } = await testBed();
    for (const body of [{}, { reserved_ip: null }, { reserved_ip: { ip: 'x' } }, [], 'text']) {
      simulator.faults.add({ kind: 'status', code: 200, body, times: 1 });
      expect(await failure(provider.findRoutedIP(address, read)), JSON.stringify(body)).toMatchObject({ kind: 'Unavailable' });
    }
  });

  test('to a creation that name no address leave it in doubt', async () => {
    const { provider, simulator } = await testBed();
    simulator.faults.add({ kind: 'status', code: 202, body: { reserved_ip: {} }, times: 1 });
    expect(await failure(provider.createRoutedIP('nyc3', { purpose: 'create' }))).toMatchObject({ unknownOutcome: true });
  });

  test('are classified by status', async () => {
    const { provider, simulator, address } = await testBed();
    const expected = [
      [400, 'Invalid'],
      [401, 'Unauthorized'],
      [403, 'Unauthorized'],
      [404, 'NotFound'],
      [408, 'Unavailable'],
      [409, 'Conflict'],
      [429, 'RateLimited'],
      [500, 'Unavailable'],
      [502, 'Unavailable'],
      [503, 'Unavailable'],
    ] as const;
    for (const [code, kind] of expected) {
      simulator.faults.add({ kind: 'status', code, times: 1 });
      expect((await failure(provider.findRoutedIP(address, read))).kind, String(code)).toBe(kind);
    }
  });

  test('about a quota with 403 are not taken for a bad token', async () => {
    const { provider, simulator } = await testBed();
    const body = { id: 'forbidden', message: 'You have reached your reserved IP limit.' };
    simulator.faults.add({ kind: 'status', code: 403, body, times: 1 });
    const error = await failure(provider.createRoutedIP('nyc3', { purpose: 'create' }));
    expect([error.kind, error.message]).toEqual(['Invalid', expect.stringContaining('reserved IP limit')]);
  });

  test('that an action is unknown, for ever, are no error', async () => {
    const { provider, simulator, address, node } = await testBed({}, { actionMs: 0 });
    const fault = simulator.faults.add({ kind: 'actionNotFound' });
    const ref = await provider.assignRoutedIP(address, node, failover);
    expect(ref).not.toBe(null);
    expect(await provider.actionState(address, ref ?? '', read)).toBe('unknown');
    expect(fault.hits).toBe(1);
    expect(await provider.findRoutedIP(address, read)).toMatchObject({ providerID: node });
  });

  test('tell how an action goes on', async () => {
    const { provider, simulator, address, node } = await testBed({}, { actionMs: 60_000 });
    const running = await provider.assignRoutedIP(address, node, failover);
    expect(await provider.actionState(address, running ?? '', read)).toBe('running');
    expect(await provider.findRoutedIP(address, read)).toMatchObject({ locked: true });
    simulator.faults.add({ kind: 'actionErrored', times: 1 });
    simulator.faults.add({ kind: 'slowAction', ms: 0, times: 1 });
    const second = simulator.addReservedIP({ region: 'nyc3' }).ip as Address;
    const other = `digitalocean://${simulator.addDroplet({ name: 'b', region: 'nyc3' }).id}` as ProviderID;
    const errored = await provider.assignRoutedIP(second, other, failover);
    expect(await provider.actionState(second, errored ?? '', read)).toBe('errored');
  });
});

describe('a refused assignment', () => {
  test('of a locked address is InProgress', async () => {
    const { provider, address, node, simulator } = await testBed({}, { actionMs: 60_000 });
    await provider.assignRoutedIP(address, node, failover);
    const other = `digitalocean://${simulator.addDroplet({ name: 'b', region: 'nyc3' }).id}` as ProviderID;
    expect((await failure(provider.assignRoutedIP(address, other, failover))).kind).toBe('InProgress');
  });

  test('to the droplet that has the address already is none, even while reads of the address show what was before', async () => {
    let now = 1_000_000;
    const { provider, address, node, simulator } = await testBed({}, { actionMs: 0, now: () => now });
    now += 60_000;
    await provider.assignRoutedIP(address, node, failover);
    now += 1_000;
    const behind = simulator.faults.add({ kind: 'staleReads', ms: 30_000 });
    expect(await provider.findRoutedIP(address, read)).toMatchObject({ providerID: expect.not.stringMatching(node), locked: false });
    expect(await provider.assignRoutedIP(address, node, failover)).toBeNull();
    expect(behind.hits).toBe(2);
    behind.remove();
    expect(await provider.findRoutedIP(address, read)).toMatchObject({ providerID: node });
  });

  test('costs further reads only then, and no second write', async () => {
    const { provider, address, node, simulator } = await testBed();
    simulator.addReservedIP({ region: 'nyc3', dropletId: Number(node.slice('digitalocean://'.length)) });
    expect((await failure(provider.assignRoutedIP(address, node, failover))).kind).toBe('NodeInUse');
    expect(simulator.calls.all().map((call) => call.method)).toEqual(['POST', 'GET', 'GET']);
  });
});

describe('secrets', () => {
  test('never show in errors or logs, whatever fails', async () => {
    const log = recordingLog();
    const broken = { ...recordingBudget(), close: () => Promise.reject(new Unreachable('the store is away')) };
    const { provider, simulator, address, node } = await testBed({ deadlineMs: 400, log }, {}, broken);
    const errors: unknown[] = [];
    const faults = [
      { kind: 'status', code: 401 },
      { kind: 'status', code: 500 },
      { kind: 'status', code: 422 },
      { kind: 'status', code: 429 },
      { kind: 'resetBefore' },
      { kind: 'resetAfter' },
      { kind: 'hang' },
      { kind: 'status', code: 200, body: 'no JSON' },
    ] as const;
    for (const fault of faults) {
      simulator.faults.clear();
      simulator.faults.add(fault);
      const calls = [
        () => provider.assignRoutedIP(address, node, failover),
        () => provider.findNode(node, read),
        () => provider.listRoutedIPs({ ...read, family: 4 }),
      ];
      for (const call of calls) errors.push(await call().catch((error: unknown) => error));
    }
    await simulator.stopListening();
    errors.push(await failure(provider.findNode(node, read)));
    const shown =
      inspect(errors, { depth: 20, showHidden: true }) + JSON.stringify(errors) + errors.map(String).join('\n') + JSON.stringify(log.lines);
    expect(log.lines.length).toBeGreaterThan(0);
    expect(errors.filter((error) => error instanceof Error)).toHaveLength(errors.length);
    expect(shown).not.toContain(secret);
  });
});

describe('several tokens in one process', () => {
  test('are kept apart, also when their requests interleave', async () => {
    const one = await testBed({ token: 'token-one' }, { token: 'token-one' });
    const two = await testBed({ token: 'token-two' }, { token: 'token-two' });
    const reads = Array.from({ length: 10 }, (_, i) => {
      const { provider, address, node } = i % 2 === 0 ? one : two;
      return Promise.all([provider.findRoutedIP(address, read), provider.findNode(node, read)]);
    });
    await Promise.all(reads);
    for (const { simulator } of [one, two]) {
      expect(simulator.calls.all()).toHaveLength(10);
      expect(new Set(simulator.calls.all().map((call) => call.status))).toEqual(new Set([200]));
    }
  });
});

describe('digitalocean-js', () => {
  const layerFor = (token: string) => createRequestLayer({ token, budget: recordingBudget(), log: recordingLog() });

  test('is loaded once, however many tokens there are', () => {
    expect(layerFor('token-two').services).toBe(layerFor('token-one').services);
  });

  test('is given no token and no address', async () => {
    await testBed();
    const { defaults } = library.requestLayer;
    expect([defaults.headers.common.Authorization, defaults.baseURL]).toEqual([undefined, undefined]);
  });
});

describe('connections', () => {
  test('are kept and used again', async () => {
    let connections = 0;
    const body = JSON.stringify({ droplet: { id: 1 } });
    const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(body));
    server.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/`;
    const provider = createDigitalOceanProvider({ token: secret, url, budget: recordingBudget(), log: recordingLog() });
    for (let i = 0; i < 5; i++) expect(await provider.findNode('digitalocean://1' as ProviderID, read)).toBe('present');
    provider.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    expect(connections).toBe(1);
  });
});

describe('kill points', () => {
  test('are passed before the send, before the reply is read and after it', async () => {
    const passed: KillPoint[] = [];
    const { provider, address, node } = await testBed({ probe: (point) => passed.push(point) });
    await provider.assignRoutedIP(address, node, failover);
    expect(passed).toEqual(['beforeSend', 'beforeReplyRead', 'afterReply']);
  });
});
