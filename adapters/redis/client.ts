import { Redis, type RedisOptions } from 'ioredis';

/** Our calls rely on the plain shape of replies. */
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

export interface RedisAddress {
  /** `redis://`, `rediss://` (TLS) or `unix://`; may bear user, password and database. */
  readonly url?: string;
  /** What a URL cannot say, e.g. sentinels or TLS certificates. */
  readonly options?: ConnectionOptions;
  /** Shown by CLIENT LIST. */
  readonly name?: string;
}

/** The longest pause between two tries to connect, ms; ioredis's own 5 s would make short outages long. */
const LONGEST_RETRY_MS = 1_000;

/** A patient connection that is silent for this long while something was asked is dead, whatever TCP thinks; a blocking read lasts 10 s at most. */
const DEAD_AFTER_MS = 15_000;

const common: ConnectionOptions = {
  retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
  // After a failover the old master answers so; connecting again finds the new one.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

/** A connection for calls that decide: a command fails at once while there is no connection, and at the latest after `commandTimeoutMs`. */
export const failFastClient = (address: RedisAddress, commandTimeoutMs = 2_000): Redis =>
  connect(address, {
    ...common,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // A write whose reply was lost must not be sent again behind our back: it would be answered as stale.
    autoResendUnfulfilledCommands: false,
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    socketTimeout: 2 * commandTimeoutMs,
  });

/** A connection for workers: a command waits until the server is back. */
export const patientClient = (address: RedisAddress): Redis =>
  connect(address, { ...common, maxRetriesPerRequest: null, socketTimeout: DEAD_AFTER_MS });

const connect = ({ url, options, name }: RedisAddress, manners: ConnectionOptions): Redis => {
  const all = { ...addressOf(url), ...manners, ...(name === undefined ? {} : { connectionName: name }), ...options };
  const redis = new Redis(all);
  // Without a listener an error event is printed, and might end the process; whoever cares adds another.
  redis.on('error', () => undefined);
  return redis;
};

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
  if (!Number.isInteger(db)) throw new Error('the path of the Redis URL should be the number of a database');
  return {
    ...login,
    host: parsed.hostname.replace(/^\[|\]$/g, '') || '127.0.0.1',
    port: Number(parsed.port || 6379),
    ...(parsed.pathname.length > 1 ? { db } : {}),
    ...(parsed.protocol === 'rediss:' ? { tls: {} } : {}),
  };
};

/** Where a client leads, for messages: no user, no password. */
export const targetOf = ({ options }: Redis): string => {
  const { path, host, port, sentinels, name } = options;
  if (sentinels !== undefined && sentinels !== null) return `sentinel master ${name ?? ''}`;
  return path ?? `${host ?? '127.0.0.1'}:${port ?? 6379}`;
};
