import type { ServerResponse } from 'node:http';
import type { Api } from './api.ts';
import { ApiError } from './errors.ts';
import { at, type Json } from './objects.ts';

/** A request to what stands behind a Service: `/api/v1/namespaces/<ns>/services/<name>[:<port>]/proxy/…`. */
export interface ServiceProxy {
  readonly namespace: string;
  readonly name: string;
  /** Name of the port; empty for the only one. */
  readonly port: string;
  /** With a leading slash. */
  readonly path: string;
}

const PATH = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/:]+)(?::([^/]*))?\/proxy(\/.*)?$/;

export const serviceProxyOf = (pathname: string): ServiceProxy | null => {
  const [, namespace, name, port = '', path = '/'] = PATH.exec(pathname) ?? [];
  return namespace === undefined || name === undefined ? null : { namespace, name, port, path };
};

interface Asked {
  readonly method: string;
  readonly search: string;
}

/** Passes a request on to the first endpoint of the Service, without who asks, and answers what that answers. @throws ApiError 404, 503 */
export async function forward(api: Api, proxy: ServiceProxy, { method, search }: Asked, response: ServerResponse): Promise<void> {
  const { namespace, name, port, path } = proxy;
  const [services, endpoints] = [api.registry.find('v1', 'services'), api.registry.find('v1', 'endpoints')];
  if (!services || !endpoints) throw new Error('v1 is not served');
  api.entry(services, namespace, name);
  const found = endpointOf(api.entry(endpoints, namespace, name).object, port);
  if (!found) throw new ApiError(503, 'ServiceUnavailable', `no endpoints available for service "${name}${port && `:${port}`}"`);
  const answer = await fetch(`http://${found}${path}${search}`, { method }).catch((error: unknown) => {
    throw new ApiError(503, 'ServiceUnavailable', `error trying to reach service: ${String(error)}`);
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
  response.end(await answer.text());
}

/** `address:port` of the first endpoint; null for none. */
function endpointOf(endpoints: Json, port: string): string | null {
  const address = at(endpoints, 'subsets', 0, 'addresses', 0, 'ip');
  const ports = at(endpoints, 'subsets', 0, 'ports');
  const found = Array.isArray(ports) ? ports.find((each) => port === '' || at(each, 'name') === port) : undefined;
  const number = at(found, 'port');
  return typeof address === 'string' && typeof number === 'number' ? `${address}:${number}` : null;
}
