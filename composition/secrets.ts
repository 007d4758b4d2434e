import type { Environment } from '../adapters/cli/options.ts';
import { passwordIn } from '../adapters/redis/url.ts';

/** What must never stand in a log, on a page or in a status. */
export const secretsIn = ({ digitaloceanToken, cloudflareToken, dashboardToken, redis }: Environment): readonly string[] =>
  [digitaloceanToken, cloudflareToken, dashboardToken, passwordIn(redis.url), redis.password, redis.sentinelPassword].filter(
    (text) => text !== null,
  );
