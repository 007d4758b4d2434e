import type { Redis } from 'ioredis';
import { Unreachable } from '../../actors/ports/errors.ts';
import { failFastClient, type RedisAddress, targetOf } from './client.ts';
import { replyCode } from './reply-code.ts';

export interface RedisLinkOptions extends RedisAddress {
  /** A call without a reply within this throws `Unreachable`, ms. Default 2000. */
  readonly commandTimeoutMs?: number;
  /** Called once per connection problem, with a human-readable text without secrets. The link retries by itself. */
  readonly onTrouble?: (message: string) => void;
}

/** One connection for calls that decisions depend on: it fails fast instead of waiting. */
export interface RedisLink {
  /** Where it connects to, for messages: hosts and ports only. */
  readonly target: string;
  /** For libraries that send commands themselves; use it inside `call`. */
  readonly redis: Redis;
  /** The result of `run`. @throws Unreachable with what was tried; Error for a reply that only a bug of ours explains. */
  call<T>(what: string, run: (redis: Redis) => Promise<T>): Promise<T>;
  /** Runs a Lua script by its hash. Its keys must share one hash tag. */
  script(what: string, lua: LuaScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface LuaScript {
  readonly sha: string;
  readonly text: string;
}

/** Error replies of a server that is running but cannot be used, now or by us. All others are bugs of ours. */
const UNUSABLE = new Set(
  'LOADING READONLY OOM MISCONF CLUSTERDOWN MASTERDOWN MOVED ASK TRYAGAIN BUSY NOREPLICAS NOAUTH WRONGPASS NOPERM NOMASTERLINK'.split(' '),
);

export const redisLink = ({ commandTimeoutMs = 2_000, onTrouble, ...address }: RedisLinkOptions): RedisLink => {
  const redis = failFastClient(address, commandTimeoutMs);
  const target = targetOf(address);
  /** Scripts that this connection has sent. */
  const known = new Set<string>();
  let lastTrouble = '';
  redis.on('error', ({ message }: Error) => {
    if (message !== lastTrouble) onTrouble?.(`Redis at ${target}: ${message}`);
    lastTrouble = message;
  });
  redis.on('ready', () => {
    lastTrouble = '';
  });
  redis.on('close', () => {
    known.clear();
  });

  const call = async <T>(what: string, run: (client: Redis) => Promise<T>): Promise<T> => {
    try {
      return await within(commandTimeoutMs, async () => {
        if (redis.status !== 'ready') await untilReady(redis);
        return run(redis);
      });
    } catch (error) {
      const isWithout = error instanceof NotConnected && lastTrouble !== '';
      throw classified(`Redis at ${target}: ${what}`, isWithout ? new NotConnected(`not connected: ${lastTrouble}`) : error);
    }
  };
  return {
    target,
    redis,
    call,
    script: (what, { sha, text }, keys, args) =>
      call(what, async (client) => {
        // The first use sends the text, so that even then effects are in the order of the calls.
        if (!known.has(sha)) {
          known.add(sha);
          return client.eval(text, keys.length, ...keys, ...args);
        }
        try {
          return await client.evalsha(sha, keys.length, ...keys, ...args);
        } catch (error) {
          if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
          return client.eval(text, keys.length, ...keys, ...args);
        }
      }),
    close: async () => {
      redis.disconnect();
    },
  };
};

/** There was no connection to send on. */
class NotConnected extends Error {}

const untilReady = (redis: Redis): Promise<void> =>
  new Promise((resolve, reject) => {
    if (redis.status === 'end') {
      reject(new Error('the connection was closed'));
      return;
    }
    const done = (settle: () => void) => (): void => {
      redis.off('ready', ready);
      redis.off('close', closed);
      settle();
    };
    const ready = done(resolve);
    // Do not wait for a refused connection: the caller retries in its own way.
    const closed = done(() => reject(new NotConnected('not connected')));
    redis.once('ready', ready);
    redis.once('close', closed);
  });

const within = async <T>(ms: number, run: () => Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
};

/** ioredis's errors contain the command with its arguments, including passwords: only the message is kept. */
const classified = (what: string, error: unknown): Error => {
  const message = error instanceof Error ? error.message : String(error);
  const isReply = error instanceof Error && error.name === 'ReplyError';
  return isReply && !UNUSABLE.has(replyCode(message)) ? new Error(`${what}: ${message}`) : new Unreachable(`${what}: ${message}`);
};
