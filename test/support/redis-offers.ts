import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findRedis } from '../../tools/redis-find.mjs';

const { command, env, version, image } = findRedis();

/** Asked for TLS without a certificate, a server that was built with it asks for one; the others know no such thing. Both end at once. */
const speaksTls = (): boolean => {
  const { stdout, stderr } = spawnSync(command, ['--port', '0', '--tls-port', '6'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 10_000,
  });
  return /tls-cert-file|configure TLS/.test(stdout + stderr);
};

/** Whether the server is of 7.0 or newer; every Valkey is. */
export const isRedis7 = image !== null || Number.parseInt(version, 10) >= 7;

/** redis-cli, or what Valkey calls it, beside the server; undefined where it was installed alone. */
export const redisClient = ['redis-cli', 'valkey-cli'].map((name) => join(dirname(command), name)).find(existsSync);

const because = (reason: string): string => ` (skipped: ${reason})`;

/** Behind the title of a test that needs what the server of this machine may lack: why it is skipped; '' when it is not. */
export const without = {
  tls: image === null && !speaksTls() ? because(`Redis ${version} was built without TLS`) : '',
  redis7: isRedis7 ? '' : because(`Redis ${version} is older than 7.0`),
  client: redisClient === undefined ? because(`there is no redis-cli beside ${command}`) : '',
  server: image === null ? '' : because('Redis runs in docker only'),
} as const;
