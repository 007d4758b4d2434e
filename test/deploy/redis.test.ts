import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { patientClient } from '../../adapters/redis/client.ts';
import { redisLink } from '../../adapters/redis/link.ts';
import { redisStore } from '../../adapters/redis/store.ts';
import { freePort } from '../../tools/free-ports.mjs';
import { endWithParent } from '../../tools/leash.mjs';
import { findRedis } from '../../tools/redis-find.mjs';
import { startTestRedis } from '../support/redis.ts';
import { redisClient, without } from '../support/redis-offers.ts';
import { LEAST_RIGHTS } from '../support/redis-rights.ts';
import { PATIENCE_MS, waitFor } from '../support/wait-for.ts';
import { type Container, isWorkload, shippedIn } from './manifest-facts.ts';

const ROOT = join(import.meta.dirname, '../..');
const PASSWORD = '0123456789abcdef'.repeat(4);

/** The container of deploy/redis.yaml. */
const container = (): Container => {
  const [found] = shippedIn(readFileSync(join(ROOT, 'deploy/redis.yaml'), 'utf8')).filter(isWorkload);
  if (!found) throw new Error('deploy/redis.yaml has no workload');
  return found.spec.template.spec.containers[0];
};

const found = findRedis();
let folder: string;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shipped-redis-'));
  port = await freePort();
  for (const name of ['bin', 'data']) mkdirSync(join(folder, name));
  // As the image has them, whatever they are called here.
  symlinkSync(found.command, join(folder, 'bin/redis-server'));
  if (redisClient !== undefined) symlinkSync(redisClient, join(folder, 'bin/redis-cli'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const environment = (password: string | undefined) => ({
  ...process.env,
  ...found.env,
  PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  ...(password !== undefined && { REDISCLI_AUTH: password }),
});

/** The container's process, on a port and in a folder of this machine. */
const start = (password: string | undefined) => {
  const { command: [command = '', ...before] = [], args } = container();
  const shipped = args.map((argument) => (argument === '/data' ? join(folder, 'data') : argument));
  const child = spawn(command, [...before, ...shipped, '--bind', '127.0.0.1', '--port', String(port)], { env: environment(password) });
  const leash = endWithParent(child.pid ?? -1);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve)).finally(() => leash.release());
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { pid: child.pid ?? -1, said: () => said, ended, stop };
};

const opened = (url: string, password?: string) => {
  const link = redisLink({ url, commandTimeoutMs: PATIENCE_MS, ...(password !== undefined && { password }) });
  onTestFinished(() => link.close());
  return link;
};
const url = (): string => `redis://127.0.0.1:${port}`;

/** Resolves once the server serves whoever knows the password. */
const serving = (password: string) => {
  const link = opened(url(), password);
  return waitFor('Redis serves', () => link.call('ping', (redis) => redis.ping()).then(Boolean, () => false), PATIENCE_MS);
};

const commandLineOf = (pid: number): string => {
  const path = `/proc/${pid}/cmdline`;
  return existsSync(path)
    ? readFileSync(path, 'utf8')
    : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
};

// Only docker: the server is in a container already.
describe.skipIf(without.server !== '')(`the Redis that is shipped${without.server}`, () => {
  test('serves nobody without the password, which nobody sees who lists processes', async () => {
    const { pid } = start(PASSWORD);
    await serving(PASSWORD);
    for (const wrong of [undefined, 'wrong']) {
      await expect(opened(url(), wrong).call('ping', (redis) => redis.ping())).rejects.toThrow(/NOAUTH|WRONGPASS|not connected/);
    }
    expect(await redisStore({ link: opened(url(), PASSWORD), prefix: '{x}' }).judge()).toEqual([]);
    expect(commandLineOf(pid)).toContain('redis-server');
    expect(commandLineOf(pid)).not.toContain(PASSWORD);
  });

  test.skipIf(without.client !== '')(`is asked by its probe with the password${without.client}`, async () => {
    start(PASSWORD);
    await serving(PASSWORD);
    const { command } = container().readinessProbe.exec;
    const [program = '', ...args] = command;
    expect(program).toBe('redis-cli');
    const probe = (password: string | undefined) =>
      spawnSync(program, [...args.slice(0, -1), '-p', String(port), ...args.slice(-1)], { env: environment(password), encoding: 'utf8' });
    expect(probe(PASSWORD)).toMatchObject({ status: 0, stdout: 'PONG\n' });
    expect(probe(undefined).status).toBe(1);
  });

  test('ends when it is asked to, and keeps what it has, also under another password', async () => {
    const first = start(PASSWORD);
    await serving(PASSWORD);
    await opened(url(), PASSWORD).call('set', (redis) => redis.set('{kept}', 'yes'));
    expect(await first.stop()).toBe(0);
    start('another');
    await serving('another');
    expect(await opened(url(), 'another').call('get', (redis) => redis.get('{kept}'))).toBe('yes');
  });

  test('lets who has the password do what the operator does, and nothing else', async () => {
    start(PASSWORD);
    await serving(PASSWORD);
    const link = opened(url(), PASSWORD);
    for (const command of [['CONFIG', 'GET', '*'], ['ACL', 'SETUSER', 'default', '+@all'], ['FLUSHALL'], ['SET', 'foreign', 'yes']]) {
      const [name = '', ...args] = command;
      await expect(link.call(name, (redis) => redis.call(name, ...args))).rejects.toThrow('NOPERM');
    }
  });

  test.each(['docker-compose.yml', 'docker-compose.operator.yml'])('and that of %s give the rights that the documents name', (path) => {
    const { services } = parse(readFileSync(join(ROOT, path), 'utf8')) as {
      readonly services: { readonly redis: { readonly command: readonly string[] } };
    };
    const { command } = services.redis;
    const at = command.indexOf('--user');
    expect(command.slice(at, command.indexOf('--protected-mode'))).toEqual(['--user', 'default', 'on', 'nopass', ...LEAST_RIGHTS]);
    expect(container().command?.join(' ')).toContain(` ${LEAST_RIGHTS.join(' ')}\n`);
  });

  test('does not start without a password', async () => {
    for (const password of [undefined, '']) {
      const { ended, said } = start(password);
      expect(await ended).not.toBe(0);
      expect(said()).toContain('REDISCLI_AUTH');
    }
  });
});

test('an operator that was given a password uses a Redis that asks for none, as during an upgrade from one', async () => {
  const warned = vi.spyOn(console, 'warn').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  const redis = await startTestRedis();
  onTestFinished(() => redis.stop());
  expect(await opened(redis.url, PASSWORD).call('ping', (client) => client.ping())).toBe('PONG');
  const patient = patientClient({ url: redis.url, password: PASSWORD });
  onTestFinished(() => patient.disconnect());
  expect(await patient.ping()).toBe('PONG');
});
