import type { Redis } from 'ioredis';
import type { StoreFault } from '../../actors/ports/records.ts';
import type { RedisLink } from './link.ts';

/** The fields of INFO by name. */
type Info = ReadonlyMap<string, string>;

const infoIn = (text: string): Info =>
  new Map(
    text.split(/\r?\n/).flatMap((line) => {
      const colon = line.indexOf(':');
      return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1)] as const] : [];
    }),
  );

/** Changes when another server answers, or the same one was restarted. */
export const runIdOf = (text: string): string => {
  const info = infoIn(text);
  return info.get('run_id') ?? `process ${info.get('process_id') ?? 'unknown'}`;
};

/** The oldest version with all commands that we use. */
const OLDEST = [6, 2] as const;

/** What is wrong with the server's current configuration. @throws Unreachable */
export const judgeServer = async (link: RedisLink): Promise<readonly StoreFault[]> => {
  const { info, policy } = await link.call('check', async (redis) => {
    const texts = await Promise.all(['server', 'memory', 'persistence', 'replication'].map((section) => redis.info(section)));
    const told = infoIn(texts.join('\n'));
    return { info: told, policy: told.get('maxmemory_policy') ?? (await configuredPolicy(redis)) };
  });
  const faults = [olderThanNeeded(info), evicting(policy), withoutFile(info), acknowledgingAlone(info)];
  return faults.flatMap((fault) => (fault ? [{ ...fault, message: `Redis at ${link.target} ${fault.message}` }] : []));
};

function olderThanNeeded(info: Info): StoreFault | null {
  // Valkey and others report here the Redis version they are compatible with.
  const version = info.get('redis_version');
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  if (version === undefined || !isOld) return null;
  return { reason: 'OldVersion', isFatal: true, message: `has version ${version}; it must be ${OLDEST.join('.')} or newer, or Valkey` };
}

/** A server that drops keys when its memory is full: timers, jobs and records would vanish unseen. */
function evicting(policy: string | null): StoreFault | null {
  if (policy === null)
    return { reason: 'UnknownPolicy', isFatal: false, message: 'does not tell its maxmemory-policy; it must be noeviction' };
  if (policy === 'noeviction') return null;
  const what = `has maxmemory-policy ${policy}, which drops keys when memory is full; it must be noeviction`;
  const how =
    '(redis.conf: maxmemory-policy noeviction; at once: CONFIG SET maxmemory-policy noeviction; managed Redis: its settings page)';
  return { reason: 'EvictingPolicy', isFatal: true, message: `${what} ${how}` };
}

const withoutFile = (info: Info): StoreFault | null =>
  info.get('aof_enabled') === '0'
    ? {
        reason: 'NoAppendOnlyFile',
        isFatal: false,
        message: 'keeps no append-only file: a crash loses what it acknowledged; set appendonly yes',
      }
    : null;

/** A master that is partitioned from its replicas would keep acknowledging writes that are lost once one of them takes over. `min_slaves_good_slaves` is only
 *  reported when min-replicas-to-write is set. */
function acknowledgingAlone(info: Info): StoreFault | null {
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (info.get('role') !== 'master' || replicas === 0 || info.has('min_slaves_good_slaves')) return null;
  const message = 'has replicas and acknowledges writes that none of them has: a failover may lose them; set min-replicas-to-write 1';
  return { reason: 'AcknowledgesAlone', isFatal: false, message };
}

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
