import type { JsonObject } from './objects.ts';
import type { Registry } from './registry.ts';
import { apiVersionOf, type Resource } from './resource.ts';

interface Subresource {
  suffix: string;
  kind: string;
  group?: string;
  version?: string;
  verbs: readonly string[];
}

const STATUS_VERBS = ['get', 'patch', 'update'] as const;

/** The served subresources besides `/status`. */
const EXTRA: Readonly<Record<string, readonly Subresource[]>> = {
  pods: [
    { suffix: 'binding', kind: 'Binding', verbs: ['create'] },
    { suffix: 'eviction', kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
  ],
  serviceaccounts: [{ suffix: 'token', kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1', verbs: ['create'] }],
};

const subresourcesOf = (resource: Resource): Subresource[] => [
  ...(resource.custom || resource.group !== '' ? [] : (EXTRA[resource.plural] ?? [])),
  ...(resource.status ? [{ suffix: 'status', kind: resource.kind, verbs: STATUS_VERBS }] : []),
];

/** Those of custom resources in the order of their handlers. */
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

const verbsOf = ({ custom, verbs }: Resource): string[] => (custom ? CUSTOM_VERBS.filter((verb) => verbs.includes(verb)) : [...verbs]);

const entryOf = (resource: Resource): JsonObject[] => [
  {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: verbsOf(resource),
    ...(resource.shortNames.length ? { shortNames: [...resource.shortNames] } : {}),
    ...(resource.categories.length ? { categories: [...resource.categories] } : {}),
    ...(resource.verbs.includes('watch') ? { storageVersionHash: hash(resource) } : {}),
  },
  ...subresourcesOf(resource).map(({ suffix, kind, group, version, verbs }) => ({
    name: `${resource.plural}/${suffix}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...(group === undefined ? {} : { group, version }),
    kind,
    verbs: [...verbs],
  })),
];

const hash = (resource: Resource): string => Buffer.from(`${resource.storage}${resource.storageVersion}`).subarray(0, 8).toString('base64');

/** /api/v1 and /apis/<group>/<version>; undefined when nothing is served there. */
export const resourceList = (registry: Registry, apiVersion: string): JsonObject | undefined => {
  const resources = registry.inVersion(apiVersion);
  if (resources.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(apiVersion === 'v1' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersion,
    resources: resources.flatMap(entryOf),
  };
};

const groupOf = (name: string, versions: readonly string[]): JsonObject => {
  const listed = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: listed, preferredVersion: listed[0] };
};

/** /apis */
export const groupList = (registry: Registry): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: [...registry.groups()].filter(([name]) => name !== '').map(([name, versions]) => groupOf(name, versions)),
});

/** /apis/<group> */
export const group = (registry: Registry, name: string): JsonObject | undefined => {
  const versions = registry.groups().get(name);
  return versions && name !== '' ? { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(name, versions) } : undefined;
};

/** /api */
export const coreVersions = (address: string): JsonObject => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
});

/** Aggregated discovery (apidiscovery.k8s.io/v2): everything below /api or /apis in one document. */
export const aggregated = (registry: Registry, core: boolean): JsonObject => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [...registry.groups()]
    .filter(([name]) => (name === '') === core)
    .map(([name, versions]) => ({
      metadata: name === '' ? {} : { name },
      versions: versions.map((version) => ({
        version,
        freshness: 'Current',
        resources: registry.inVersion(apiVersionOf({ group: name, version })).map(aggregatedResource),
      })),
    })),
});

/** A built-in kind is not told whose it is: it lies where it is found. */
const kindOf = ({ custom }: Resource, group: string, version: string, kind: string): JsonObject =>
  custom ? { group, version, kind } : { group: '', version: '', kind };

const aggregatedResource = (resource: Resource): JsonObject => ({
  resource: resource.plural,
  responseKind: kindOf(resource, resource.group, resource.version, resource.kind),
  scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  singularResource: resource.singular,
  verbs: verbsOf(resource),
  ...(resource.shortNames.length ? { shortNames: [...resource.shortNames] } : {}),
  ...(resource.categories.length ? { categories: [...resource.categories] } : {}),
  ...subresourceList(resource),
});

const subresourceList = (resource: Resource): JsonObject => {
  const found = subresourcesOf(resource);
  return found.length === 0 ? {} : { subresources: found.map((each) => aggregatedSubresource(resource, each)) };
};

const aggregatedSubresource = (resource: Resource, { suffix, kind, group, version, verbs }: Subresource): JsonObject => ({
  subresource: suffix,
  responseKind:
    group === undefined || version === undefined ? kindOf(resource, resource.group, resource.version, kind) : { group, version, kind },
  verbs: [...verbs],
});
