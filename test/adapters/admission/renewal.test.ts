import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CertificateData } from '../../../actors/ports/admission.ts';
import { type Issued, issue, readPair, vouchersOf } from '../../../adapters/admission/certificates.ts';
import { modeOf, namesOf } from '../../../adapters/admission/mode.ts';
import {
  CERTIFICATE_TIMES,
  prepared,
  promoted,
  type Renewal,
  renewalOf,
  replaced,
  servedPair,
} from '../../../adapters/admission/renewal.ts';

const DAY = 24 * 3_600_000;
const MADE = Date.UTC(2026, 0, 1);
const NAMES = ['webhook.operator.svc', '127.0.0.1', '::1'];
const { lifeMs, renewBeforeMs, backdateMs, overlapMs } = CERTIFICATE_TIMES;

const made = (at: number, names: readonly string[] = NAMES) => issue(names, { from: at - backdateMs, to: at + lifeMs });

let first: Issued;
let second: Issued;

beforeAll(async () => {
  first = await made(MADE);
  second = await made(MADE + lifeMs - renewBeforeMs);
});

const renewal = (data: CertificateData | null, now: number, trusted = true, names = NAMES): Renewal =>
  renewalOf(data, names, { now, trusted, times: CERTIFICATE_TIMES });

describe('a certificate of the webhook', () => {
  test('serves TLS for its names, vouched for by a CA of its own', () => {
    const certificate = new X509Certificate(first.cert);
    const ca = new X509Certificate(first.ca);
    expect(certificate.checkIssued(ca) && certificate.verify(ca.publicKey)).toBe(true);
    expect([ca.ca, certificate.ca]).toEqual([true, false]);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    const stored = readPair(first, first.ca);
    expect(stored).toMatchObject({ from: MADE - backdateMs, to: MADE + lifeMs });
    expect(NAMES.map((name) => stored?.bears(name))).toEqual([true, true, true]);
    expect(stored?.bears('webhook.other.svc')).toBe(false);
  });

  test('has a serial number and an issuer that no other has', () => {
    const certificates = [first.cert, first.ca, second.cert, second.ca].map((pem) => new X509Certificate(pem));
    expect(new Set(certificates.map(({ serialNumber }) => serialNumber)).size).toBe(4);
    expect(certificates.every(({ serialNumber }) => /^[4-7]/.test(serialNumber))).toBe(true);
    expect(new Set(certificates.map(({ issuer }) => issuer)).size).toBe(2);
  });

  test('is of no use with the key or the CA of another, or when it is broken', () => {
    expect(readPair({ ...first, key: second.key }, first.ca)).toBeNull();
    expect(readPair(first, second.ca)).toBeNull();
    expect(readPair(first, '')).toBeNull();
    expect(readPair({ ...first, cert: 'x' }, first.ca)).toBeNull();
    expect(readPair({ ...first, key: 'x' }, first.ca)).toBeNull();
    expect(readPair({ ...first, cert: first.cert.replace(/[A-Z]{6}/, 'AAAAAA') }, first.ca)).toBeNull();
    expect(readPair(first, second.ca + first.ca)).not.toBeNull();
  });
});

describe('the renewal', () => {
  test.each<[string, () => CertificateData | null, string]>([
    ['nothing', () => null, 'there is none'],
    ['an empty Secret', () => ({}), 'the stored one cannot be used'],
    ['a certificate without its key', () => ({ 'ca.crt': first.ca, 'tls.crt': first.cert }), 'the stored one cannot be used'],
    ['another CA', () => ({ ...replaced(null, first), 'ca.crt': second.ca }), 'the stored one cannot be used'],
  ])('makes a new one at once of %s', (_, data, why) => {
    expect(renewal(data(), MADE)).toEqual({ kind: 'replace', why, names: NAMES });
    const stored = data();
    expect(stored === null ? null : servedPair(stored)).toBeNull();
  });

  test('goes through its steps in time, and no sooner', () => {
    const fresh = replaced(null, first);
    const due = MADE + lifeMs - renewBeforeMs;
    expect(renewal(fresh, MADE).kind).toBe('keep');
    expect(renewal(fresh, due - 1).kind).toBe('keep');
    expect(renewal(fresh, due).kind).toBe('prepare');
    const both = prepared(fresh, second);
    expect(servedPair(both)).toEqual({ cert: first.cert, key: first.key });
    expect(vouchersOf(first.cert, both['ca.crt'] ?? '')).not.toBe('');
    expect(vouchersOf(second.cert, both['ca.crt'] ?? '')).not.toBe('');
    expect(renewal(both, due).kind).toBe('keep');
    expect(renewal(both, due + overlapMs - 1).kind).toBe('keep');
    expect(renewal(both, due + overlapMs).kind).toBe('promote');
    const next = promoted(both);
    expect(servedPair(next)).toEqual({ cert: second.cert, key: second.key });
    expect(vouchersOf(first.cert, next['ca.crt'] ?? '')).not.toBe('');
    expect(renewal(next, due + overlapMs).kind).toBe('keep');
    expect(JSON.stringify(next)).not.toContain('next');
  });

  test('serves no certificate that the API server was not told to trust', () => {
    const both = prepared(replaced(null, first), second);
    expect(renewal(both, MADE + lifeMs - renewBeforeMs + 10 * overlapMs, false).kind).toBe('keep');
  });

  test('forgets the CA before the last one once the next is served: a replica may still serve it until it looks again', async () => {
    const third = await made(MADE + 2 * lifeMs);
    const trusted = (data: CertificateData) => [first, second, third].map(({ cert }) => vouchersOf(cert, data['ca.crt'] ?? '') !== '');
    const data = prepared(promoted(prepared(replaced(null, first), second)), third);
    expect(trusted(data)).toEqual([true, true, true]);
    expect(trusted(promoted(data))).toEqual([false, true, true]);
  });

  test('makes a new one at once when the present one has ended', () => {
    expect(renewal(replaced(null, first), MADE + lifeMs)).toMatchObject({ kind: 'replace', why: 'it has ended' });
  });

  test('gives replicas that are told different names one certificate for all of them', async () => {
    const fresh = replaced(null, first);
    const wanted = ['other.operator.svc'];
    const found = renewal(fresh, MADE, true, wanted);
    expect(found).toMatchObject({ kind: 'replace', why: 'it does not bear the names other.operator.svc' });
    const names = found.kind === 'replace' ? found.names : [];
    const shared = replaced(fresh, await made(MADE, names));
    expect(renewal(shared, MADE, true, wanted).kind).toBe('keep');
    expect(renewal(shared, MADE, true, NAMES).kind).toBe('keep');
    expect(vouchersOf(first.cert, shared['ca.crt'] ?? '')).not.toBe('');
  });

  test('leaves days between the clocks of the operator and of the API server', () => {
    expect(backdateMs).toBeGreaterThanOrEqual(DAY);
    expect(renewBeforeMs).toBeGreaterThan(20 * DAY);
  });
});

describe('the way of admission', () => {
  test.each([
    ['auto', 'bound', true, 'policy'],
    ['auto', 'bound', false, 'policy'],
    ['auto', 'unbound', true, 'webhook'],
    ['auto', 'unbound', false, 'policy'],
    ['auto', 'unserved', true, 'webhook'],
    ['auto', 'unserved', false, 'off'],
    ['webhook', 'bound', false, 'webhook'],
    ['policy', 'unserved', true, 'policy'],
    ['off', 'bound', true, 'off'],
  ] as const)('asked as %s with policies %s and a Service named %s is %s', (asked, policies, named, expected) => {
    expect(modeOf({ asked, ...(named && { service: 'webhook' }) }, policies)).toBe(expected);
    expect(modeOf({ asked, ...(named && { url: 'https://10.0.0.1' }) }, policies)).toBe(expected);
  });

  test.each<[Omit<Parameters<typeof namesOf>[0], 'asked'>, readonly string[]]>([
    [{}, ['vip-allocator-operator-webhook-service.operator.svc']],
    [{ service: 'hook' }, ['hook.operator.svc']],
    [{ service: 'elsewhere/hook' }, ['hook.elsewhere.svc']],
    [{ url: 'https://127.0.0.1:9443' }, ['127.0.0.1']],
    [{ url: 'https://[::1]:9443/x' }, ['::1']],
    [{ url: 'https://hook.example.com', service: 'hook' }, ['hook.operator.svc', 'hook.example.com']],
  ])('is called by the names of %j', (wish, names) => expect(namesOf({ asked: 'webhook', ...wish }, 'operator')).toEqual(names));

  test.each(['http://127.0.0.1', 'hook.example.com'])('takes no URL %s', (url) =>
    expect(() => namesOf({ asked: 'webhook', url }, 'operator')).toThrow(`"${url}" is no URL of a webhook`),
  );
});
