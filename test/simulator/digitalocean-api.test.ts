import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.simulator.close());

describe('a list', () => {
  beforeEach(() => {
    for (let i = 0; i < 45; i++) cloud.simulator.addReservedIP({ region: 'nyc3' });
  });

  test('has 20 items a page, their number and links to the pages that make sense', async () => {
    const first = await cloud.call('GET', '/v2/reserved_ips');
    expect(first.body.at('reserved_ips').items).toHaveLength(20);
    expect(first.body.at('meta', 'total').raw).toBe(45);
    expect(Object.keys(first.body.at('links', 'pages').raw as object).sort()).toEqual(['last', 'next']);
    const middle = await cloud.call('GET', '/v2/reserved_ips?page=2');
    expect(Object.keys(middle.body.at('links', 'pages').raw as object).sort()).toEqual(['first', 'last', 'next', 'prev']);
  });

  test('followed by its next links shows every item once', async () => {
    const seen: unknown[] = [];
    let path: string | undefined = '/v2/reserved_ips?per_page=7';
    while (path !== undefined) {
      const reply = await cloud.call('GET', path);
      seen.push(...reply.body.at('reserved_ips').items.map((item) => item.at('ip').raw));
      const next = reply.body.at('links', 'pages', 'next').raw;
      path = typeof next === 'string' ? next.slice(cloud.simulator.url.length) : undefined;
    }
    expect(seen).toHaveLength(45);
    expect(new Set(seen).size).toBe(45);
  });

  test('on one page has no links', async () => {
    expect((await cloud.call('GET', '/v2/reserved_ips?per_page=200')).body.at('links').raw).toEqual({});
  });

  test('never has more than 200 items a page', async () => {
    for (let i = 45; i < 230; i++) cloud.simulator.addReservedIP({ region: 'nyc3' });
    expect((await cloud.call('GET', '/v2/reserved_ips?per_page=1000')).body.at('reserved_ips').items).toHaveLength(200);
  });
});

describe('authentication', () => {
  test('answers 401 without a token, and to a wrong one', async () => {
    const strict = await startTestCloud({ token: 'right' });
    const answers = [
      await cloud.call('GET', '/v2/account', undefined, ''),
      await strict.call('GET', '/v2/account', undefined, 'wrong'),
      await strict.call('GET', '/v2/account', undefined, 'right'),
    ];
    await strict.simulator.close();
    expect(answers.map((reply) => reply.status)).toEqual([401, 401, 200]);
    expect(answers[0]?.body.at('id').raw).toBe('unauthorized');
  });
});

describe('an error', () => {
  test('bears id, message and request id', async () => {
    const reply = await cloud.call('GET', '/v2/reserved_ips/203.0.113.77');
    expect(reply.status).toBe(404);
    expect(reply.body.at('id').raw).toBe('not_found');
    expect(reply.body.at('request_id').raw).toBe(reply.headers.get('x-request-id'));
  });

  test('of a body that is not JSON is 400', async () => {
    const reply = await cloud.call('POST', '/v2/reserved_ips', '{"region"');
    expect([reply.status, reply.body.at('id').raw]).toEqual([400, 'bad_request']);
  });

  test('of an unknown path is 404', async () => {
    expect((await cloud.call('GET', '/v2/nothing')).status).toBe(404);
  });
});

describe('the rate limit', () => {
  test('is told in the headers and counts down', async () => {
    const first = await cloud.call('GET', '/v2/account');
    const second = await cloud.call('GET', '/v2/account');
    expect(first.headers.get('ratelimit-limit')).toBe('5000');
    expect([first.headers.get('ratelimit-remaining'), second.headers.get('ratelimit-remaining')]).toEqual(['4999', '4998']);
    expect(Number(first.headers.get('ratelimit-reset'))).toBe(cloud.clock.now() / 1000 + 3600);
  });

  test('refuses a burst with Retry-After, and lets go on after it', async () => {
    const small = await startTestCloud({ rateLimit: { perHour: 100, perMinute: 2 } });
    await small.call('GET', '/v2/account');
    small.clock.advance(20_000);
    await small.call('GET', '/v2/account');
    const refused = await small.call('GET', '/v2/account');
    expect([refused.status, refused.body.at('id').raw]).toEqual([429, 'too_many_requests']);
    expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit-remaining')]).toEqual(['40', '0']);
    small.clock.advance(40_000);
    expect((await small.call('GET', '/v2/account')).status).toBe(200);
    await small.simulator.close();
  });

  test('of the hour refuses without Retry-After and names the reset', async () => {
    const small = await startTestCloud({ rateLimit: { perHour: 1, perMinute: 250 } });
    await small.call('GET', '/v2/account');
    const refused = await small.call('GET', '/v2/account');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, null]);
    expect(Number(refused.headers.get('ratelimit-reset'))).toBe(small.clock.now() / 1000 + 3600);
    await small.simulator.close();
  });

  test('is kept per token', async () => {
    const small = await startTestCloud({ rateLimit: { perHour: 1, perMinute: 250 } });
    expect((await small.call('GET', '/v2/account', undefined, 'one')).status).toBe(200);
    expect((await small.call('GET', '/v2/account', undefined, 'two')).status).toBe(200);
    await small.simulator.close();
  });
});

describe('a droplet', () => {
  test('is new until its create action ends', async () => {
    const created = await cloud.call('POST', '/v2/droplets', {
      name: 'w1',
      region: 'nyc3',
      size: 's-1vcpu-1gb',
      image: 'debian-12-x64',
      tags: ['k8s'],
    });
    expect([created.status, created.body.at('droplet', 'status').raw]).toEqual([202, 'new']);
    expect(created.body.at('links', 'actions', 0, 'rel').raw).toBe('create');
    cloud.clock.advance(1000);
    const id = created.body.at('droplet', 'id').raw;
    expect((await cloud.call('GET', `/v2/droplets/${id}`)).body.at('droplet', 'status').raw).toBe('active');
    expect((await cloud.call('GET', '/v2/droplets?tag_name=k8s')).body.at('meta', 'total').raw).toBe(1);
    expect((await cloud.call('GET', '/v2/droplets?tag_name=other')).body.at('meta', 'total').raw).toBe(0);
  });

  test('can be created by several names at once', async () => {
    const created = await cloud.call('POST', '/v2/droplets', { names: ['w1', 'w2'], size: 's-1vcpu-1gb', image: 1, region: 'nyc3' });
    expect(created.body.at('droplets').items.map((droplet) => droplet.at('name').raw)).toEqual(['w1', 'w2']);
  });

  test('without size or image is refused', async () => {
    expect((await cloud.call('POST', '/v2/droplets', { name: 'w1', region: 'nyc3' })).status).toBe(422);
  });
});

describe('the call log', () => {
  test('tells number, time, method, path, body and status of each call, but no token', async () => {
    await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' }, 'very-secret');
    await cloud.call('GET', '/v2/reserved_ips?page=1', undefined, 'very-secret');
    const [write, read] = cloud.simulator.calls.all();
    expect(write).toMatchObject({ n: 1, method: 'POST', path: '/v2/reserved_ips', body: { region: 'nyc3' }, status: 202, remaining: 4999 });
    expect(read).toMatchObject({ n: 2, path: '/v2/reserved_ips?page=1', status: 200 });
    expect(write?.at).toBe(cloud.clock.now());
    expect(JSON.stringify(cloud.simulator.calls.all())).not.toContain('very-secret');
  });

  test('can be asked for writes, and for what came since', async () => {
    await cloud.call('GET', '/v2/account');
    await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    await cloud.call('GET', '/v2/account');
    expect(cloud.simulator.calls.select({ writes: true }).map((call) => call.n)).toEqual([2]);
    expect(cloud.simulator.calls.select({ since: 2 }).map((call) => call.n)).toEqual([3]);
  });
});
