import type { Redis } from 'ioredis';
import type { RedisLink } from './link.ts';

/** The value of one line of INFO, null when the server does not tell it. */
const infoOf = (info: string, name: string): string | null => {
  const line = info.split(/\r?\n/).find((each) => each.startsWith(`${name}:`));
  return line === undefined ? null : line.slice(name.length + 1);
};

/** What changes when another server answers, or the same one was started again. */
export const runIdOf = (info: string): string => infoOf(info, 'run_id') ?? `process ${infoOf(info, 'process_id') ?? 'unknown'}`;

/** @throws EvictingPolicy when the server may drop keys; Unreachable. */
export const checkServer = async (link: RedisLink, onWarning: (message: string) => void): Promise<void> => {
  const { policy, appendOnly } = await link.call('check', async (redis) => {
    const [memory, persistence] = await Promise.all([redis.info('memory'), redis.info('persistence')]);
    return {
      policy: infoOf(memory, 'maxmemory_policy') ?? (await configuredPolicy(redis)),
      appendOnly: infoOf(persistence, 'aof_enabled'),
    };
  });
  if (policy === null) onWarning(`Redis at ${link.target} does not tell its maxmemory-policy; it must be noeviction`);
  else if (policy !== 'noeviction') throw new EvictingPolicy(link.target, policy);
  if (appendOnly === '0') {
    onWarning(`Redis at ${link.target} keeps no append-only file: a crash loses what it acknowledged; set appendonly yes`);
  }
};

/** Managed servers forbid CONFIG. */
const configuredPolicy = async (redis: Redis): Promise<string | null> => {
  try {
    const reply = await redis.config('GET', 'maxmemory-policy');
    return Array.isArray(reply) ? String(reply[1]) : null;
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return null;
    throw error;
  }
};

/** This Redis drops keys when its memory is full: timers, jobs and records would vanish unseen. */
export class EvictingPolicy extends Error {
  readonly policy: string;

  constructor(target: string, policy: string) {
    super(
      `Redis at ${target} has maxmemory-policy ${policy}, which drops keys when memory is full; it must be noeviction ` +
        '(redis.conf: maxmemory-policy noeviction; at once: CONFIG SET maxmemory-policy noeviction; managed Redis: its settings page)',
    );
    this.name = 'EvictingPolicy';
    this.policy = policy;
  }
}
