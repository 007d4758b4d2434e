import { Writable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { LOG_KEYS, type LogFields } from '../../../actors/ports/observers.ts';
import { createLog } from '../../../adapters/telemetry/log.ts';
import { redaction } from '../../../adapters/telemetry/redaction.ts';
import { known } from '../../support/log-keys.ts';

const TOKEN = 'dop_v1_"quoted"/and+more';
const PASSWORD = 'p@ss wörd';

/** Which calls each of these secrets `it`. */
const knowing = (...secrets: readonly string[]) => redaction(secrets.map((text) => ({ text, what: 'it' })));

function logInto(lines: string[], options: { debug?: boolean; secrets?: readonly string[]; base?: LogFields } = {}) {
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk));
      done();
    },
  });
  const { debug = false, secrets = [TOKEN, PASSWORD], base } = options;
  return createLog({ debug, redaction: knowing(...secrets), base, destination });
}

const only = (lines: readonly string[]): Record<string, unknown> => {
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
};

describe('the log', () => {
  test('prints one JSON line with level, ISO time, fields and message', () => {
    const lines: string[] = [];
    logInto(lines).info('assigned', { address: '203.0.113.7', to: 'node-a', term: 3 });
    const line = only(lines);
    expect(line).toMatchObject({ level: 'info', msg: 'assigned', address: '203.0.113.7', to: 'node-a', term: 3 });
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('bears in each line what holds for all of them', () => {
    const lines: string[] = [];
    const log = logInto(lines, { base: { observeOnly: true } });
    log.info('leads', { term: 3 });
    log.warn('an object is degraded');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ observeOnly: true, term: 3 }, { observeOnly: true }]);
  });

  test('shows debug lines only when asked to', () => {
    const quiet: string[] = [];
    logInto(quiet).debug('turn saved');
    const chatty: string[] = [];
    logInto(chatty, { debug: true }).debug('turn saved');
    expect(quiet).toHaveLength(0);
    expect(only(chatty)).toMatchObject({ level: 'debug', msg: 'turn saved' });
  });

  test('takes only keys that there are, and none that every line bears already', () => {
    const lines: string[] = [];
    // @ts-expect-error: it is `to`, or `from`
    logInto(lines).warn('odd', { node: 'a' });
    // @ts-expect-error: it would be there twice
    logInto(lines).warn('odd', { msg: 'hello' });
    const keys: readonly string[] = LOG_KEYS;
    expect(keys.filter((key) => ['level', 'time', 'msg'].includes(key))).toEqual([]);
    expect(() => known({ ...{ address: '203.0.113.7', node: 'a' } })).toThrow('no keys of the log: node');
  });

  test('shows control characters escaped, those that JSON leaves as they are too, and stays JSON', () => {
    const lines: string[] = [];
    const node = 'a\u001b[2J\u009b31m\u007f\u202egnp.exe\u2028\n{"level":"info"}\u{e0041}';
    logInto(lines).warn(node, { from: node, message: { [node]: 1 } });
    expect(lines.join('')).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\n$/u);
    expect(only(lines)).toMatchObject({ msg: node, from: node, message: { [node]: 1 } });
  });

  test('writes errors with their stack, cause and own fields', () => {
    const lines: string[] = [];
    const cause = new Error('connect ECONNREFUSED');
    logInto(lines).error('call failed', { error: Object.assign(new Error('assign: no answer', { cause }), { kind: 'Unavailable' }) });
    const { error } = only(lines) as { error: Record<string, unknown> };
    expect(error).toMatchObject({
      type: 'Error',
      message: 'assign: no answer',
      kind: 'Unavailable',
      cause: { message: 'connect ECONNREFUSED' },
    });
    expect(error.stack).toContain('log.test.ts');
  });
});

describe('a known secret', () => {
  const carriers: Record<string, (secret: string) => readonly [string, Record<string, unknown>]> = {
    'in the message': (secret) => [`token ${secret} was refused`, {}],
    'as a field': (secret) => ['x', { token: secret }],
    'as a key': (secret) => ['x', { [secret]: 1 }],
    'deep in data': (secret) => ['x', { request: { headers: [{ authorization: `Bearer ${secret}` }] } }],
    'in an error': (secret) => ['x', { error: new Error(`GET with ${secret}`) }],
    'in the cause of an error': (secret) => ['x', { error: new Error('failed', { cause: new Error(secret) }) }],
    'in an own field of an error': (secret) => ['x', { error: Object.assign(new Error('failed'), { config: { token: secret } }) }],
    'in one of several errors': (secret) => ['x', { error: new AggregateError([new Error(secret)], 'all failed') }],
    'URL-encoded': (secret) => ['x', { url: `redis://:${encodeURIComponent(secret)}@redis:6379` }],
    'in JSON in a string': (secret) => ['x', { body: JSON.stringify({ secret }) }],
    'in base64': (secret) => ['x', { header: Buffer.from(secret).toString('base64') }],
    'in a map and a set': (secret) => ['x', { map: new Map([[secret, new Set([secret])]]) }],
  };

  for (const [where, carry] of Object.entries(carriers)) {
    for (const secret of [TOKEN, PASSWORD]) {
      test(`${where} is not printed: ${secret.slice(0, 4)}…`, () => {
        const [message, fields] = carry(secret);
        const premise: string[] = [];
        logInto(premise, { secrets: [] }).error(message, fields);
        const spelled = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')];
        const shows = (line: string | undefined) =>
          spelled.some((s) => line?.includes(s) || line?.includes(JSON.stringify(s).slice(1, -1)));
        expect(shows(premise[0]), 'without redaction it is there').toBe(true);

        const lines: string[] = [];
        logInto(lines).error(message, fields);
        expect(shows(lines[0])).toBe(false);
        expect(lines[0]).toContain('[redacted: it]');
      });
    }
  }

  test('that contains another one leaves no rest to be read', () => {
    const { hide } = knowing('abcdefgh', 'abcdefgh-and-the-rest');
    expect(hide('key abcdefgh-and-the-rest')).toBe('key [redacted: it]');
  });

  test('of digits alone is hidden in numbers too', () => {
    expect(knowing('12345678').plain({ pin: 12345678, port: 6379, at: 1123456789 })).toEqual({
      pin: '[redacted: it]',
      port: 6379,
      at: 1123456789,
    });
  });

  test('costs nothing where it is not: after a while a text is looked through once, however many there are', () => {
    const { hide } = knowing(...Array.from({ length: 200 }, (_, index) => `secret.${index}`));
    for (let text = 0; text < 1000; text += 1) hide('before');
    const split = vi.spyOn(String.prototype, 'split');
    try {
      expect(hide('a secret, 199 of them')).toBe('a secret, 199 of them');
      expect(split).not.toHaveBeenCalled();
    } finally {
      split.mockRestore();
    }
    expect(hide('secret.199')).toBe('[redacted: it]');
  });

  test('is told apart by what it is, so that whoever makes a word of the log their token is found', () => {
    const secrets = redaction([{ text: 'operator-token-1', what: 'DIGITALOCEAN_ACCESS_TOKEN' }]);
    secrets.add({ text: 'RoutedIPIssuer/x', what: 'token in Secret web/do-token' });
    expect(secrets.hide('RoutedIPIssuer/x uses operator-token-1')).toBe(
      '[redacted: token in Secret web/do-token] uses [redacted: DIGITALOCEAN_ACCESS_TOKEN]',
    );
  });

  test('that stands in what takes the place of another one makes it no longer', () => {
    const secrets = redaction();
    for (const name of ['a', 'b', 'c', 'd'])
      secrets.add({ text: `Secret-of-${name}`, what: 'Secret-of-a Secret-of-b Secret-of-c Secret-of-d' });
    expect(secrets.hide('Secret-of-d')).toBe('[redacted: Secret-of-a Secret-of-b Secret-of-c Secret-of-d]');
  });

  test('that looks like what stands between the strings of JSON leaves JSON what it is', () => {
    const body = { kind: 'RoutedIP', names: ['token-of-"quotes"\\', 'a'], at: [12345678, 12345678, 1.5], 'token-of-"quotes"\\': null };
    const secrets = knowing('"kind":"RoutedIP', '","a"],"at":[1234', '12345678,12345678', 'token-of-"quotes"\\', '12345678');
    const json = JSON.stringify(body);
    expect(secrets.hide(json), 'each of them is found').toContain('[redacted');
    expect(JSON.parse(secrets.hideIn(json))).toEqual({
      kind: 'RoutedIP',
      names: ['[redacted: it]', 'a'],
      at: ['[redacted: it]', '[redacted: it]', 1.5],
      '[redacted: it]': null,
    });
    expect(knowing('nothing of it').hideIn(json)).toBe(json);
  });

  test('that was learned later is hidden from then on; one that is too short or too long to be one changes nothing', () => {
    const secrets = redaction();
    expect(secrets.hide('late and long')).toBe('late and long');
    secrets.add({ text: 'late and long', what: 'it' });
    expect(secrets.hide('late and long')).toBe('[redacted: it]');
    for (const text of ['', 'e', 'active']) secrets.add({ text, what: 'a word' });
    expect(secrets.hide('the active one')).toBe('the active one');
    const huge = 'x'.repeat(450_000);
    secrets.add({ text: huge, what: 'a blob' });
    expect(secrets.hide(huge)).toBe(huge);
  });

  test('that nobody uses any more is kept for an hour, the last hundred of them, and then forgotten', () => {
    let now = 0;
    const secrets = redaction([], () => now);
    const shows = (number: number) => secrets.hide(`token-number-${number}`).startsWith('token');
    for (let number = 0; number <= 100; number += 1) secrets.add({ text: `token-number-${number}`, what: 'it' })();
    expect([shows(0), shows(1), shows(100)]).toEqual([true, false, false]);
    now = 3_599_999;
    expect(shows(100)).toBe(false);
    secrets.add({ text: 'token-number-100', what: 'it' });
    now += 1;
    expect([shows(1), shows(99), shows(100)]).toEqual([true, true, false]);
  });

  test('does not keep data with cycles from being printed', () => {
    const knot: Record<string, unknown> = { name: 'knot' };
    knot.self = knot;
    expect(redaction().plain(knot)).toEqual({ name: 'knot', self: '[circular]' });
  });
});
