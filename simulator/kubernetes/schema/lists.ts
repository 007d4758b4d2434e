import type { Cause } from '../objects.ts';
import { isObject, type Json } from '../objects.ts';
import { child, mapKeysOf, propertyOf, type Schema } from './schema.ts';
import { invalidAt } from './values.ts';

/** The places at which a value appears for the second time. */
const repeated = (values: readonly string[]): number[] => {
  const seen = new Map<string, number>();
  return values.flatMap((value, index) => {
    const times = (seen.get(value) ?? 0) + 1;
    seen.set(value, times);
    return times === 2 ? [index] : [];
  });
};

const duplicate = (path: string, index: number, value: Json): Cause => ({
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
  field: child(path, index),
});

const mapCauses = (value: readonly Json[], keys: readonly string[], path: string): Cause[] => {
  const stranger = value.findIndex((item) => item !== null && !isObject(item));
  if (stranger >= 0) return [invalidAt(child(path, stranger), value[stranger] ?? null, 'must be an object for an array of list-type map')];
  const chosen = value.map((item) =>
    Object.fromEntries(
      keys.filter((key) => isObject(item) && item[key] !== undefined).map((key) => [key, isObject(item) ? item[key] : null]),
    ),
  );
  return repeated(chosen.map((item) => JSON.stringify(item))).map((index) => duplicate(path, index, chosen[index] ?? {}));
};

const itemsCauses = (value: readonly Json[], schema: Schema, path: string): Cause[] => {
  const keys = mapKeysOf(schema);
  if (keys) return mapCauses(value, keys, path);
  if (schema['x-kubernetes-list-type'] !== 'set') return [];
  return repeated(value.map((item) => JSON.stringify(item))).map((index) => duplicate(path, index, value[index] ?? null));
};

/** Repeated items of lists that are declared to be sets or maps. */
export const listCauses = (value: Json | undefined, schema: Schema, path: string): Cause[] => {
  if (Array.isArray(value)) {
    const { items } = schema;
    const inner = items ? value.flatMap((item, index) => listCauses(item, items, child(path, index))) : [];
    return [...itemsCauses(value, schema, path), ...inner];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const property = propertyOf(schema, key);
    return property ? listCauses(item, property, child(path, key)) : [];
  });
};
