import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { issue } from '../../../adapters/admission/certificates.ts';
import { checkAddress, targetOf } from '../../../adapters/redis/client.ts';
import { redisAddress } from '../../../adapters/redis/settings.ts';
import { passwordIn, readRedisUrl } from '../../../adapters/redis/url.ts';

const PASSWORD = 'correct-horse-battery';

describe('the URL of Redis', () => {
  test.each([
    ['redis://redis', 'server', 'redis:6379'],
    ['redis://', 'server', '127.0.0.1:6379'],
    ['rediss://user:p%40ss@redis.example.com:6380/2', 'server', 'redis.example.com:6380'],
    ['redis://[2001:db8::1]:7000', 'server', '[2001:db8::1]:7000'],
    ['unix:///run/redis.sock', 'socket', '/run/redis.sock'],
    ['redis+sentinel://a,b:26380,[::1]/main', 'sentinel', 'master main of the Sentinels a:26379, b:26380, [::1]:26379'],
    ['rediss+cluster://:pw@a:7001,b', 'cluster', 'the Cluster of a:7001, b:6379'],
  ])('%s names where it leads', (url, kind, target) => {
    expect([readRedisUrl(url).kind, targetOf({ url })]).toEqual([kind, target]);
  });

  test('bears user, password and database', () => {
    expect(readRedisUrl('rediss://user:p%40s:s@redis:6380/2')).toMatchObject({ username: 'user', password: 'p@s:s', db: 2, tls: true });
    expect(readRedisUrl('redis+sentinel://:pw@a/main/3')).toMatchObject({
      username: null,
      password: 'pw',
      master: 'main',
      db: 3,
      tls: false,
    });
  });

  test.each([
    [`http://:${PASSWORD}@host`, 'should read like'],
    [`redis://:${PASSWORD}/x@host`, 'REDIS_PASSWORD'],
    [`redis://:${PASSWORD}@host?family=6`, 'without parameters'],
    [`redis://:${PASSWORD}%zz@host`, '%25'],
    [`redis://:${PASSWORD}@host:0`, 'a host in it'],
    [`redis://:${PASSWORD}@host:65536`, 'a host in it'],
    [`redis://:${PASSWORD}@a,b`, 'redis+sentinel:// or redis+cluster://'],
    [`redis://:${PASSWORD}@host/first`, 'number of a database'],
    [`redis+sentinel://:${PASSWORD}@a,b`, 'names no master'],
    [`redis+sentinel://:${PASSWORD}@a,b/main/x`, 'number of a database'],
    [`redis+cluster://:${PASSWORD}@a,b/1`, 'names a database'],
  ])('%s is refused by a text without the password, which is known all the same', (url, text) => {
    let message = '';
    try {
      readRedisUrl(url);
    } catch (error) {
      message = String(error) + JSON.stringify(error);
    }
    expect(message).toContain(text);
    expect(message).not.toContain(PASSWORD);
    expect(passwordIn(url)).toContain(PASSWORD);
  });

  test('has a password to hide only where there is one', () => {
    expect(passwordIn('redis://user@host:6379')).toBeNull();
    expect(passwordIn('redis+sentinel://a:1,b:2/main')).toBeNull();
    expect(passwordIn('redis+sentinel://:p%2Fw@a:1,b:2/main')).toBe('p/w');
  });

  test('asks for TLS when certificates are given: nothing goes without it by mistake', () => {
    const tls = { ca: 'PEM' };
    expect(() => checkAddress({ url: 'redis://redis', tls })).toThrow('rediss');
    expect(checkAddress({ url: 'rediss://redis', tls }).tls).toBe(true);
  });

  test('goes with what its files hold, and these are looked at first', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'routedip-redis-url-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const file = (name: string, text: string): string => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const { ca, cert, key } = await issue(['redis'], { from: Date.now() - 1_000, to: Date.now() + 1_000_000 });
    const [caFile, certFile, keyFile, other] = [file('ca', ca), file('cert', cert), file('key', key), file('other', 'no certificate')];
    const login = { username: 'me', password: PASSWORD, sentinelUsername: null, sentinelPassword: null };
    const read = (changed: object) => redisAddress({ url: 'rediss://redis', ...login, caFile, certFile, keyFile, ...changed });
    expect(read({})).toEqual({ url: 'rediss://redis', username: 'me', password: PASSWORD, tls: { ca, cert, key } });
    expect(() => read({ url: 'redis://redis' })).toThrow('rediss');
    expect(() => read({ caFile: '/nowhere' })).toThrow('REDIS_CA_FILE: ENOENT');
    expect(() => read({ caFile: other })).toThrow('REDIS_CA_FILE: ');
    expect(() => read({ keyFile: other })).toThrow('REDIS_KEY_FILE: ');
    expect(read({ url: 'redis://redis', caFile: null, certFile: null, keyFile: null })).not.toHaveProperty('tls');
  });
});
