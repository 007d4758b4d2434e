import { aggregated, coreVersions, group, groupList, resourceList } from './discovery.ts';
import type { JsonObject } from './objects.ts';
import type { OpenApi } from './openapi/openapi.ts';
import type { Registry } from './registry.ts';

export interface ServerFacts {
  registry: Registry;
  openApi: OpenApi;
  version: string;
  address: string;
}

export interface Document {
  type: string;
  body: JsonObject | string | Buffer;
  /** How it may be kept, for one that is told apart by what is in it. */
  caching?: Readonly<Record<string, string>>;
}

const DISCOVERY = { 'cache-control': 'public', vary: 'Accept' };

const json = (body: JsonObject | undefined): Document | undefined => body && { type: 'application/json', body };

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

const wantsAggregated = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((clause) => /g=apidiscovery\.k8s\.io/.test(clause) && /v=v2(;|$)/.test(clause.trim()));

const versionInfo = (version: string): JsonObject => {
  const [major = '1', minor = ''] = version.replace(/^v/, '').split('.');
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: version,
    gitCommit: 'simulator',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: 'linux/amd64',
  };
};

/** Under the hash that the index names a document never changes. */
const openApiDocument = (openApi: OpenApi, key: string, hash: string | null): Document | undefined => {
  const body = openApi.document(key);
  const expires = new Date(Date.now() + 365 * 24 * 3_600_000).toUTCString();
  const lasting = hash === null ? {} : { 'cache-control': 'public, immutable', expires };
  return body === undefined ? undefined : { type: 'application/json', body, caching: { vary: 'Accept', ...lasting } };
};

/** Asked for with an @ or a dot; answered with the dot, since Go's parser takes no @ in a media type. */
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

const V2 = { vary: 'Accept-Encoding, Accept' };

const wholeOpenApi = (openApi: OpenApi, accept: string | undefined): Document =>
  accept?.replace('v2@v1', 'v2.v1').includes(PROTOBUF)
    ? { type: PROTOBUF, body: openApi.wholeDocument('protobuf'), caching: V2 }
    : { type: 'application/json', body: openApi.wholeDocument('json'), caching: V2 };

const PROBES = ['/healthz', '/readyz', '/livez'];

/** What is served besides resources: health, version, discovery, OpenAPI. Undefined for an unknown path. */
export const documentAt = (facts: ServerFacts, url: URL, accept: string | undefined): Document | undefined => {
  const path = url.pathname.replace(/(?<=.)\/$/, '');
  if (PROBES.includes(path)) return { type: 'text/plain; charset=utf-8', body: 'ok' };
  if (path === '/version') return json(versionInfo(facts.version));
  if (path === '/openapi/v2') return wholeOpenApi(facts.openApi, accept);
  if (path === '/openapi/v3') return { type: 'text/plain; charset=utf-8', body: JSON.stringify(facts.openApi.index()) };
  if (path.startsWith('/openapi/v3/'))
    return openApiDocument(facts.openApi, path.slice('/openapi/v3/'.length), url.searchParams.get('hash'));
  if (path === '/api' || path === '/apis') {
    if (wantsAggregated(accept)) return { type: AGGREGATED, body: aggregated(facts.registry, path === '/api'), caching: DISCOVERY };
    return json(path === '/api' ? coreVersions(facts.address.replace(/^http:\/\//, '')) : groupList(facts.registry));
  }
  if (path === '/api/v1') return json(resourceList(facts.registry, 'v1'));
  const [, root, name, version, ...beyond] = path.split('/');
  if (root !== 'apis' || name === undefined || beyond.length > 0) return undefined;
  return json(version === undefined ? group(facts.registry, name) : resourceList(facts.registry, `${name}/${version}`));
};
