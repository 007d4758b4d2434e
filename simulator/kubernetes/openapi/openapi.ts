import { createHash } from 'node:crypto';
import type { JsonObject } from '../objects.ts';
import type { Registry } from '../registry.ts';
import { apiVersionOf, type Resource } from '../resource.ts';
import { schemaOfModel } from '../schema/builtin-schemas.ts';
import { type Model, modelOf, modelOfKind } from '../schema/models.ts';
import type { Schema } from '../schema/schema.ts';
import { jsonV2, type Parts, protobufV2 } from './v2.ts';

type Schemas = Record<string, Schema>;

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const SHARED = ['V1ObjectMeta', 'V1ManagedFieldsEntry', 'V1OwnerReference', 'V1ListMeta', 'V1Status', 'V1DeleteOptions', 'V1LabelSelector'];

const refTo = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** The schema of a type, and those of all types in it, put into `schemas`; returns its name there. */
const collect = (schemas: Schemas, prefix: string, model: Model): string => {
  const name = `${SHARED.includes(model.name) ? META : prefix}.${model.name.replace(/^(?:[A-Z][a-z]+)?V\d+(?:(?:alpha|beta)\d+)?/, '')}`;
  if (!schemas[name]) {
    schemas[name] = {};
    schemas[name] = schemaOfModel(model, (inner) => refTo(collect(schemas, prefix, inner)));
  }
  return name;
};

const kindOf = ({ group, version, kind }: Resource): JsonObject => ({ group, version, kind });

const withMeta = (schemas: Schemas, prefix: string, schema: Schema): Schema => {
  const meta = modelOf('V1ObjectMeta');
  const text = { type: 'string' } satisfies Schema;
  return {
    ...schema,
    type: 'object',
    properties: {
      apiVersion: { ...text, description: 'Version of the schema of this object.' },
      kind: { ...text, description: 'Kind of this object.' },
      ...(meta ? { metadata: { ...refTo(collect(schemas, prefix, meta)), description: 'Standard object metadata.' } } : {}),
      ...schema.properties,
      ...(meta ? { metadata: refTo(collect(schemas, prefix, meta)) } : {}),
    },
  };
};

/** Adds the resource's own schema and returns its name. */
const describe = (schemas: Schemas, resource: Resource): string => {
  const prefix = `io.k8s.api.${resource.group === '' ? 'core' : resource.group}.${resource.version}`;
  const model = resource.custom ? undefined : modelOfKind(apiVersionOf(resource), resource.kind);
  const name = model
    ? collect(schemas, prefix, model)
    : `${resource.group.split('.').reverse().join('.')}.${resource.version}.${resource.kind}`;
  if (!model) schemas[name] = withMeta(schemas, prefix, resource.schema?.structure() ?? { 'x-kubernetes-preserve-unknown-fields': true });
  schemas[name] = { ...schemas[name], 'x-kubernetes-group-version-kind': [kindOf(resource)] };
  return name;
};

const QUERY = (name: string, type: string, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

const WRITE_PARAMETERS = [
  QUERY('dryRun', 'string', 'All: nothing is stored.'),
  QUERY('fieldManager', 'string', 'Name of who makes the change.'),
  QUERY('fieldValidation', 'string', 'Ignore, Warn or Strict: what happens to unknown fields.'),
];

const LIST_PARAMETERS = [
  QUERY('labelSelector', 'string', 'Restricts the list by labels.'),
  QUERY('fieldSelector', 'string', 'Restricts the list by fields.'),
  QUERY('limit', 'integer', 'Largest number of items in one page.'),
  QUERY('continue', 'string', 'Token of the next page.'),
  QUERY('resourceVersion', 'string', 'Where a watch starts.'),
  QUERY('watch', 'boolean', 'Streams changes instead of a list.'),
];

const PATCHES = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];

/** The content types of an operation's body. kubectl chooses the kind of its patches by them. */
const bodiesOf = (resource: Resource, method: string): readonly string[] | undefined => {
  if (method === 'patch') return resource.custom ? PATCHES : [...PATCHES, 'application/strategic-merge-patch+json'];
  return method === 'post' || method === 'put' ? ['*/*'] : undefined;
};

const ACTIONS: Readonly<Record<string, string>> = { get: 'get', post: 'post', put: 'put', patch: 'patch', delete: 'delete' };

const operation = (resource: Resource, method: string, schema: string, parameters: readonly JsonObject[]): JsonObject => {
  const types = bodiesOf(resource, method);
  const listed = method === 'get' && parameters === LIST_PARAMETERS;
  return {
    operationId: `${listed ? 'list' : method}${resource.group.replaceAll('.', '')}${resource.version}${resource.kind}`,
    tags: [apiVersionOf(resource).replace('/', '_')],
    ...(parameters.length ? { parameters: [...parameters] } : {}),
    ...(types
      ? { requestBody: { required: true, content: Object.fromEntries(types.map((type) => [type, { schema: refTo(schema) }])) } }
      : {}),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: refTo(schema) } } } },
    'x-kubernetes-action': listed ? 'list' : ACTIONS[method],
    'x-kubernetes-group-version-kind': kindOf(resource),
  };
};

const PATH_PARAMETER = (name: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string', uniqueItems: true },
});

const pathsOf = (resource: Resource, schema: string): [string, JsonObject][] => {
  const apiVersion = apiVersionOf(resource);
  const root = resource.group === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
  const collection = resource.namespaced ? `${root}/namespaces/{namespace}/${resource.plural}` : `${root}/${resource.plural}`;
  const above = resource.namespaced ? [PATH_PARAMETER('namespace')] : [];
  const named = [PATH_PARAMETER('name'), ...above];
  const write = (method: string): JsonObject => operation(resource, method, schema, WRITE_PARAMETERS);
  const object = { get: operation(resource, 'get', schema, []), put: write('put'), patch: write('patch'), parameters: named };
  if (!resource.verbs.includes('list')) return [[collection, { post: write('post'), parameters: above }]];
  return [
    [collection, { get: operation(resource, 'get', schema, LIST_PARAMETERS), post: write('post'), parameters: above }],
    [`${collection}/{name}`, { ...object, delete: operation(resource, 'delete', schema, []) }],
    ...(resource.status ? [[`${collection}/{name}/status`, object] satisfies [string, JsonObject]] : []),
  ];
};

const keyOfVersion = (apiVersion: string): string => (apiVersion === 'v1' ? 'api/v1' : `apis/${apiVersion}`);

/** The OpenAPI documents: v3, one per group and version, and v2, one for all. Made when first asked for. */
export class OpenApi {
  readonly #registry: Registry;
  readonly #version: string;
  #generation = -1;
  readonly #documents = new Map<string, string | Buffer>();

  constructor(registry: Registry, version: string) {
    this.#registry = registry;
    this.#version = version;
  }

  /** /openapi/v3 */
  index(): JsonObject {
    const versions = [...new Set(this.#registry.all().map(apiVersionOf))];
    const paths = versions.map((apiVersion) => {
      const key = keyOfVersion(apiVersion);
      return [key, { serverRelativeURL: `/openapi/v3/${key}?hash=${this.#hash(apiVersion)}` }];
    });
    return { paths: Object.fromEntries(paths) as JsonObject };
  }

  /** The document below /openapi/v3/, or undefined when that version is not served. */
  document(key: string): string | Buffer | undefined {
    const resources = this.#registry.all().filter((resource) => keyOfVersion(apiVersionOf(resource)) === key);
    if (resources.length === 0) return undefined;
    return this.#kept(key, () => {
      const { schemas, paths } = this.#parts(resources);
      const info = { title: 'Kubernetes', version: this.#version };
      return JSON.stringify({ openapi: '3.0.0', info, paths: Object.fromEntries(paths), components: { schemas } });
    });
  }

  /** /openapi/v2 */
  wholeDocument(form: 'json' | 'protobuf'): string | Buffer {
    return this.#kept(form, () => (form === 'json' ? jsonV2 : protobufV2)(this.#parts(this.#registry.all())));
  }

  #parts(resources: readonly Resource[]): Parts {
    const schemas: Schemas = {};
    const paths = resources.flatMap((resource) => pathsOf(resource, describe(schemas, resource)));
    return { version: this.#version, schemas, paths };
  }

  #kept(key: string, make: () => string | Buffer): string | Buffer {
    if (this.#generation !== this.#registry.generation) {
      this.#documents.clear();
      this.#generation = this.#registry.generation;
    }
    const document = this.#documents.get(key) ?? make();
    this.#documents.set(key, document);
    return document;
  }

  /** Changes with what the document says, so that clients may keep what they have. */
  #hash(apiVersion: string): string {
    const said = this.#registry
      .inVersion(apiVersion)
      .map((resource) => [resource.plural, resource.custom ? resource.schema?.structure() : '']);
    return createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 32).toUpperCase();
  }
}
