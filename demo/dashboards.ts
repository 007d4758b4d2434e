import { randomBytes } from 'node:crypto';
import type { Args } from './args.ts';

/** A free port that only this machine reaches. */
export const FREE_PORT = '127.0.0.1:0';

export interface Dashboards {
  /** As the operator takes it. */
  readonly bind: string;
  /** What browsers are asked for; null where that is nothing. */
  readonly token: string | null;
}

/** Where the dashboards are to be. At an address that was asked for there is a token always: other machines may reach it. */
export function dashboardsOf(
  { dashboardBindAddr }: Pick<Args, 'dashboardBindAddr'>,
  { ROUTEDIP_DASHBOARD_TOKEN: token }: NodeJS.ProcessEnv,
): Dashboards {
  if (dashboardBindAddr === null) return { bind: FREE_PORT, token: token || null };
  return { bind: dashboardBindAddr, token: token || randomBytes(16).toString('hex') };
}

/** The address of a page as a browser opens it; null when it is not served. */
export function opened(url: string | null | undefined, { token }: Dashboards): string | null {
  if (!url || token === null) return url ?? null;
  const page = new URL(url);
  page.searchParams.set('token', token);
  return page.href;
}
