import type { IncomingMessage } from 'node:http';

/** The request target as a URL with the host `here`; null when it is not a path, such as `*`, or `//`, which would parse as a host. */
export function targetOf({ url = '/' }: Pick<IncomingMessage, 'url'>): URL | null {
  const target = url.startsWith('/') ? URL.parse(url, 'http://here') : null;
  return target?.host === 'here' && !target.pathname.startsWith('//') ? target : null;
}
