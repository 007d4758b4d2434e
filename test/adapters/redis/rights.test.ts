import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AS_OPERATOR, startTestRedis, type TestRedis } from '../../support/redis.ts';
import { without } from '../../support/redis-offers.ts';
import { LEAST_RIGHTS } from '../../support/redis-rights.ts';

/** BullMQ's scripts, but for those of what we do not use. */
const scriptsOfBull = (): readonly string[] => {
  const folder = new URL('scripts/', import.meta.resolve('bullmq'));
  const names = readdirSync(fileURLToPath(folder)).filter((name) => name.endsWith('.js') && !name.startsWith('relay'));
  return names.map((name) => readFileSync(new URL(name, folder), 'utf8'));
};

const ownScripts = (): readonly string[] =>
  ['redis/scripts.ts', 'bullmq/markers.ts'].map((name) => readFileSync(new URL(`../../../adapters/${name}`, import.meta.url), 'utf8'));

const commandsIn = (scripts: readonly string[]): readonly string[] => [
  ...new Set(
    scripts.flatMap((script) =>
      [...script.matchAll(/(?:rcall|redis\.p?call)\(\s*["']([A-Za-z]+)["']/g)].map(([, name = '']) => name.toUpperCase()),
    ),
  ),
];

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.stop());

const answerTo = async (...command: readonly string[]): Promise<unknown> => {
  const [about] = (await redis.command('COMMAND', 'INFO', command[0] ?? '')) as [name: string, arity: number][];
  const missing = Math.abs(about?.[1] ?? 0) - command.length;
  return redis.command(
    'ACL',
    'DRYRUN',
    AS_OPERATOR.REDIS_USERNAME,
    ...command,
    ...Array<string>(Math.max(0, missing)).fill('{prefix}:key'),
  );
};

test.skipIf(without.redis7 !== '')(
  `the rights that a user of Redis is said to need are enough for every command of a script${without.redis7}`,
  async () => {
    const commands = commandsIn([...scriptsOfBull(), ...ownScripts()]);
    expect(commands.length).toBeGreaterThan(40);
    const answers = await Promise.all(commands.map(async (name) => [name, await answerTo(name)]));
    expect(answers.filter(([, answer]) => answer !== 'OK')).toEqual([]);
  },
);

test.skipIf(without.redis7 !== '')(`and for nothing that commands Redis, or reads what others keep in it${without.redis7}`, async () => {
  await redis.command('ACL', 'SETUSER', 'one', 'reset', 'on', 'nopass', '~{one}*', ...LEAST_RIGHTS.slice(1));
  for (const command of [
    ['ACL', 'SETUSER', 'operator', '+@all'],
    ['CONFIG', 'SET', 'dir', '/'],
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['KEYS', '*'],
    ['CLIENT', 'LIST'],
    ['CLIENT', 'KILL', '127.0.0.1:1'],
    ['MODULE', 'LOAD', 'evil.so'],
    ['REPLICAOF', '192.0.2.1', '6379'],
    ['SHUTDOWN'],
    ['MONITOR'],
    ['DEBUG', 'SLEEP', '1'],
    ['SCRIPT', 'FLUSH'],
    ['FUNCTION', 'LIST'],
    ['CLUSTER', 'RESET'],
    ['PUBLISH', 'others', 'x'],
    ['GET', '{other}'],
    ['HSET', '{other}:meta', 'term', '9'],
  ]) {
    expect(await redis.command('ACL', 'DRYRUN', 'one', ...command), command.join(' ')).toContain('no permissions');
  }
});
