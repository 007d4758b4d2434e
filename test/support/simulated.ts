import type { Server } from './kube-apply.ts';

/** The simulator at `url`, which is asked for once a test sends something, as shared suites use a server. */
export const sendTo =
  (url: () => string): Server['send'] =>
  async (path, { method = 'GET', body, accept = 'application/json' } = {}) => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(url() + path, { method, headers: { accept, 'content-type': contentType }, ...sent });
    return { status: response.status, body: await response.json() };
  };
