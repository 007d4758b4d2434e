import type { Json, JsonObject } from '../objects.ts';
import { APPLY_KEYS, MERGE_KEYS } from './merge-keys.ts';
import { type Field, type Model, modelOf } from './models.ts';
import type { Schema } from './schema.ts';

/** Turns the name of another type into the schema that stands for it: itself, or a reference to it. */
type Reference = (model: Model) => Schema;

const INTEGERS = ['int32', 'int64'];

const scalarSchema = ({ type, format }: Pick<Field, 'type' | 'format'>): Schema | undefined => {
  switch (type) {
    case 'string':
      return { type: 'string', ...(format ? { format } : {}) };
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
      return INTEGERS.includes(format) || format === '' ? { type: 'integer', ...(format ? { format } : {}) } : { type: 'number', format };
    case 'Date':
    case 'V1MicroTime':
      return { type: 'string', format: 'date-time' };
    case 'IntOrString':
      return { 'x-kubernetes-int-or-string': true };
    case 'any':
    case 'object':
      return { 'x-kubernetes-preserve-unknown-fields': true };
    default:
      return undefined;
  }
};

const schemaOfType = (field: Pick<Field, 'type' | 'format'>, reference: Reference): Schema => {
  const scalar = scalarSchema(field);
  if (scalar) return scalar;
  const { type, format } = field;
  const item = /^Array<(.*)>$/.exec(type)?.[1];
  if (item !== undefined) return { type: 'array', items: schemaOfType({ type: item, format }, reference) };
  const value = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (value !== undefined) return { type: 'object', additionalProperties: schemaOfType({ type: value, format }, reference) as JsonObject };
  const model = modelOf(type);
  return model ? reference(model) : { 'x-kubernetes-preserve-unknown-fields': true };
};

const listExtensions = (path: string): Schema => {
  const keys = MERGE_KEYS[path];
  const mapKeys = keys ?? APPLY_KEYS[path];
  const patch: JsonObject = keys
    ? { 'x-kubernetes-patch-strategy': 'merge', ...(keys[0] ? { 'x-kubernetes-patch-merge-key': keys[0] } : {}) }
    : {};
  if (!mapKeys) return patch;
  if (mapKeys.length === 0) return { ...patch, 'x-kubernetes-list-type': 'set' };
  return { ...patch, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [...mapKeys] };
};

/** The schema of one built-in type; other types in it are what `reference` makes of them. */
export const schemaOfModel = (model: Model, reference: Reference): Schema => {
  const schema: Schema = { type: 'object', description: model.description };
  fill(schema, model, reference);
  return schema;
};

const fill = (schema: Schema, model: Model, reference: Reference): void => {
  const required = model.fields.filter((field) => field.required).map((field) => field.name);
  if (required.length > 0) schema.required = required;
  const properties = model.fields.map((field): [string, Schema] => {
    const value = schemaOfType(field, reference);
    const described: Json = { description: field.description, ...listExtensions(`${model.name}.${field.name}`) };
    if (value.$ref !== undefined)
      return [field.name, { allOf: [value], description: field.description || (modelOf(field.type)?.description ?? '') }];
    return [field.name, isShared(value) ? value : { ...value, ...described }];
  });
  schema.properties = Object.fromEntries(properties);
};

/** A resolved type is one schema for all its uses: it must not be copied with one field's description in it. */
const isShared = (schema: Schema): boolean => schema.properties !== undefined;

const resolved = new Map<string, Schema>();

/** The schema with all types in it resolved. Types that contain themselves make it a graph with cycles: walk it along a value. */
export const resolvedSchema = (model: Model): Schema => {
  const known = resolved.get(model.name);
  if (known) return known;
  const schema: Schema = { type: 'object', properties: {} };
  resolved.set(model.name, schema);
  fill(schema, model, resolvedSchema);
  return schema;
};
