import { Redis } from 'ioredis';
import { drawingOf } from '../drawing.ts';
import { jsonOf, mutated, WRONG } from './spoil.ts';

/** Writes under the operator's keys what nobody of it would. */
export interface StoreSpoiler {
  /** One key, or one job more. */
  spoil(): Promise<void>;
  readonly counts: ReadonlyMap<string, number>;
  close(): void;
}

/** What is the record store's, the budget's and the job queues' own. */
const OURS = /:(cells|meta|claims:[^:]+|cell:.+|budget:.+)$/;
const OF_A_QUEUE = /:(outcomes|timers|digitalocean|vip):[^:]+$/;
const OF_QUEUES = /:(outcomes|timers|digitalocean|vip):meta$/;
const QUEUES = ['digitalocean', 'outcomes', 'timers', 'vip'];
const MIB = 2 ** 20;

export function storeSpoiler(url: string, seed: number): StoreSpoiler {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  const counts = new Map<string, number>();
  let number = 0;
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);

  const field = async (key: string, draw: ReturnType<typeof drawingOf>): Promise<void> => {
    const fields = await redis.hgetall(key);
    const name = draw.one(Object.keys(fields));
    if (name === undefined) return;
    const [, head = '', json = ''] = /^(\d+ |)(.*)$/s.exec(fields[name] ?? '') ?? [];
    const value = draw.one([
      () => head + JSON.stringify(mutated(draw, jsonOf(json))),
      () => json.slice(0, draw.below(json.length + 1)),
      () => draw.bytes(50),
      () => JSON.stringify(draw.one(WRONG)),
      () => '',
      () => JSON.stringify({ filler: 'x'.repeat(draw.below(20 * MIB)) }),
    ])();
    count('field');
    await redis.hset(key, name, value);
  };
  const job = async (prefix: string, draw: ReturnType<typeof drawingOf>): Promise<void> => {
    const queue = `${prefix}:${draw.one(QUEUES)}`;
    const id = `foreign-${number}`;
    const input = {
      actor: draw.one(WRONG),
      invokeId: draw.one(WRONG),
      commandId: draw.one(WRONG),
      job: draw.one(WRONG),
      outcome: draw.one(WRONG),
    };
    const data = draw.one([
      JSON.stringify({ input, progress: draw.one(WRONG), starts: draw.one(WRONG) }),
      JSON.stringify(draw.one(WRONG)),
      '{"input":',
      '',
    ]);
    count('job');
    await redis.hset(`${queue}:${id}`, { name: 'foreign', data, opts: draw.one(['{}', '{}', 'x', '']), timestamp: draw.one(['1', 'x']) });
    await redis.lpush(`${queue}:wait`, id);
    await redis.zadd(`${queue}:marker`, 0, '0');
  };
  const spoil = async (): Promise<void> => {
    number += 1;
    const draw = drawingOf(seed, number);
    const keys = (await redis.keys('*')).sort();
    const prefix = keys.find((key) => OF_QUEUES.test(key))?.replace(OF_QUEUES, '');
    if (prefix !== undefined && draw.chance(0.3)) {
      await job(prefix, draw);
      return;
    }
    const isQueues = draw.chance(0.3);
    const key = draw.one(keys.filter((each) => (isQueues ? OF_A_QUEUE.test(each) : OURS.test(each) && !OF_A_QUEUE.test(each))));
    if (key === undefined) return;
    if (draw.chance(0.5) && (await redis.type(key)) === 'hash') {
      await field(key, draw);
      return;
    }
    await redis.del(key);
    if (draw.chance(0.2)) {
      count(isQueues ? 'queue gone' : 'gone');
      return;
    }
    count(isQueues ? 'queue type' : 'type');
    await draw.one([
      () => redis.set(key, draw.bytes(100)),
      () => redis.rpush(key, 'garbage'),
      () => redis.sadd(key, 'garbage'),
      () => redis.zadd(key, 1, 'garbage'),
      () => redis.hset(key, 'garbage', 'garbage'),
      () => redis.set(key, 'x'.repeat(50 * MIB)),
    ])();
  };
  return {
    counts,
    spoil: () => spoil().catch(ofAnotherType),
    close: () => redis.disconnect(),
  };
}

/** What was spoilt before, or is being healed, may have another type by now. */
function ofAnotherType(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith('WRONGTYPE')) throw error;
}
