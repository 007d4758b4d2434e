import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

let cloud: TestCloud;
let droplet: number;
let ip: string;
beforeEach(async () => {
  cloud = await startTestCloud();
  droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
  ip = cloud.simulator.addReservedIP({ region: 'nyc3' }).ip;
});
afterEach(() => cloud.simulator.close());

const assign = () => cloud.call('POST', `/v2/reserved_ips/${ip}/actions`, { type: 'assign', droplet_id: droplet });
const assigns = () => [...cloud.simulator.state.actions.values()].filter((action) => action.type === 'assign_ip');

describe('a fault', () => {
  test('strikes the requests that it matches, as often as it says, and counts them', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'status', code: 503, times: 2, match: { method: 'GET', path: '^/v2/account' } });
    expect((await cloud.call('GET', '/v2/droplets')).status).toBe(200);
    const answers = [
      await cloud.call('GET', '/v2/account'),
      await cloud.call('GET', '/v2/account'),
      await cloud.call('GET', '/v2/account'),
    ];
    expect(answers.map((reply) => reply.status)).toEqual([503, 503, 200]);
    expect(fault.hits).toBe(2);
    expect(cloud.simulator.calls.all().map((call) => call.faults)).toEqual([[], ['status'], ['status'], []]);
  });

  test('lets as many requests pass first as it says, of those that it could strike', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'status', code: 503, after: 1, times: 1, match: { path: '^/v2/account' } });
    await cloud.call('GET', '/v2/droplets');
    const answers = [
      await cloud.call('GET', '/v2/account'),
      await cloud.call('GET', '/v2/account'),
      await cloud.call('GET', '/v2/account'),
    ];
    expect([answers.map((reply) => reply.status), fault.hits]).toEqual([[200, 503, 200], 1]);
  });

  test('without a number strikes until it is removed', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'status', code: 500 });
    for (let i = 0; i < 3; i++) expect((await cloud.call('GET', '/v2/account')).status).toBe(500);
    fault.remove();
    expect((await cloud.call('GET', '/v2/account')).status).toBe(200);
    expect(fault.hits).toBe(3);
  });

  test('whose pattern does not compile is refused when it is added', () => {
    expect(() => cloud.simulator.faults.add({ kind: 'resetBefore', match: { path: '(' } })).toThrow();
  });
});

describe('status', () => {
  test('answers with code, body and headers as given and has no effect', async () => {
    const headers = { 'retry-after': '7' };
    cloud.simulator.faults.add({ kind: 'status', code: 429, body: { id: 'too_many_requests', message: 'slow down' }, headers });
    const reply = await assign();
    expect([reply.status, reply.headers.get('retry-after'), reply.body.at('message').raw]).toEqual([429, '7', 'slow down']);
    expect(assigns()).toHaveLength(0);
  });
});

describe('a reset', () => {
  test('before the effect leaves nothing behind', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'resetBefore', times: 1 });
    await expect(assign()).rejects.toThrow();
    expect([fault.hits, assigns().length]).toEqual([1, 0]);
    expect(cloud.simulator.calls.all().at(-1)).toMatchObject({ outcome: 'reset', status: null });
  });

  test('after the effect loses the answer but not the assignment', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'resetAfter', times: 1 });
    await expect(assign()).rejects.toThrow();
    expect([fault.hits, assigns().length]).toEqual([1, 1]);
    cloud.clock.advance(1000);
    expect(cloud.simulator.state.reservedIPs.get(ip)?.dropletId).toBe(droplet);
  });
});

/** Asks for an address and gives up once the request has arrived and was struck. */
async function createAndGiveUp(): Promise<void> {
  const patience = new AbortController();
  const init = { method: 'POST', headers: { authorization: 'Bearer t' }, body: '{"region":"nyc3"}', signal: patience.signal };
  const answer = expect(fetch(`${cloud.simulator.url}/v2/reserved_ips`, init)).rejects.toThrow();
  await expect.poll(() => cloud.simulator.calls.all().at(-1)?.faults).toEqual(['hang']);
  patience.abort();
  await answer;
}

describe('hang', () => {
  test('never answers and has no effect, and the log says that the client gave up', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'hang' });
    await createAndGiveUp();
    await expect.poll(() => cloud.simulator.calls.all().at(-1)?.outcome).toBe('aborted');
    expect([fault.hits, cloud.simulator.state.reservedIPs.size]).toEqual([1, 1]);
  });

  test('answers after its time', async () => {
    cloud.simulator.faults.add({ kind: 'hang', ms: 30 });
    const started = performance.now();
    expect((await cloud.call('GET', '/v2/account')).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
  });

  test('can apply the effect at once and still not answer', async () => {
    cloud.simulator.faults.add({ kind: 'hang', applied: true });
    await createAndGiveUp();
    expect(cloud.simulator.state.reservedIPs.size).toBe(2);
  });
});

describe('latency', () => {
  test('delays the answer', async () => {
    cloud.simulator.faults.add({ kind: 'latency', ms: 30 });
    const started = performance.now();
    expect((await cloud.call('GET', '/v2/account')).status).toBe(200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
  });
});

describe('stale reads', () => {
  test('show an address, its holder and its lock as they were', async () => {
    cloud.clock.advance(5000);
    await assign();
    cloud.clock.advance(1000);
    const fault = cloud.simulator.faults.add({ kind: 'staleReads', ms: 500 });
    const during = await cloud.call('GET', `/v2/reserved_ips/${ip}`);
    expect(during.body.at('reserved_ip').raw).toMatchObject({ droplet: null, locked: true });
    cloud.clock.advance(1000);
    const later = await cloud.call('GET', '/v2/reserved_ips');
    expect(later.body.at('reserved_ips', 0).raw).toMatchObject({ droplet: { id: droplet }, locked: false });
    expect(fault.hits).toBe(2);
  });

  test('hide an address that is newer, and still show one that was deleted', async () => {
    cloud.clock.advance(5000);
    await cloud.call('DELETE', `/v2/reserved_ips/${ip}`);
    await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    cloud.simulator.faults.add({ kind: 'staleReads', ms: 1000 });
    const listed = (await cloud.call('GET', '/v2/reserved_ips')).body.at('reserved_ips').items.map((item) => item.at('ip').raw);
    expect(listed).toEqual([ip]);
  });
});

describe('truncated pages', () => {
  beforeEach(() => {
    for (let i = 0; i < 9; i++) cloud.simulator.addReservedIP({ region: 'nyc3' });
  });

  test('can be cut in the middle of the JSON', async () => {
    cloud.simulator.faults.add({ kind: 'truncatePages' });
    const reply = await cloud.call('GET', '/v2/reserved_ips');
    expect(reply.status).toBe(200);
    expect(() => JSON.parse(reply.text) as unknown).toThrow();
  });

  test('can miss their rest without a next link, while the total still tells', async () => {
    cloud.simulator.faults.add({ kind: 'truncatePages', how: 'missingRest' });
    const reply = await cloud.call('GET', '/v2/reserved_ips?per_page=5');
    expect(reply.body.at('reserved_ips').items).toHaveLength(2);
    expect([reply.body.at('links').raw, reply.body.at('meta', 'total').raw]).toEqual([{}, 10]);
  });

  test('are lists only', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'truncatePages' });
    expect((await cloud.call('GET', `/v2/reserved_ips/${ip}`)).body.at('reserved_ip', 'ip').raw).toBe(ip);
    expect(fault.hits).toBe(0);
  });
});

describe('faults of actions', () => {
  test('pendingEvent refuses an assignment as a busy droplet does', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'pendingEvent', times: 1 });
    const refused = await assign();
    expect([refused.status, refused.body.at('message').raw]).toEqual([422, 'Droplet already has a pending event.']);
    expect((await assign()).status).toBe(201);
    expect(fault.hits).toBe(1);
  });

  test('actionNotFound hides actions, also when they have ended, and leaves the address readable', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'actionNotFound' });
    const id = (await assign()).body.at('action', 'id').raw;
    expect((await cloud.call('GET', `/v2/reserved_ips/${ip}/actions/${id}`)).status).toBe(404);
    cloud.clock.advance(1000);
    expect((await cloud.call('GET', `/v2/actions/${id}`)).status).toBe(404);
    expect((await cloud.call('GET', `/v2/reserved_ips/${ip}`)).body.at('reserved_ip', 'droplet', 'id').raw).toBe(droplet);
    expect(fault.hits).toBe(2);
  });

  test('actionErrored ends the action without effect', async () => {
    cloud.simulator.faults.add({ kind: 'actionErrored', times: 1 });
    const id = (await assign()).body.at('action', 'id').raw;
    cloud.clock.advance(1000);
    expect((await cloud.call('GET', `/v2/actions/${id}`)).body.at('action', 'status').raw).toBe('errored');
    expect(cloud.simulator.state.reservedIPs.get(ip)).toMatchObject({ dropletId: null, pendingActionId: null });
  });

  test('slowAction stretches the action', async () => {
    cloud.simulator.faults.add({ kind: 'slowAction', ms: 10_000, times: 1 });
    await assign();
    cloud.clock.advance(9999);
    expect(cloud.simulator.state.reservedIPs.get(ip)?.dropletId).toBe(null);
    cloud.clock.advance(1);
    expect(cloud.simulator.state.reservedIPs.get(ip)?.dropletId).toBe(droplet);
  });

  test('quota refuses a creation', async () => {
    cloud.simulator.faults.add({ kind: 'quota', times: 1 });
    expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' })).status).toBe(422);
    expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' })).status).toBe(202);
  });
});

describe('the whole API', () => {
  test('can refuse connections for a while and keeps its state', async () => {
    await cloud.simulator.stopListening();
    await expect(cloud.call('GET', '/v2/account')).rejects.toThrow();
    await cloud.simulator.listenAgain();
    expect((await cloud.call('GET', `/v2/reserved_ips/${ip}`)).status).toBe(200);
  });
});
