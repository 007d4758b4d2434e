import type { Environment } from '../adapters/cli/options.ts';
import { passwordIn } from '../adapters/redis/url.ts';
import type { Secret } from '../adapters/telemetry/redaction.ts';

/** Secrets that must never appear in a log, on a page or in a status. */
export const secretsIn = ({ digitaloceanToken, cloudflareToken, dashboardToken, redis }: Environment): readonly Secret[] =>
  Object.entries({
    DIGITALOCEAN_ACCESS_TOKEN: digitaloceanToken,
    CLOUDFLARE_TOKEN: cloudflareToken,
    ROUTEDIP_DASHBOARD_TOKEN: dashboardToken,
    'password in REDIS_URL': passwordIn(redis.url),
    REDIS_PASSWORD: redis.password,
    REDIS_SENTINEL_PASSWORD: redis.sentinelPassword,
  }).flatMap(([what, text]) => (text === null ? [] : [{ text, what }]));
