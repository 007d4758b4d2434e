import type { ActionBend } from './addresses.ts';
import type { Cloud } from './cloud.ts';
import { notFound } from './refusal.ts';
import type { Reply } from './reply.ts';

/** One request as a route sees it. `bend` and `readAt` are what faults ask of it. */
export interface RouteRequest {
  readonly cloud: Cloud;
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly bend: ActionBend;
  /** Of the account that asks. */
  readonly token: string;
  /** The time whose state reads of addresses show; null for the present. */
  readonly readAt: number | null;
  /** A fault makes every action unknown. */
  readonly actionsHidden: boolean;
}

export type Handler = (request: RouteRequest) => Reply;

export interface Route {
  readonly method: string;
  /** Segments; one that starts with ':' matches anything and is named. */
  readonly path: string;
  readonly handle: Handler;
}

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export type Router = (method: string, path: string) => Match;

/** @throws Refusal 404 where no route has that method and path. */
export function createRouter(routes: readonly Route[]): Router {
  const split = routes.map((route) => ({ route, segments: route.path.split('/') }));
  return (method, path) => {
    const segments = path.split('/');
    for (const candidate of split) {
      if (candidate.route.method !== method) continue;
      const params = matchSegments(candidate.segments, segments);
      if (params !== null) return { route: candidate.route, params };
    }
    throw notFound();
  };
}

function matchSegments(pattern: readonly string[], path: readonly string[]): Record<string, string> | null {
  if (pattern.length !== path.length) return null;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const given = path[index] ?? '';
    if (wanted.startsWith(':')) params[wanted.slice(1)] = decodeURIComponent(given);
    else if (wanted !== given) return null;
  }
  return params;
}

/** The named part of the path. */
export const param = (request: RouteRequest, name: string): string => request.params[name] ?? '';
