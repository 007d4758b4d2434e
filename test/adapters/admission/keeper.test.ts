import { describe, expect, test, vi } from 'vitest';
import { issue, vouchersOf } from '../../../adapters/admission/certificates.ts';
import { CONFIGURATION, SECRET } from '../../../adapters/admission/names.ts';
import { CERTIFICATE_TIMES } from '../../../adapters/admission/renewal.ts';
import type { Request } from '../../../adapters/kubernetes/client/connection.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { at, type JsonObject } from '../../../simulator/kubernetes/objects.ts';
import { simulated } from '../kubernetes/support.ts';
import { bundleOf, looked, NAMES, nextLook, OPERATOR, ready, registered, replica, SECRETS, send, storedIn } from './keeper-support.ts';
import { CONFIGURATIONS, registrationAt } from './support.ts';

const { lifeMs, renewBeforeMs, overlapMs } = CERTIFICATE_TIMES;

describe('the certificates of the webhook', () => {
  test('are made by one replica, served by all, and trusted by the API server', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const replicas = [replica(server, clock), replica(server, clock), replica(server, clock)];
    await ready(clock, ...replicas);
    const cert = replicas[0]?.used.at(-1)?.cert ?? '';
    expect(replicas.map(({ used }) => used.at(-1)?.cert)).toEqual([cert, cert, cert]);
    expect(await storedIn(server, 'tls.crt')).toBe(cert);
    for (const index of [0, 1]) expect(vouchersOf(cert, await bundleOf(server, index))).not.toBe('');
    expect(server.requests.filter(({ method, path, code }) => method === 'POST' && path === SECRETS && code === 201)).toHaveLength(1);
    expect(at(await send(server, 'GET', `${SECRETS}/${SECRET}`), 'type')).toBe('kubernetes.io/tls');
  });

  test('are served before the API server is told of the first: it may ask at once', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    const servedWhenTold = vi.fn(() => one.used.length);
    const push = server.requests.push.bind(server.requests);
    server.requests.push = (...requests) => {
      for (const { method, path } of requests) if (method !== 'GET' && path.startsWith(CONFIGURATIONS)) servedWhenTold();
      return push(...requests);
    };
    await ready(clock, one);
    expect(servedWhenTold.mock.results.map(({ value }) => value)).toEqual([1]);
  });

  test('are left alone while nothing is due', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    const before = server.requests.length;
    await nextLook(clock);
    expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['GET', 'GET']);
    expect(one.used).toHaveLength(1);
  });

  test('are renewed before they end, the new CA trusted before its certificate is served', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    const two = replica(server, clock);
    await ready(clock, one, two);
    const cert = one.used.at(-1)?.cert ?? '';
    clock.jump(lifeMs - renewBeforeMs);
    await nextLook(clock, 2);
    const next = await storedIn(server, 'next.crt');
    for (const each of [cert, next]) expect(vouchersOf(each, await bundleOf(server))).not.toBe('');
    expect([one, two].map(({ used }) => used.at(-1)?.cert)).toEqual([cert, cert]);
    clock.jump(overlapMs);
    await nextLook(clock, 2);
    await nextLook(clock, 2);
    expect([one, two].map(({ used }) => used.at(-1)?.cert)).toEqual([next, next]);
    expect(await storedIn(server, 'tls.crt')).toBe(next);
    expect(await storedIn(server, 'next.key')).toBe('');
    expect(vouchersOf(cert, await bundleOf(server))).not.toBe('');
  });

  test('are made anew when their Secret was deleted, or spoilt', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    const spoils = [
      () => send(server, 'DELETE', `${SECRETS}/${SECRET}`),
      async () => {
        const secret = await send(server, 'GET', `${SECRETS}/${SECRET}`);
        return send(server, 'PUT', `${SECRETS}/${SECRET}`, { ...secret, data: { 'tls.crt': 'eA==', 'tls.key': 'eA==' } });
      },
    ];
    for (const spoil of spoils) {
      const served = one.used.length;
      await spoil();
      await nextLook(clock);
      expect(one.used.length).toBeGreaterThan(served);
      expect(vouchersOf(one.used.at(-1)?.cert ?? '', await bundleOf(server))).not.toBe('');
    }
  });

  test('that another program has put there are served as they are', async () => {
    const server = await registered();
    const issued = await issue(NAMES, { from: Date.now() - 60_000, to: Date.now() + lifeMs });
    const encode = (text: string): string => Buffer.from(text).toString('base64');
    const data = { 'ca.crt': encode(issued.ca), 'tls.crt': encode(issued.cert), 'tls.key': encode(issued.key) };
    await send(server, 'POST', SECRETS, { metadata: { name: SECRET }, type: 'kubernetes.io/tls', data });
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    expect(one.used.map(({ cert }) => cert)).toEqual([issued.cert]);
    expect(await bundleOf(server)).toContain(issued.ca.trim());
  });

  test('are trusted again when somebody has changed the registration, and what else stands there is kept', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    const trusted = await bundleOf(server);
    const changed = { ...registrationAt('https://127.0.0.1:2'), metadata: { name: CONFIGURATION, annotations: { mine: 'yes' } } };
    await send(server, 'PUT', `${CONFIGURATIONS}/${CONFIGURATION}`, changed);
    expect(await bundleOf(server)).toBe('');
    await nextLook(clock);
    expect(await bundleOf(server)).toBe(trusted);
    const registration = await send(server, 'GET', `${CONFIGURATIONS}/${CONFIGURATION}`);
    expect(at(registration, 'metadata', 'annotations', 'mine')).toBe('yes');
    expect(at(registration, 'webhooks', 0, 'clientConfig', 'url')).toContain('https://127.0.0.1:2/');
  });

  test('are told together with who is not asked about: the operator, so that its writes need no answer of the webhook', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    await ready(clock, replica(server, clock));
    const path = `${CONFIGURATIONS}/${CONFIGURATION}`;
    const conditions = async () => {
      const found = await send(server, 'GET', path);
      return [0, 1].map((index) => at(found, 'webhooks', index, 'matchConditions'));
    };
    const ours = { name: 'written-by-others', expression: `request.userInfo.username != "${OPERATOR}"` };
    expect(await conditions()).toEqual([[ours], [ours]]);
    const found = await send(server, 'GET', path);
    const [first, second] = found.webhooks as JsonObject[];
    const theirs = { name: 'mine', expression: 'true' };
    const changed = [
      { ...first, matchConditions: [theirs, { ...ours, expression: 'false' }] },
      { ...second, matchConditions: [] },
    ];
    await send(server, 'PUT', path, { ...found, webhooks: changed });
    await nextLook(clock);
    expect(await conditions()).toEqual([[theirs, ours], [ours]]);
  });

  test('are told once, and trusted, where the API server drops what it does not know', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const puts: unknown[] = [];
    const around = (request: Request, forward: (changed: Request) => Promise<unknown>): Promise<unknown> => {
      if (request.method !== 'PUT' || !request.path.startsWith(CONFIGURATIONS)) return forward(request);
      puts.push(request.body);
      return forward({
        ...request,
        body: JSON.parse(JSON.stringify(request.body, (key, value) => (key === 'matchConditions' ? undefined : value))),
      });
    };
    const one = replica(server, clock, { around });
    await ready(clock, one);
    const told = puts.length;
    await nextLook(clock);
    await nextLook(clock);
    expect([puts.length, one.keeper.hindrance(), one.log.lines.filter((line) => line.startsWith('warn'))]).toEqual([told, null, []]);
  });

  test('are served, and their lack of a registration told once, when the API server knows of no webhook', async () => {
    const server = await simulated();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await looked(clock, 1);
    expect(one.used).toHaveLength(1);
    expect(one.keeper.hindrance()).toContain('its ValidatingWebhookConfiguration is missing');
    await nextLook(clock);
    expect(one.log.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
    await send(server, 'POST', CONFIGURATIONS, registrationAt('https://127.0.0.1:1'));
    await nextLook(clock);
    await ready(clock, one);
  });

  test('survive an API server that is away', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    server.faults.outage('reset', 60_000);
    const one = replica(server, clock);
    await looked(clock, 1);
    expect(one.keeper.hindrance()).toContain('no answer from');
    server.faults.endOutage();
    await nextLook(clock);
    await ready(clock, one);
  });

  test('that are served do not suffer from an API server that goes away, which is told once each time', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    const warnings = (): number => one.log.lines.filter((line) => line.startsWith('warn')).length;
    for (const expected of [1, 2]) {
      server.faults.outage('503', 60_000);
      await nextLook(clock);
      await nextLook(clock);
      expect([one.keeper.hindrance(), warnings()]).toEqual([null, expected]);
      server.faults.endOutage();
      await nextLook(clock);
    }
  });

  test('leave no private key in any log, and tell each to what hides them', async () => {
    const server = await registered();
    const clock = virtualClock({ startAt: Date.now() });
    const one = replica(server, clock);
    await ready(clock, one);
    const key = one.used.at(-1)?.key ?? '';
    expect(key).toContain('PRIVATE KEY');
    expect(one.hidden).toContain(key);
    expect(one.log.lines.join('\n')).toContain('the webhook’s certificate is renewed');
    expect(one.log.lines.join('\n')).not.toMatch(/PRIVATE|BEGIN|[A-Za-z0-9+/]{60}/);
  });
});
