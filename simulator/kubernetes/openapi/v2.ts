import { isObject, type Json, type JsonObject } from '../objects.ts';
import { field, flag } from '../protobuf/encode.ts';
import type { Schema } from '../schema/schema.ts';

/** What the OpenAPI v2 document is made of. */
export interface Parts {
  version: string;
  schemas: Readonly<Record<string, Schema>>;
  paths: readonly [string, JsonObject][];
}

const text = (number: number, value: Json | undefined): Buffer[] =>
  typeof value === 'string' && value !== '' ? [field(number, value)] : [];

/** Extensions travel as YAML, of which JSON is a part. */
const extensions = (number: number, object: JsonObject): Buffer[] =>
  Object.entries(object)
    .filter(([key, value]) => key.startsWith('x-') && value !== undefined)
    .map(([key, value]) => field(number, [field(1, key), field(2, [field(2, JSON.stringify(value))])]));

const definition = (reference: string): string => reference.replace('#/components/schemas/', '#/definitions/');

/** In v2 a reference may have a description beside it; in v3 it is wrapped for that. */
const referenceOf = (schema: Schema): string | undefined => {
  const own = schema.$ref ?? schema.allOf?.[0]?.$ref;
  return typeof own === 'string' ? definition(own) : undefined;
};

const valuesOf = (schema: Schema): Buffer[] => {
  const values = schema.additionalProperties;
  if (isObject(values)) return [field(21, [field(1, schemaFields(values as Schema))])];
  return values === true ? [field(21, [flag(2)])] : [];
};

const named = ([name, schema]: [string, Schema]): Buffer => field(1, [field(1, name), field(2, schemaFields(schema))]);

/** Numbers: `Schema` in gnostic's OpenAPIv2.proto, which kubectl reads. */
const schemaFields = (schema: Schema): Buffer[] => {
  const reference = referenceOf(schema);
  const head = [...text(1, reference), ...text(4, schema.description)];
  if (reference !== undefined) return head;
  return [
    ...head,
    ...text(2, schema.format),
    ...(schema.required ?? []).map((name) => field(19, name)),
    ...valuesOf(schema),
    ...(schema.type ? [field(22, [field(1, schema.type)])] : []),
    ...(schema.items ? [field(23, [field(1, schemaFields(schema.items))])] : []),
    ...(schema.properties ? [field(25, Object.entries(schema.properties).map(named))] : []),
    ...extensions(31, schema),
  ];
};

const queryParameter = (parameter: JsonObject): Buffer => {
  const fields = [field(2, 'query'), ...text(3, parameter.description), ...text(4, parameter.name), field(6, 'string')];
  return field(8, [field(1, [field(2, [field(3, fields)])])]);
};

/** Only PATCH: kubectl looks there whether the server checks fields, and at nothing else. */
const pathFields = ([path, item]: [string, JsonObject]): Buffer[] => {
  const { patch } = item;
  if (!isObject(patch)) return [];
  const parameters = Array.isArray(patch.parameters) ? patch.parameters.filter(isObject) : [];
  const operation = [...text(5, patch.operationId), ...parameters.map(queryParameter), ...extensions(13, patch)];
  return [field(2, [field(1, path), field(2, [field(8, operation)])])];
};

/** /openapi/v2 as protobuf: what kubectl before 1.29 validates with, and kubectl before 1.27 explains with. */
export const protobufV2 = ({ version, schemas, paths }: Parts): Buffer =>
  Buffer.concat([
    field(1, '2.0'),
    field(2, [field(1, 'Kubernetes'), field(2, version)]),
    field(8, paths.flatMap(pathFields)),
    field(9, Object.entries(schemas).map(named)),
  ]);

/** /openapi/v2 as JSON. */
export const jsonV2 = ({ version, schemas }: Parts): string =>
  JSON.stringify({ swagger: '2.0', info: { title: 'Kubernetes', version }, paths: {}, definitions: schemas }).replaceAll(
    '#/components/schemas/',
    '#/definitions/',
  );
