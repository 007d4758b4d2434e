import { copy, isObject, type Json, type JsonObject } from '../objects.ts';
import { child, isEmbedded, preservesUnknown, propertyOf, type Schema } from './schema.ts';

const TYPE_FIELDS = ['apiVersion', 'kind'];
const EMBEDDED_FIELDS = [...TYPE_FIELDS, 'metadata'];

const pruneObject = (value: JsonObject, schema: Schema, path: string, root: boolean): string[] => {
  const unknown: string[] = [];
  for (const key of Object.keys(value)) {
    const here = child(path, key);
    const property = propertyOf(schema, key);
    if ((root && TYPE_FIELDS.includes(key)) || (isEmbedded(schema) && EMBEDDED_FIELDS.includes(key))) continue;
    if (property) unknown.push(...pruneValue(value[key], property, here));
    else if (!preservesUnknown(schema) && schema.additionalProperties !== true) {
      unknown.push(here);
      delete value[key];
    }
  }
  return unknown;
};

const pruneValue = (value: Json | undefined, schema: Schema, path: string): string[] => {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, index) => pruneValue(item, items, child(path, index))) : [];
  }
  return isObject(value) ? pruneObject(value, schema, path, false) : [];
};

/** Removes what the schema does not know and returns the paths of it, sorted. Kubernetes: Extend the API with CRDs, "Field pruning". */
export const prune = (object: JsonObject, schema: Schema): string[] => pruneObject(object, schema, '', true).sort();

const defaultObject = (value: JsonObject, schema: Schema): void => {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (value[name] === null && property.nullable !== true) delete value[name];
    if (value[name] === undefined && property.default !== undefined) value[name] = copy(property.default);
  }
  for (const key of Object.keys(value)) {
    const property = propertyOf(schema, key);
    if (property) fillDefaults(value[key], property);
  }
};

/** Drops nulls that the schema does not allow, then puts its defaults where a field is missing. */
export const fillDefaults = (value: Json | undefined, schema: Schema): void => {
  if (isObject(value)) defaultObject(value, schema);
  else if (Array.isArray(value) && schema.items) for (const item of value) fillDefaults(item, schema.items);
};
