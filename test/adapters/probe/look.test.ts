import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LISTS, SCOPES } from '../../../adapters/digitalocean/probe/expected.ts';
import { clockOffset, mostReads } from '../../../adapters/digitalocean/probe/look.ts';
import type { Heard } from '../../../adapters/http/exchange.ts';
import type { FaultSpec } from '../../../simulator/digitalocean/faults.ts';
import { PATIENCE_MS } from '../../support/wait-for.ts';
import { DROPLETS, HELD, run, stage, TOKEN, ZONE } from './support.ts';

/** What it says differs with this fault. */
const differencesWith = async (fault: FaultSpec) => {
  const set = await stage();
  set.simulator.faults.add(fault);
  const ran = await run(set, { json: true });
  return { code: ran.code, differences: ran.report().differences };
};

describe('a look at an account', () => {
  test('finds nothing in one that answers as it should, asks no more than it says, and writes nothing', async () => {
    const set = await stage();
    const { code, out, problems } = await run(set, { zone: ZONE, firewall: 'zqfirewall' });
    expect([code, set.simulator.calls.select({ since: 0, writes: true })]).toEqual([0, []]);
    expect(out).toMatch(/Differs from what the operator expects\n +nothing\n$/);
    const most = mostReads({ reads: 3 });
    expect(problems).toContain(`up to ${most} reads, 3 of them for the latency`);
    expect(set.simulator.calls.all().length).toBeLessThanOrEqual(most);
    expect(set.simulator.calls.all().length).toBeGreaterThan(SCOPES.length + LISTS.length + 3);
  });

  test('is told in no more than 80 columns, with what was asked for', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'status', code: 503, match: { path: '^/v2/byoip' }, headers: { 'retry-after': '7' } });
    const { out } = await run(set);
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(out).toMatch(/^ {2}reserved_ip:read +yes +addresses$/m);
    expect(out).toMatch(/^ {2}byoip_prefix:read +not known +/m);
    expect(out).toMatch(/^ {2}reserved IPv4 addresses +1 of 3$/m);
    expect(out).toMatch(/^ {2}requests +49\d\d left of 5000 an hour, reset in 3\d{3} s$/m);
    expect(out).toMatch(/^ {2}\/droplets +3 +3 +1$/m);
    expect(out).toMatch(/^ {2}Retry-After +7, 7/m);
    expect(out).toMatch(/^ {2}3 reads +p50 \d+ ms, p90 \d+ ms, p99 \d+ ms$/m);
  });

  test('as JSON tells nothing of whose account it is', async () => {
    const set = await stage();
    const { code, out, report } = await run(set, { json: true, zone: 'zqother.net', firewall: 'zqnone' });
    expect(code).toBe(3);
    expect(report().differences).toHaveLength(2);
    for (const telling of ['zq', HELD, TOKEN, set.simulator.url, String(DROPLETS[0]), 'operator@example.com'])
      expect(out).not.toContain(telling);
  });

  test('says how far the clock of the API is off', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'clockOff', ms: 90_000 });
    const { clock } = (await run(set, { json: true })).report().look?.headers ?? {};
    expect(Math.abs((clock?.aheadMs ?? 0) - 90_000)).toBeLessThan(1000);
  });

  test('tells from the history of actions how long assignments took', async () => {
    let now = Date.now();
    const set = await stage({ now: () => now });
    const free = set.simulator.addReservedIP({ region: 'nyc3' }).ip;
    const assign = async (ms: number) => {
      set.simulator.faults.add({ kind: 'slowAction', ms, times: 1 });
      const init = {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}` },
        body: JSON.stringify({ type: 'assign', droplet_id: DROPLETS[0] }),
      };
      await fetch(`${set.simulator.url}/v2/reserved_ips/${free}/actions`, init);
      now += 100_000;
      set.simulator.moveReservedIP(free, null);
    };
    for (const ms of [2000, 4000, 30_000]) await assign(ms);
    const { actions } = (await run(set, { json: true })).report().look ?? {};
    expect(actions?.rows).toEqual([{ type: 'assign_ip', ended: 3, errored: 0, unfinished: 0, p50Ms: 4000, p90Ms: 30_000, maxMs: 30_000 }]);
  });
});

describe('what differs', () => {
  test.each(SCOPES)('is a token without $scope', async ({ scope, for: what }) => {
    const { code, differences } = await differencesWith({ kind: 'lacksScope', scope });
    expect(code).toBe(3);
    expect(differences).toContain(`the scope ${scope} is missing, for ${what}`);
  });

  test('is no token without account:read, which the operator does not need', async () => {
    expect(await differencesWith({ kind: 'lacksScope', scope: 'account:read' })).toEqual({ code: 0, differences: [] });
  });

  const answer = (path: string, body: unknown): FaultSpec => ({ kind: 'status', code: 200, body, match: { path: `^/v2/${path}` } });
  const listOf = (key: string, item: unknown): FaultSpec => answer(`${key}[?].*=200$`, { [key]: [item], meta: { total: 1 } });
  const droplet = { id: 1, region: { slug: 'nyc3' }, networks: { v4: [] } };
  const action = { id: 1, status: 'archived', type: 'assign_ip', resource_type: 'reserved_ip', started_at: '', completed_at: null };

  test.each<readonly [says: string, fault: FaultSpec]>([
    ['/droplets: 3 items were shown, and meta.total is 5', { kind: 'wrongTotal', by: 2, match: { path: 'droplets.*=200' } }],
    ['/droplets: meta.total is missing', answer('droplets', { droplets: [], links: {} })],
    ['/droplets: links is missing', listOf('droplets', droplet)],
    ['/droplets: a page has 2 items although 200 were asked for and more follow', { kind: 'smallPages', max: 2 }],
    ['/droplets: 1 of 4 items were shown before', { kind: 'shuffledPages', match: { path: 'droplets' } }],
    [
      '/droplets: 1 items were shown, and meta.total is 3',
      { kind: 'truncatePages', how: 'missingRest', match: { path: 'droplets.*=200' } },
    ],
    ['/domains: the answer has no list domains', answer('domains', { zones: [] })],
    ['/firewalls: read /firewalls?page=1&per_page=200: 500 Simulated 500.', { kind: 'status', code: 500, match: { path: 'firewalls' } }],
    [
      '/firewalls: read /firewalls?page=1&per_page=200: 200, but the answer was cut or is none of the API',
      { kind: 'truncatePages', match: { path: 'firewalls' } },
    ],
    ['/droplets: 1 of 1 items have no features', listOf('droplets', droplet)],
    ['/domains: 1 of 1 items cannot be read: the answer bears no readable name', listOf('domains', {})],
    ['/actions: 1 of 1 items have a status that the adapter does not know: archived', listOf('actions', action)],
    ['/account: the answer has no floating_ip_limit', answer('account', {})],
    [
      'an answer has the content type text/html',
      { kind: 'status', code: 200, body: '<html></html>', headers: { 'content-type': 'text/html' }, match: { path: 'tags' } },
    ],
    [
      'an address that nobody has, as the operator reads it: find 192.0.2.1: 404 (no message)',
      { kind: 'status', code: 404, body: '<html></html>', match: { path: 'reserved_ips/192' } },
    ],
    ['a Droplet that nobody has, as the operator reads it: it is there', answer('droplets/1$', { droplet })],
  ])('is: %s', async (says, fault) => {
    const { code, differences } = await differencesWith(fault);
    expect(differences).toContain(says);
    expect(code).toBe(3);
  });

  test('is a limit of requests below what the operator keeps to', async () => {
    const set = await stage({ rateLimit: { perHour: 1200, perMinute: 250 } });
    const { out } = await run(set);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('1200 requests an hour are allowed: start the operator with --rate-limit-per-hour 1200');
  });

  test(
    'reads no more than three pages of a list, and says so',
    async () => {
      const set = await stage();
      for (let i = 0; i < 700; i += 1) set.simulator.addDroplet({ name: `zq${i}`, region: 'nyc3' });
      const { lists } = (await run(set, { json: true })).report().look ?? {};
      expect(lists?.find(({ path }) => path === '/droplets')).toEqual({ path: '/droplets', items: 600, total: 703, pages: 3, isCut: true });
    },
    PATIENCE_MS,
  );
});

describe('where it cannot ask', () => {
  test.each<readonly [title: string, fault: FaultSpec, says: RegExp]>([
    ['a refused token', { kind: 'status', code: 401 }, /the API refuses the token: .* 401/],
    ['spent requests', { kind: 'status', code: 429, match: { path: 'tags' } }, /the requests that the API allows are spent: .* 429/],
    ['a server that fails', { kind: 'status', code: 503 }, /503 Simulated/],
    [
      'a page of a proxy',
      { kind: 'status', code: 403, body: '<html>Blocked</html>', headers: { 'content-type': 'text/html' } },
      /403 \(no message\)/,
    ],
    [
      'a page of a proxy that looks well',
      { kind: 'status', code: 200, body: '<html>Log in</html>' },
      /the answer was cut or is none of the API/,
    ],
    ['a connection that ends', { kind: 'resetBefore' }, /no answer/],
  ])('for %s, it says why and ends with 1', async (_, fault, says) => {
    const set = await stage();
    set.simulator.faults.add(fault);
    const { code, out, problems } = await run(set);
    expect([code, out]).toEqual([1, '']);
    expect(problems).toMatch(/cannot go on: /);
    expect(problems).toMatch(says);
  });

  test('an address at which nobody listens is asked once', async () => {
    const set = await stage();
    await set.simulator.stopListening();
    const { code, problems } = await run(set);
    expect([code, problems]).toEqual([1, expect.stringContaining('no connection')]);
  });
});

describe('the clock of the API', () => {
  /** An answer that came at that time, ms, after so long, with that date. */
  const answered = (at: number, tookMs: number, date: number) =>
    ({ at, tookMs, reply: { status: 200, text: '', headers: { date: new Date(date).toUTCString() } } }) as unknown as Heard;

  test.each<readonly [title: string, heard: readonly Heard[], offset: object | null]>([
    ['no answer', [], null],
    // It was 5000 to 5999 by the API at some time from 900 to 1000 here.
    ['one answer', [answered(1000, 100, 5000)], { aheadMs: 4550, giveMs: 550 }],
    ['two that leave less room', [answered(1000, 100, 5000), answered(1600, 100, 5000)], { aheadMs: 4250, giveMs: 250 }],
    ['one behind', [answered(9000, 0, 2000)], { aheadMs: -6500, giveMs: 500 }],
  ])('is known by %s', (_, heard, offset) => expect(clockOffset(heard)).toEqual(offset));
});

test('the scopes are those of the documentation', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/on-digitalocean-kubernetes.md'), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `\w+:/.test(line));
  const documented = rows.flatMap((row) =>
    [...row.matchAll(/`(\w+:read)`/g)].map(([, scope]) => ({ scope, for: row.split('|')[2]?.trim() })),
  );
  expect(documented.map(({ scope }) => scope)).toEqual(SCOPES.map(({ scope }) => scope));
  for (const [index, { for: what }] of SCOPES.entries()) expect(documented[index]?.for).toContain(what);
});
