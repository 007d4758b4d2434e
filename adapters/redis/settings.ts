import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { checkAddress, type RedisAddress } from './client.ts';

/** Settings from the environment; null for those not set. */
interface RedisSettings {
  readonly url: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly sentinelUsername: string | null;
  readonly sentinelPassword: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

/** Where Redis is, with the files that its settings name. @throws Error that says what is wrong, without a secret */
export function redisAddress({ url, username, password, sentinelUsername, sentinelPassword, ...files }: RedisSettings): RedisAddress {
  const tls = {
    ...given('ca', pem('REDIS_CA_FILE', files.caFile)),
    ...given('cert', pem('REDIS_CERT_FILE', files.certFile)),
    ...given('key', pem('REDIS_KEY_FILE', files.keyFile)),
  };
  const address = {
    url,
    ...given('username', username),
    ...given('password', password),
    ...given('sentinelUsername', sentinelUsername),
    ...given('sentinelPassword', sentinelPassword),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
  checkAddress(address);
  // Report invalid files now rather than on each connection.
  usable('REDIS_CA_FILE', () => tls.ca === undefined || new X509Certificate(tls.ca));
  usable('REDIS_CERT_FILE, REDIS_KEY_FILE', () => createSecureContext(tls));
  return address;
}

const given = <Name extends string>(name: Name, value: string | null): { readonly [key in Name]?: string } =>
  value === null ? {} : ({ [name]: value } as { readonly [key in Name]?: string });

const pem = (variable: string, file: string | null): string | null =>
  file === null ? null : usable(variable, () => readFileSync(file, 'utf8'));

function usable<T>(variables: string, use: () => T): T {
  try {
    return use();
  } catch (cause) {
    throw new Error(`${variables}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
