import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { targetOf } from '../listener/target.ts';
import type { BindAddress } from './bind-address.ts';

const COOKIE = 'routedip-token';
const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/;

/** Decides about requests to the user interfaces: the dashboards and the inspector. Sends a response and returns false when it refuses. */
export type Access = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Access for a server on `bind`. With a token, it must come as `Authorization: Bearer`, as `?token=` (which becomes a cookie) or as that cookie.
 *  Without one, the server must be on loopback and be addressed by a loopback name, which prevents DNS rebinding by pages on the internet.
 *  @throws Error when another interface is bound without a token */
export function accessTo(bind: BindAddress, token: string | null): Access {
  const allowed = allowedBy(bind, token);
  return (request, response) => {
    if (isForeignWrite(request)) return refuse(response, 403, 'Only this page itself may change anything.');
    return allowed(request, response);
  };
}

function allowedBy(bind: BindAddress, token: string | null): Access {
  if (token !== null && token !== '') return withToken(token);
  if (!isLoopback(bind.host ?? '')) {
    throw new Error(`${bind.host ?? ''}:${bind.port} is reachable from other machines: set a token, or bind 127.0.0.1:${bind.port}`);
  }
  return (request, response) =>
    isLoopback(hostName(request)) || refuse(response, 403, 'Open this page as http://127.0.0.1 or http://localhost.');
}

export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** A page of another site cannot read responses, but could submit forms here. */
const isForeignWrite = ({ method, headers: { origin, host } }: IncomingMessage): boolean =>
  method !== 'GET' && method !== 'HEAD' && origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;

const hostName = ({ headers }: IncomingMessage): string => (headers.host ?? '').replace(/:\d+$/, '');

function withToken(token: string): Access {
  return (request, response) => {
    const url = targetOf(request);
    const asked = url?.searchParams.get('token') ?? null;
    if (url && asked !== null && same(asked, token) && wantsPage(request)) return moveToCookie(url, token, response);
    const shown = [asked, bearerOf(request), cookieOf(request)];
    return shown.some((candidate) => candidate !== null && same(candidate, token)) || refuse(response, 401, 'Add ?token=… to the address.');
  };
}

/** A browser that opens a page; scripts that request data keep their `?token=`. */
const wantsPage = ({ headers }: IncomingMessage): boolean => (headers.accept ?? '').includes('text/html');

/** Removes the token from the address bar, so that it appears in no history, referrer or screenshot. */
function moveToCookie(url: URL, token: string, response: ServerResponse): false {
  url.searchParams.delete('token');
  response.writeHead(303, {
    Location: url.pathname + url.search,
    'Set-Cookie': `${COOKIE}=${encodeURIComponent(token)}; HttpOnly; SameSite=Strict; Path=/`,
    'Cache-Control': 'no-store',
  });
  response.end();
  return false;
}

const bearerOf = ({ headers }: IncomingMessage): string | null => /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? null;

function cookieOf({ headers }: IncomingMessage): string | null {
  const pair = (headers.cookie ?? '').split('; ').find((cookie) => cookie.startsWith(`${COOKIE}=`));
  try {
    return pair ? decodeURIComponent(pair.slice(COOKIE.length + 1)) : null;
  } catch {
    return null; // not a cookie of ours
  }
}

/** Takes the same time for every wrong token. */
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function refuse(response: ServerResponse, status: number, message: string): false {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(`${message}\n`);
  return false;
}
