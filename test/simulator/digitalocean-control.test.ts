import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { request, startTestCloud, type TestCloud, type TestReply } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.simulator.close());

const control = (method: string, path: string, body?: unknown): Promise<TestReply> =>
  request(cloud.simulator.url, { method, path: `/_control${path}`, body, token: '' });

test('a simulator that is not to be scripted has nothing below /_control', async () => {
  const simulator = await startDigitalOcean({ isControlled: false });
  try {
    const { status } = await request(simulator.url, { method: 'DELETE', path: '/_control/calls', body: undefined, token: '' });
    expect([401, 404]).toContain(status);
    const { status: added } = await request(simulator.url, {
      method: 'POST',
      path: '/_control/droplets',
      body: { id: 77, name: 'a', region: 'nyc3' },
      token: 'any',
    });
    expect(added).toBe(404);
    expect(simulator.state.droplets.size).toBe(0);
  } finally {
    await simulator.close();
  }
});

describe('another process', () => {
  test('adds and removes droplets', async () => {
    const added = await control('POST', '/droplets', { id: 77, name: 'a', region: 'nyc3', tags: ['k8s'] });
    expect([added.status, added.body.at('droplet', 'id').raw]).toEqual([201, 77]);
    expect((await cloud.call('GET', '/v2/droplets/77')).status).toBe(200);
    expect((await control('DELETE', '/droplets/77')).status).toBe(204);
    expect((await cloud.call('GET', '/v2/droplets/77')).status).toBe(404);
    expect((await control('DELETE', '/droplets/77')).status).toBe(404);
  });

  test('adds reserved IPs and moves them by hand', async () => {
    await control('POST', '/droplets', { id: 77, name: 'a', region: 'nyc3' });
    expect((await control('POST', '/reserved_ips', { ip: '192.0.2.9', region: 'nyc3', dropletId: 77 })).status).toBe(201);
    expect(cloud.simulator.state.reservedIPs.get('192.0.2.9')?.dropletId).toBe(77);
    expect((await control('POST', '/reserved_ips/192.0.2.9/move', { dropletId: null })).status).toBe(200);
    const state = await control('GET', '/state');
    const history = state.body.at('reserved_ips', 0, 'history').items.map((entry) => [entry.at('dropletId').raw, entry.at('by').raw]);
    expect(history).toEqual([
      [77, 'created'],
      [null, 'hand'],
    ]);
  });

  test('reads the call log, with filters, and empties it', async () => {
    await cloud.call('GET', '/v2/account');
    await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    const all = await control('GET', '/calls');
    expect(all.body.at('calls').items.map((call) => call.at('n').raw)).toEqual([1, 2]);
    const writes = await control('GET', '/calls?writes=1&since=0');
    expect(writes.body.at('calls').items.map((call) => call.at('path').raw)).toEqual(['/v2/reserved_ips']);
    expect((await control('GET', '/calls?since=2')).body.at('calls').items).toHaveLength(0);
    expect((await control('DELETE', '/calls')).status).toBe(204);
    expect((await control('GET', '/calls')).body.at('calls').items).toHaveLength(0);
  });

  test('adds a fault of every kind, reads its hits and removes it', async () => {
    const specs = [
      { kind: 'latency', ms: 1 },
      { kind: 'status', code: 503, headers: { 'retry-after': '1' }, body: { id: 'x', message: 'y' } },
      { kind: 'hang', ms: 1, applied: true },
      { kind: 'resetBefore' },
      { kind: 'resetAfter' },
      { kind: 'staleReads', ms: 10 },
      { kind: 'truncatePages', how: 'missingRest' },
      { kind: 'pendingEvent' },
      { kind: 'actionNotFound' },
      { kind: 'actionErrored' },
      { kind: 'slowAction', ms: 10 },
      { kind: 'quota' },
    ];
    for (const spec of specs) {
      const added = await control('POST', '/faults', { ...spec, times: 3, match: { method: 'GET', path: '/v2/x' } });
      expect(added.status, spec.kind).toBe(201);
      const id = added.body.at('fault', 'id').raw;
      expect((await control('GET', `/faults/${id}`)).body.at('fault').raw).toMatchObject({ ...spec, times: 3, hits: 0 });
      expect((await control('DELETE', `/faults/${id}`)).status).toBe(204);
      expect((await control('GET', `/faults/${id}`)).status).toBe(404);
    }
  });

  test('sees that a fault struck', async () => {
    const id = (await control('POST', '/faults', { kind: 'status', code: 500, times: 1 })).body.at('fault', 'id').raw;
    expect((await cloud.call('GET', '/v2/account')).status).toBe(500);
    expect((await control('GET', '/faults')).body.at('faults', 0).raw).toMatchObject({ id, hits: 1 });
    expect((await control('DELETE', '/faults')).status).toBe(204);
    expect((await control('GET', '/faults')).body.at('faults').items).toHaveLength(0);
  });

  test('is told what is wrong with a fault', async () => {
    const unknown = await control('POST', '/faults', { kind: 'earthquake' });
    expect([unknown.status, String(unknown.body.at('message').raw)]).toEqual([400, expect.stringContaining('latency')]);
    expect((await control('POST', '/faults', { kind: 'latency' })).status).toBe(400);
    expect((await control('POST', '/faults', { kind: 'resetBefore', match: { path: '(' } })).status).toBeGreaterThanOrEqual(400);
  });

  test('leaves no trace in the call log and spends nothing of the rate limit', async () => {
    await control('GET', '/state');
    expect(cloud.simulator.calls.all()).toHaveLength(0);
    expect((await cloud.call('GET', '/v2/account')).headers.get('ratelimit-remaining')).toBe('4999');
  });
});
