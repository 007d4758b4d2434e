import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRunning, isStopped } from './support/processes.ts';
import { startTestRedis, type TestRedis } from './support/redis.ts';
import { PATIENCE_MS, waitFor } from './support/wait-for.ts';

describe('a private Redis', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis({ aof: true });
  });
  afterAll(() => redis.stop());

  test('is set up as the operator demands it', async () => {
    await expect(redis.command('CONFIG', 'GET', 'maxmemory-policy')).resolves.toEqual(['maxmemory-policy', 'noeviction']);
    await expect(redis.command('CONFIG', 'GET', 'hz')).resolves.toEqual(['hz', '100']);
    await expect(redis.command('CONFIG', 'GET', 'bind')).resolves.toEqual(['bind', '127.0.0.1']);
  });

  test('has what it acknowledged after SIGKILL and a restart, under the same address', async () => {
    await redis.command('SET', 'kept', 'yes');
    const { pid, url } = redis;
    await redis.crash();
    await expect(redis.command('PING')).rejects.toThrow();
    await redis.restart();
    expect(redis.pid).not.toBe(pid);
    expect(redis.url).toBe(url);
    await expect(redis.command('GET', 'kept')).resolves.toBe('yes');
  });

  test('answers nothing while frozen, and goes on when thawed', async () => {
    await redis.freeze();
    let answered = false;
    const reply = redis.command('PING').then((word) => {
      answered = true;
      return word;
    });
    expect(isStopped(redis.pid)).toBe(true);
    expect(answered).toBe(false);
    await redis.thaw();
    await expect(reply).resolves.toBe('PONG');
  });

  test('forgets everything at FLUSHALL and takes a policy that evicts when told so', async () => {
    await redis.command('SET', 'gone', 'soon');
    await redis.flushAll();
    await expect(redis.command('DBSIZE')).resolves.toBe(0);
    await redis.configSet('maxmemory-policy', 'allkeys-lru');
    await expect(redis.command('CONFIG', 'GET', 'maxmemory-policy')).resolves.toEqual(['maxmemory-policy', 'allkeys-lru']);
  });
});

test('a private Redis ends with the process that started it, even when that is killed, and its folder goes too', async () => {
  const tools = join(import.meta.dirname, '../tools/redis.mjs');
  const script = `import { startRedis } from ${JSON.stringify(tools)};
    const redis = await startRedis();
    console.log(JSON.stringify({ pid: redis.pid, dir: redis.dir }));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const { pid, dir } = JSON.parse(line.toString()) as { pid: number; dir: string };
  expect(isRunning(pid)).toBe(true);
  expect(existsSync(dir)).toBe(true);
  parent.kill('SIGKILL');
  await waitFor('it has ended', () => !isRunning(pid), PATIENCE_MS);
  await waitFor('its folder is gone', () => !existsSync(dir), PATIENCE_MS);
});
