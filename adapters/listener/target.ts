import type { IncomingMessage } from 'node:http';

/** What a request asks for, as a URL with the host `here`; null for what is no path of a server, such as `*`, or `//`, which a URL takes for a host. */
export function targetOf({ url = '/' }: Pick<IncomingMessage, 'url'>): URL | null {
  const target = url.startsWith('/') ? URL.parse(url, 'http://here') : null;
  return target?.host === 'here' && !target.pathname.startsWith('//') ? target : null;
}
