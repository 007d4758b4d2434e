import type { Environment } from '../adapters/cli/options.ts';

/** What must never stand in a log, on a page or in a status. */
export const secretsIn = ({ digitaloceanToken, cloudflareToken, dashboardToken, redisUrl, redisLogin }: Environment): readonly string[] =>
  [digitaloceanToken, cloudflareToken, dashboardToken, passwordOf(redisUrl), redisLogin.password ?? null].filter((text) => text !== null);

const passwordOf = (url: string): string | null => {
  const password = URL.parse(url)?.password;
  return password ? decodeURIComponent(password) : null;
};
