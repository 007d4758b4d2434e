import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../support/kube.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Described extends Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

/** Where {@link writeSchemas} puts the schema of a kind, in kubeconform's words. */
export const SCHEMA_PATH = '{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json';

const isRecord = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands below these describes an object in part only. */
const IN_PART = new Set(['allOf', 'anyOf', 'oneOf', 'not']);

/** OpenAPI as JSON Schema that refuses fields it does not describe, as `kubectl apply --validate=strict` does. */
const strict = (value: unknown, whole = true): unknown => {
  if (Array.isArray(value)) return value.map((each) => strict(each, whole));
  if (!isRecord(value)) return typeof value === 'string' ? value.replace('#/components/schemas/', '#/definitions/') : value;
  const schema = Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, key === 'properties' ? named(each, whole) : strict(each, whole && !IN_PART.has(key))]),
  );
  const isClosed = whole && isRecord(value.properties) && value.additionalProperties === undefined;
  return isClosed && !value['x-kubernetes-preserve-unknown-fields'] ? { ...schema, additionalProperties: false } : schema;
};

/** Schemas by names that mean nothing here. */
const named = (schemas: unknown, whole = true): Schema =>
  Object.fromEntries(Object.entries(isRecord(schemas) ? schemas : {}).map(([name, schema]) => [name, strict(schema, whole)]));

/** The server calls its index of descriptions plain text. */
const jsonOf = async (cluster: Pick<Cluster, 'send'>, path: string) => {
  const { body } = await cluster.send(path);
  return typeof body === 'string' ? JSON.parse(body) : body;
};

/** What the server describes: `api/v1` and `apis/<group>/<version>`. */
export const describedGroups = async (cluster: Pick<Cluster, 'send'>): Promise<readonly string[]> =>
  Object.keys((await jsonOf(cluster, '/openapi/v3')).paths);

/** A schema for each kind that the API server serves, ours among them, as files below `folder`. Resolves with how many. */
export const writeSchemas = async (cluster: Pick<Cluster, 'send'>, folder: string): Promise<number> => {
  let written = 0;
  for (const group of await describedGroups(cluster)) {
    const { components } = await jsonOf(cluster, `/openapi/v3/${group}`);
    const described: Readonly<Record<string, Described>> = components?.schemas ?? {};
    const definitions = named(described);
    for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(described)) {
      // DeleteOptions and the like are of every group.
      const [of, ...others] = kinds;
      if (of === undefined || others.length > 0) continue;
      // kubeconform takes all before the slash of an apiVersion for the group: of `v1` that is all there is.
      const named = of.group === '' ? of.version : of.group;
      mkdirSync(join(folder, named), { recursive: true });
      const file = join(folder, named, `${of.kind.toLowerCase()}_${of.version}.json`);
      writeFileSync(file, JSON.stringify({ $ref: `#/definitions/${name}`, definitions }));
      written += 1;
    }
  }
  return written;
};
