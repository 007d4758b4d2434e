import { randomBytes } from 'node:crypto';
import type { Args } from './args.ts';

/** A free port that only this machine reaches. */
export const FREE_PORT = '127.0.0.1:0';

export interface Dashboards {
  /** As the operator takes it. */
  readonly bind: string;
  /** The same of the inspector. */
  readonly inspect: string;
  /** What browsers are asked for; null where that is nothing. */
  readonly token: string | null;
}

/** Where the dashboards and the inspector are to be, by default at `usual`. At an address that was asked for there is a token always: other machines may reach it. */
export function dashboardsOf(
  { dashboardBindAddr, inspect }: Pick<Args, 'dashboardBindAddr' | 'inspect'>,
  { ROUTEDIP_DASHBOARD_TOKEN: token }: NodeJS.ProcessEnv,
  usual: Pick<Dashboards, 'bind' | 'inspect'> = { bind: FREE_PORT, inspect: FREE_PORT },
): Dashboards {
  const binds = { bind: dashboardBindAddr ?? usual.bind, inspect: inspect ?? usual.inspect };
  if (dashboardBindAddr === null && inspect === null) return { ...binds, token: token || null };
  return { ...binds, token: token || randomBytes(16).toString('hex') };
}

/** The address of a page as a browser opens it; null when it is not served. */
export function opened(url: string | null | undefined, { token }: Pick<Dashboards, 'token'>): string | null {
  if (!url || token === null) return url ?? null;
  const page = new URL(url);
  page.searchParams.set('token', token);
  return page.href;
}
