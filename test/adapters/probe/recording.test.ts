import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor, recordingOf } from '../../../adapters/digitalocean/probe/recording.ts';
import { DROPLETS, HELD, recordingIn, run, stage, TOKEN, WRITES, ZONE } from './support.ts';

describe('probe --record', () => {
  test('writes what was asked and answered, and nothing by which the account is known', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'status', code: 403, body: '<html>zqproxy of zqcompany</html>', match: { path: 'tags' } });
    const { code, problems } = await run(set, { ...WRITES, record: `${set.folder}/recorded` });
    expect(code).toBe(3);
    const { recording, text } = recordingIn(`${set.folder}/recorded`);
    expect(problems).toContain('recorded in ');
    expect(recording).toMatchObject({ recording: 1, version: '0.0.0', api: 'another API' });
    const { droplets, reservedIPs, deletedIPs, actions, firewalls, domains } = set.simulator.state;
    const ids = [
      ...droplets.keys(),
      ...actions.keys(),
      ...firewalls.keys(),
      ...[...domains.values()].flatMap(({ records }) => [...records.keys()]),
    ];
    const own = [...droplets.values()].flatMap(({ publicIPv4, privateIPv4, publicIPv6 }) => [publicIPv4, privateIPv4, publicIPv6 ?? HELD]);
    const projects = [...reservedIPs.values(), ...deletedIPs].map(({ projectId }) => projectId);
    expect(DROPLETS.every((id) => droplets.has(id))).toBe(true);
    const telling = [
      TOKEN,
      ZONE,
      HELD,
      'zq',
      '7f3a',
      'operator@example.com',
      'Simulated',
      '45.55.0.0',
      'routedip-probe-',
      set.simulator.url,
      ...ids,
      ...own,
      ...projects,
    ];
    expect(telling.length).toBeGreaterThan(30);
    for (const each of telling) expect(text).not.toContain(String(each));
  });

  test('keeps what belongs together together, and every answer of a kind once', async () => {
    const set = await stage();
    set.simulator.faults.add({ kind: 'status', code: 503, times: 2, match: { method: 'DELETE', path: '/records/' } });
    await run(set, { ...WRITES, reads: 20, record: `${set.folder}/recorded` });
    const { recording } = recordingIn(`${set.folder}/recorded`);
    const { exchanges } = recording;
    const of = (pattern: RegExp) => exchanges.filter(({ method, path }) => pattern.test(`${method} ${path}`));
    expect(of(/GET .*reserved_ips\?page=1&per_page=1$/)).toHaveLength(1);
    expect(of(/DELETE .*records/).map(({ status }) => status)).toEqual([503, 503, 204]);
    const [{ answer } = { answer: null }] = of(/POST .*reserved_ips$/);
    const made = (answer as { reserved_ip: { ip: string } }).reserved_ip.ip;
    expect(made).toMatch(/^203\.0\.113\.\d+$/);
    expect(of(/POST .*actions$/).map(({ path }) => path)).toEqual(Array(3).fill(`/v2/reserved_ips/${made}/actions`));
    const [first, second] = of(/POST .*actions$/).map(({ body }) => (body as { droplet_id?: number }).droplet_id);
    expect(of(/GET .*droplets\/\d+$/).map(({ path }) => path)).toEqual(
      expect.arrayContaining([`/v2/droplets/${first}`, `/v2/droplets/${second}`]),
    );
    expect(of(/POST .*records$/)[0]?.body).toMatchObject({ type: 'A', data: made, ttl: 60 });
    expect(of(/GET .*account/)[0]?.answer).toEqual({ account: { droplet_limit: 100, floating_ip_limit: 3 } });
    expect(Object.keys(of(/GET .*account/)[0]?.headers ?? {})).toEqual([
      'content-type',
      'date',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
    ]);
  });

  test('keeps each of two writes that are answered alike', () => {
    const heard = ['GET', 'DELETE'].flatMap((method) => {
      const reply = { status: 204, headers: {}, text: '' };
      const each = { method, url: 'https://api.example.com/v2/reserved_ips/45.55.1.2', body: undefined, reply, tookMs: 1, at: 0 };
      return [each, each];
    });
    const { exchanges } = recordingOf(heard, { version: '0', api: 'x' });
    expect(exchanges.map(({ method }) => method)).toEqual(['GET', 'DELETE', 'DELETE']);
  });

  test('where it cannot be written says so, and the report is given all the same', async () => {
    const set = await stage();
    const { code, problems, out } = await run(set, { record: '/dev/null/recorded' });
    expect([code, out.length > 0]).toEqual([0, true]);
    expect(problems).toContain('nothing was recorded: ');
  });
});

/** Fields under which words of the API stand. */
const KEPT = ['status', 'type', 'slug', 'region', 'region_slug', 'resource_type', 'protocol', 'ports', 'rel', 'features', 'message', 'id'];

describe('what is put in the place of an account', () => {
  const secretText = fc
    .tuple(fc.string({ maxLength: 5 }), fc.constantFrom('', '.', '@', '/', ' ', '://'))
    .map(([before, sign]) => `${before}zq${sign}zq7`);
  const key = fc.string({ maxLength: 10 }).filter((each) => !KEPT.includes(each));
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      secretText,
      fc.integer(),
      fc.constant(null),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));

  test('leaves no text of an answer, wherever it stands', () => {
    const leaves = (value: unknown): boolean => !JSON.stringify(new Redactor().value(value)).includes('zq');
    fc.assert(fc.property(tree, leaves), { numRuns: 300 });
  });

  test('leaves no path and no query', () => {
    const part = secretText.map(encodeURIComponent);
    const leaves = (parts: readonly string[], query: string): boolean =>
      !new Redactor().path(`https://api.example.com/v2/${parts.join('/')}?name=${query}&page=2`).includes('zq');
    fc.assert(fc.property(fc.array(part, { maxLength: 4 }), part, leaves), { numRuns: 200 });
  });

  test('is the same for the same, and another one for another', () => {
    const redactor = new Redactor();
    const differ = (texts: readonly string[]): void => {
      const places = texts.map((each) => redactor.value(each, 'name'));
      expect(new Set(places).size).toBe(texts.length);
      expect(texts.map((each) => redactor.value(each, 'name'))).toEqual(places);
    };
    fc.assert(fc.property(fc.uniqueArray(secretText, { minLength: 2, maxLength: 6 }), differ));
    expect(redactor.value({ droplet_id: 77 })).toEqual({ droplet_id: Number(redactor.path('/v2/droplets/77').split('/').at(-1)) });
  });

  test.each([
    ['/v2/reserved_ips/45.55.1.2/actions/991234?page=2&per_page=200', '/v2/reserved_ips/203.0.113.1/actions/1001?page=2&per_page=200'],
    ['/hidden/prefix/v2/domains/records/records/5', '/v2/domains/name-1/records/1001'],
    ['/v2/droplets?tag_name=shop&page=1', '/v2/droplets?tag_name=name-1&page=1'],
    ['/v2/reserved_ipv6/2604:a880::5', '/v2/reserved_ipv6/2001:db8::1'],
  ])('is in the path %s: %s', (path, expected) => expect(new Redactor().path(`https://api.example.com${path}`)).toBe(expected));

  test.each([
    ['Droplet already has a reserved IP.', 'Droplet already has a reserved IP.'],
    ['The region you specified is not available.', 'The region you specified is not available.'],
    ['10.1.2.3 and 45.55.1.2 and 2604:a880::5', '10.0.0.1 and 203.0.113.2 and 2001:db8::1'],
    ['droplet 81001001 does not exist', 'droplet 1001 does not exist'],
    ['mail ann@corp.net, see https://corp.net/x?token=1', 'mail someone@example.com see https://api.digitalocean.com/'],
    ['domain corp.net of "Corp Inc" is shop', 'domain name-2.example of "name-3" is name-1'],
    ['firewall 3b7cf3c2-5632-4b92-909d-3fb64afebede: 503', 'firewall 00000000-0000-4000-8000-000000000001: 503'],
    ['at 08:38:58, 3 items and meta.total is 5', 'at 08:38:58, 3 items and meta.total is 5'],
  ])('in the message %s leaves: %s', (message, expected) => {
    const redactor = new Redactor();
    redactor.learn([], ['shop']);
    expect(redactor.value({ id: 'not_found', message })).toEqual({ id: 'not_found', message: expected });
  });

  test('leaves words of the API, masks, everybody and times', () => {
    const rule = { protocol: 'tcp', ports: '8000-9000', sources: { addresses: ['0.0.0.0/0', '::/0', '45.55.0.0/16'] } };
    const value = {
      status: 'in-progress',
      netmask: '255.255.240.0',
      created_at: '2026-11-24T08:38:58Z',
      rule,
      image: { a: 1 },
      sizes: ['s'],
      zone_file: 'x',
    };
    const left = { ...rule, sources: { addresses: ['0.0.0.0/0', '::/0', '203.0.113.1/16'] } };
    expect(new Redactor().value(value)).toEqual({ ...value, rule: left, image: {}, sizes: [], zone_file: '' });
  });
});
