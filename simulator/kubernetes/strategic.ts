import { equal, isObject, type Json, type JsonObject } from './objects.ts';
import { propertyOf, type Schema } from './schema/schema.ts';

/** How a list is merged: by the key of its items, '' as a set of plain values, undefined not at all. */
const mergeKeyOf = (schema: Schema | undefined): string | undefined => {
  if (schema?.['x-kubernetes-patch-strategy'] !== 'merge') return undefined;
  const key = schema['x-kubernetes-patch-merge-key'];
  return typeof key === 'string' ? key : '';
};

const isDirective = (key: string): boolean => key.startsWith('$');

const withoutDirectives = (patch: JsonObject): JsonObject => Object.fromEntries(Object.entries(patch).filter(([key]) => !isDirective(key)));

const mergeValues = (target: readonly Json[], patch: readonly Json[], removed: readonly Json[]): Json[] => {
  const kept = target.filter((value) => !removed.some((other) => equal(value, other)));
  return [...kept, ...patch.filter((value) => !kept.some((other) => equal(value, other)))];
};

const mergeItems = (schema: Schema | undefined, key: string, target: readonly Json[], patch: readonly Json[]): Json[] => {
  const items = patch.filter(isObject);
  if (items.some((item) => item.$patch === 'replace')) return items.filter((item) => item.$patch === undefined);
  const result: Json[] = [...target];
  for (const item of items) {
    const place = result.findIndex((present) => isObject(present) && equal(present[key], item[key]));
    if (item.$patch === 'delete') {
      if (place >= 0) result.splice(place, 1);
    } else if (place < 0) result.push(strategicPatch(schema, {}, item));
    else result[place] = strategicPatch(schema, result[place] as JsonObject, item);
  }
  return result;
};

/** The order that a `$setElementOrder/<field>` directive asks for; what it does not name comes after. */
const ordered = (list: readonly Json[], key: string, order: readonly Json[]): Json[] => {
  const same = (wanted: Json, value: Json): boolean =>
    key === '' ? equal(wanted, value) : isObject(wanted) && isObject(value) && equal(wanted[key], value[key]);
  const rank = (value: Json): number => order.findIndex((wanted) => same(wanted, value));
  const named = list.filter((value) => rank(value) >= 0).sort((a, b) => rank(a) - rank(b));
  return [...named, ...list.filter((value) => rank(value) < 0)];
};

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const patchList = (schema: Schema | undefined, field: string, target: Json | undefined, patch: JsonObject): Json => {
  const wanted = patch[field];
  const key = mergeKeyOf(schema);
  if (key === undefined) return wanted ?? target ?? [];
  const removed = listOf(patch[`$deleteFromPrimitiveList/${field}`]);
  const merged =
    key === '' ? mergeValues(listOf(target), listOf(wanted), removed) : mergeItems(schema?.items, key, listOf(target), listOf(wanted));
  const order = patch[`$setElementOrder/${field}`];
  return Array.isArray(order) ? ordered(merged, key, order) : merged;
};

const LIST_DIRECTIVE = /^\$(?:deleteFromPrimitiveList|setElementOrder)\/(.*)$/;

/** The fields that a patch touches, those that only a list directive names included. */
const touched = (patch: JsonObject): Set<string> =>
  new Set(Object.keys(patch).flatMap((key) => (isDirective(key) ? (LIST_DIRECTIVE.exec(key)?.slice(1) ?? []) : [key])));

const retained = (target: JsonObject, patch: JsonObject): JsonObject => {
  const keys = patch.$retainKeys;
  return Array.isArray(keys) ? Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key))) : { ...target };
};

/** Strategic merge patch of a built-in object by its schema, with the directives $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList.
 *  Neither argument is changed. Source: Kubernetes, Strategic Merge Patch (API conventions). */
export const strategicPatch = (schema: Schema | undefined, target: JsonObject, patch: JsonObject): JsonObject => {
  if (patch.$patch === 'replace') return withoutDirectives(patch);
  if (patch.$patch === 'delete') return {};
  const result = retained(target, patch);
  for (const field of touched(patch)) {
    const value = patch[field];
    const property = schema && propertyOf(schema, field);
    if (value === null) delete result[field];
    else if (isObject(value)) result[field] = strategicPatch(property, isObject(result[field]) ? result[field] : {}, value);
    else if (Array.isArray(value) || value === undefined) result[field] = patchList(property, field, result[field], patch);
    else result[field] = value;
  }
  return result;
};
