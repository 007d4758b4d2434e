/** A server and its port. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** The location of Redis, as parsed from a URL. */
export interface RedisPlace {
  /** How the server is found: named directly, through a local socket, or by asking Sentinels or nodes of a Cluster. */
  readonly kind: 'server' | 'socket' | 'sentinel' | 'cluster';
  /** The server, the Sentinels, or some nodes of the Cluster; none for a socket. */
  readonly endpoints: readonly Endpoint[];
  /** The socket's path, else ''. */
  readonly path: string;
  /** The name under which the Sentinels watch the master, else ''. */
  readonly master: string;
  readonly db: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
}

const KINDS: Readonly<Record<string, Pick<RedisPlace, 'kind' | 'tls'>>> = {
  redis: { kind: 'server', tls: false },
  rediss: { kind: 'server', tls: true },
  unix: { kind: 'socket', tls: false },
  'redis+sentinel': { kind: 'sentinel', tls: false },
  'rediss+sentinel': { kind: 'sentinel', tls: true },
  'redis+cluster': { kind: 'cluster', tls: false },
  'rediss+cluster': { kind: 'cluster', tls: true },
};

/** `scheme://user:password@hosts/path`. A password may contain @, but / ? and # must be encoded. */
const URL_PARTS = /^(?<scheme>[a-z+]+):\/\/(?:(?<login>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?$/;
const HOST_AND_PORT = /^(?:\[(?<six>[\da-f:.]+)\]|(?<host>[\w.-]*))(?::(?<port>\d{1,5}))?$/i;

const ENCODED = 'in a password the characters / ? # and % are written %2F %3F %23 and %25, or it is given as REDIS_PASSWORD';

/** Parses a Redis URL.
 *  @throws Error that says what is wrong and how it should read. It quotes nothing of the URL, which may contain a password. */
export function readRedisUrl(url: string): RedisPlace {
  const parts = URL_PARTS.exec(url)?.groups;
  const known = KINDS[parts?.scheme ?? ''];
  if (!parts || !known) {
    throw new Error(
      'the Redis URL is not valid; it should read like redis://:password@host:6379/0, rediss:// for TLS, unix:///path, ' +
        `redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379, without parameters; ${ENCODED}`,
    );
  }
  const path = parts.path ?? '';
  const base = { ...known, ...loginIn(parts.login ?? ''), path: '', master: '' };
  if (known.kind === 'socket') return { ...base, path: decoded(path), endpoints: [], db: 0 };
  const endpoints = (parts.hosts ?? '').split(',').map((text) => endpointIn(text, known.kind === 'sentinel' ? 26_379 : 6_379));
  switch (known.kind) {
    case 'server':
      if (endpoints.length > 1) {
        throw new Error('the Redis URL names several hosts; it should begin with redis+sentinel:// or redis+cluster:// then');
      }
      return { ...base, endpoints, db: databaseIn(path.slice(1)) };
    case 'sentinel':
      return { ...base, endpoints, ...masterIn(path) };
    case 'cluster':
      if (databaseIn(path.slice(1)) !== 0) throw new Error('the Redis URL names a database; a Redis Cluster has none but 0');
      return { ...base, endpoints, db: 0 };
  }
}

/** The password in a URL, even in an invalid one, so that it can be redacted everywhere. Null when there is none. */
export function passwordIn(url: string): string | null {
  const password = /^[^:@]*:(.+)@/.exec(url.replace(/^[^:/]*:\/\//, ''))?.[1];
  if (!password) return null;
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

function loginIn(login: string): Pick<RedisPlace, 'username' | 'password'> {
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/.exec(login) ?? [];
  return { username: username === '' ? null : decoded(username), password: password === '' ? null : decoded(password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`the Redis URL is not valid: what follows a % in it is no code of a character; ${ENCODED}`);
  }
}

function endpointIn(text: string, defaultPort: number): Endpoint {
  const { six, host, port } = HOST_AND_PORT.exec(text)?.groups ?? { port: '0' };
  const number = Number(port ?? defaultPort);
  if (number < 1 || number > 65_535) {
    throw new Error(
      `the Redis URL is not valid: a host in it should read like name:6379, 192.0.2.1:6379 or [2001:db8::1]:6379; ${ENCODED}`,
    );
  }
  return { host: (six ?? host) || '127.0.0.1', port: number };
}

function databaseIn(text: string): number {
  if (!/^\d{0,9}$/.test(text)) throw new Error('the path of the Redis URL should be the number of a database');
  return Number(text);
}

function masterIn(path: string): Pick<RedisPlace, 'master' | 'db'> {
  const [, master = '', db = ''] = /^\/([^/]+)(?:\/(.*))?$/.exec(path) ?? [];
  if (master === '') {
    throw new Error('the Redis URL names no master; it should read like redis+sentinel://host:26379,host:26379/master or …/master/0');
  }
  return { master: decoded(master), db: databaseIn(db) };
}
