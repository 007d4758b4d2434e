import { Redis, type RedisOptions } from 'ioredis';
import { Unreachable } from '../../actors/errors.ts';

/** Our calls rely on the plain shape of replies. */
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

export interface RedisLinkOptions {
  /** `redis://`, `rediss://` (TLS) or `unix://`; may bear user, password and database. */
  readonly url?: string;
  /** What a URL cannot say, e.g. sentinels or TLS certificates. */
  readonly options?: ConnectionOptions;
  /** A call that was not answered by then throws `Unreachable`, ms. Default 2000. */
  readonly commandTimeoutMs?: number;
  /** Shown by CLIENT LIST. */
  readonly name?: string;
  /** Told once per trouble of the connection, as text for people, without secrets. The link goes on trying by itself. */
  readonly onTrouble?: (message: string) => void;
}

/** One connection for calls that decide: it fails fast instead of waiting for better times. */
export interface RedisLink {
  /** Where it leads, for messages: host and port only. */
  readonly target: string;
  /** What `run` answers. @throws Unreachable with what was tried; Error for a reply that only a defect of ours explains. */
  call<T>(what: string, run: (redis: Redis) => Promise<T>): Promise<T>;
  /** Runs a Lua script by its hash. Its keys must share one hash tag. */
  script(what: string, lua: LuaScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Told at each change between connected and not. Answers what ends it. */
  onChange(listener: (connected: boolean) => void): () => void;
  close(): Promise<void>;
}

export interface LuaScript {
  readonly sha: string;
  readonly text: string;
}

/** The longest pause between two tries to connect, ms; ioredis's own 5 s would make short outages long. */
const LONGEST_RETRY_MS = 1_000;

/** Replies that say "not now" or "not you": the server is there, yet cannot be used. All others are defects of ours. */
const UNUSABLE = /^(LOADING|READONLY|OOM|MISCONF|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|NOAUTH|WRONGPASS|NOPERM|NOMASTERLINK)\b/;

export const redisLink = ({ url, options = {}, commandTimeoutMs = 2_000, name, onTrouble }: RedisLinkOptions): RedisLink => {
  const redis = connect({
    ...addressOf(url),
    ...failFast(commandTimeoutMs),
    ...(name === undefined ? {} : { connectionName: name }),
    ...options,
  });
  const target = targetOf(redis.options);
  const listeners = new Set<(connected: boolean) => void>();
  const tell = (connected: boolean): void => listeners.forEach((listener) => void listener(connected));

  let lastTrouble = '';
  // Without a listener an error event would end the process.
  redis.on('error', (error: Error) => {
    const message = `Redis at ${target}: ${error.message}`;
    if (message !== lastTrouble) onTrouble?.(message);
    lastTrouble = message;
  });
  redis.on('ready', () => {
    lastTrouble = '';
    tell(true);
  });
  redis.on('close', () => tell(false));

  const call = async <T>(what: string, run: (client: Redis) => Promise<T>): Promise<T> => {
    try {
      return await within(commandTimeoutMs, async () => {
        if (redis.status !== 'ready') await untilReady(redis);
        return run(redis);
      });
    } catch (error) {
      throw classified(`Redis at ${target}: ${what}`, error);
    }
  };
  return {
    target,
    call,
    script: (what, { sha, text }, keys, args) =>
      call(what, async (client) => {
        try {
          return await client.evalsha(sha, keys.length, ...keys, ...args);
        } catch (error) {
          if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
          return client.eval(text, keys.length, ...keys, ...args);
        }
      }),
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: async () => {
      listeners.clear();
      redis.disconnect();
    },
  };
};

const connect = (options: ConnectionOptions): Redis => new Redis(options);

const failFast = (commandTimeoutMs: number): ConnectionOptions => ({
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  // A write whose reply was lost must not be sent again behind our back: it would be answered as stale.
  autoResendUnfulfilledCommands: false,
  commandTimeout: commandTimeoutMs,
  connectTimeout: commandTimeoutMs,
  // A connection that is silent for this long while something was asked is dead, whatever TCP thinks.
  socketTimeout: 2 * commandTimeoutMs,
  retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
  // After a failover the old master answers so; connecting again finds the new one.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
});

/** What a URL says, as options. The URL itself never appears in a message: it may bear a password. */
const addressOf = (url: string | undefined): ConnectionOptions => {
  if (url === undefined) return {};
  const parsed = URL.parse(url);
  if (parsed === null || !['redis:', 'rediss:', 'unix:'].includes(parsed.protocol)) {
    throw new Error('the Redis URL is not valid; it should read like redis://:password@host:6379/0, rediss:// for TLS, or unix:///path');
  }
  const login = {
    ...(parsed.username === '' ? {} : { username: decodeURIComponent(parsed.username) }),
    ...(parsed.password === '' ? {} : { password: decodeURIComponent(parsed.password) }),
  };
  if (parsed.protocol === 'unix:') return { ...login, path: parsed.pathname };
  const db = Number(parsed.pathname.slice(1));
  if (!Number.isInteger(db)) throw new Error('the path of the Redis URL is not a number of a database');
  return {
    ...login,
    host: parsed.hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: Number(parsed.port || 6379),
    ...(parsed.pathname.length > 1 ? { db } : {}),
    ...(parsed.protocol === 'rediss:' ? { tls: {} } : {}),
  };
};

const targetOf = ({ path, host, port, sentinels, name }: RedisOptions): string => {
  if (sentinels !== undefined && sentinels !== null) return `sentinel master ${name ?? ''}`;
  return path ?? `${host ?? '127.0.0.1'}:${port ?? 6379}`;
};

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
    // A refused connection is not worth waiting for: the caller has its own way of trying again.
    const closed = done(() => reject(new Error('not connected')));
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

/** ioredis's errors bear the command with its arguments, a password among them: only the message goes on. */
const classified = (what: string, error: unknown): Error => {
  const message = error instanceof Error ? error.message : String(error);
  const isReply = error instanceof Error && error.name === 'ReplyError';
  return isReply && !UNUSABLE.test(message) ? new Error(`${what}: ${message}`) : new Unreachable(`${what}: ${message}`);
};
