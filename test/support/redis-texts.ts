import type { TestRedis } from './redis.ts';

/** How the whole value of a key is read, by its type. */
const READS: Readonly<Record<string, readonly [command: string, ...rest: string[]]>> = {
  string: ['GET'],
  hash: ['HGETALL'],
  list: ['LRANGE', '0', '-1'],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
  stream: ['XRANGE', '-', '+'],
};

/** Every key of a Redis with all that it holds, as one text. */
export async function textsIn({ command }: TestRedis): Promise<string> {
  const texts: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = (await command('SCAN', cursor, 'COUNT', '1000')) as [string, string[]];
    cursor = next;
    for (const key of keys) {
      const type = String(await command('TYPE', key));
      // Keys that ran out meanwhile are of no type.
      const [read, ...rest] = READS[type] ?? ['TYPE'];
      texts.push(`${key} ${JSON.stringify(await command(read, key, ...rest))}`);
    }
  } while (cursor !== '0');
  return texts.join('\n');
}
