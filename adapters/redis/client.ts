import { Redis, type RedisOptions } from 'ioredis';
import { closeOnBadReply } from './bad-replies.ts';
import { connectorTo } from './connector.ts';
import { type Asking, byCluster, bySentinels, type FindMaster, nameOf } from './find-master.ts';
import { replyCode } from './reply-code.ts';
import { type TlsFiles, tlsTo } from './tls.ts';
import { type RedisPlace, readRedisUrl } from './url.ts';

/** Without `replyMapping`: our calls rely on plain replies. */
type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

export interface RedisAddress {
  /** As accepted by `readRedisUrl`; may contain user, password and database. */
  readonly url: string;
  /** Overrides the login in the URL. */
  readonly username?: string;
  readonly password?: string;
  /** Login of the Sentinels, which have their own users. */
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  /** For a URL with TLS. */
  readonly tls?: TlsFiles;
  /** Prefix of all keys, a hash tag: determines the node of a Redis Cluster. */
  readonly prefix?: string;
  /** Shown by CLIENT LIST. */
  readonly name?: string;
}

/** The longest pause between two connection attempts, ms; with ioredis's default of 5 s short outages would last longer. */
const LONGEST_RETRY_MS = 1_000;

/** A patient connection that is silent for this long with a command pending counts as dead, whatever TCP reports, ms. */
const DEAD_AFTER_MS = 15_000;

/** How long a Sentinel or a node of a Cluster may take to name the master, ms. */
const ASK_MS = 2_000;

/** How often the Sentinels are asked whether the master is still the same, ms. */
const LOOK_AGAIN_MS = 10_000;

/** Errors of a server that no longer accepts our writes: reconnecting finds the one that does. */
const MOVED_ON = new Set(['READONLY', 'MOVED', 'CLUSTERDOWN']);

const common: ConnectionOptions = {
  retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RETRY_MS),
};

/** A connection for calls that decisions depend on: a command fails immediately without a connection, and at the latest after `commandTimeoutMs`. */
export const failFastClient = (address: RedisAddress, commandTimeoutMs = 2_000): Redis =>
  connect(address, {
    ...common,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // A write whose reply was lost must not be resent automatically: it would be rejected as stale.
    autoResendUnfulfilledCommands: false,
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    socketTimeout: 2 * commandTimeoutMs,
  });

/** A connection for workers: a command waits until the server is back. */
export const patientClient = (address: RedisAddress): Redis =>
  connect(address, { ...common, maxRetriesPerRequest: null, socketTimeout: DEAD_AFTER_MS });

const connect = (address: RedisAddress, manners: ConnectionOptions): Redis => {
  closeOnBadReply();
  const { name } = address;
  let isLeaving = false;
  const redis = new Redis({
    ...optionsOf(address),
    ...manners,
    ...(name === undefined ? {} : { connectionName: name }),
    // All pending commands fail, and ioredis would close the connection again for each, adding listeners that Node.js reports as a leak.
    reconnectOnError: (error) => {
      if (isLeaving || !MOVED_ON.has(replyCode(error.message))) return false;
      isLeaving = true;
      return true;
    },
  });
  redis.on('close', () => {
    isLeaving = false;
  });
  // Without a listener an error event is printed, and might end the process; interested callers add their own.
  redis.on('error', () => undefined);
  return redis;
};

/** Parses and checks an address. @throws Error without secrets when the address cannot be used */
export const checkAddress = ({ url, tls }: RedisAddress): RedisPlace => {
  const place = readRedisUrl(url);
  if (tls && !place.tls) throw new Error('certificates are given for Redis, but its URL asks for no TLS; it should begin with rediss');
  return place;
};

/** @throws Error as `checkAddress` does */
const optionsOf = (address: RedisAddress): ConnectionOptions => {
  const place = checkAddress(address);
  const tls = place.tls ? (address.tls ?? {}) : undefined;
  const login = loginOf(address.username ?? place.username, address.password ?? place.password);
  const [first] = place.endpoints;
  switch (place.kind) {
    case 'socket':
      return { ...login, path: place.path };
    case 'server':
      return { ...login, ...first, db: place.db, ...(first && tls && { tls: tlsTo(first.host, tls) }) };
    case 'sentinel':
      return {
        ...login,
        db: place.db,
        ...found(bySentinels(place.endpoints, place.master, asking(sentinelLogin(address), tls)), tls, LOOK_AGAIN_MS),
      };
    case 'cluster':
      if (address.prefix === undefined) throw new Error('which node of a Redis Cluster has the keys depends on their prefix: it is needed');
      return { ...login, ...found(byCluster(place.endpoints, address.prefix, asking(login, tls)), tls) };
  }
};

type Login = Pick<Asking, 'username' | 'password'>;

const asking = (login: Login, tls: TlsFiles | undefined): Asking => ({ ...login, ...(tls && { tls }), timeoutMs: ASK_MS });

/** Our connector opens the connection; ioredis must still know that it uses TLS. */
const found = (find: FindMaster, tls: TlsFiles | undefined, lookAgainMs?: number): ConnectionOptions => ({
  Connector: connectorTo(find, tls, lookAgainMs),
  ...(tls && { tls: { ...tls } }),
});

const sentinelLogin = ({ sentinelUsername, sentinelPassword }: RedisAddress): Login =>
  loginOf(sentinelUsername ?? null, sentinelPassword ?? null);

const loginOf = (username: string | null, password: string | null): Login => ({
  ...(username !== null && { username }),
  ...(password !== null && { password }),
});

/** Describes the target of an address, for messages: no user, no password. @throws Error as `readRedisUrl` does */
export const targetOf = ({ url }: RedisAddress): string => {
  const { kind, endpoints, path, master }: RedisPlace = readRedisUrl(url);
  const names = endpoints.map(nameOf).join(', ');
  switch (kind) {
    case 'socket':
      return path;
    case 'server':
      return names;
    case 'sentinel':
      return `master ${master} of the Sentinels ${names}`;
    case 'cluster':
      return `the Cluster of ${names}`;
  }
};
