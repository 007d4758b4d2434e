import { equal, isObject, type Json, type JsonObject } from '../objects.ts';
import { mapKeysOf, propertyOf, type Schema } from '../schema/schema.ts';

/** Fields of an object in the form of `fieldsV1`: `f:<name>` a member, `k:<keys>` an item of a map list, `v:<value>` an item of a set, `.` the place itself. */
export interface FieldSet {
  [element: string]: FieldSet;
}

/** How a list is merged; without a word from the schema it is one value. */
const listKind = (schema: Schema | undefined): 'map' | 'set' | 'atomic' => {
  const kind = schema?.['x-kubernetes-list-type'];
  return kind === 'map' || kind === 'set' ? kind : 'atomic';
};

const isAtomicMap = (schema: Schema | undefined): boolean => schema?.['x-kubernetes-map-type'] === 'atomic';

/** The element that stands for an item of a set or map list. */
export const elementOf = (item: Json, schema: Schema | undefined): string => {
  if (listKind(schema) === 'set') return `v:${JSON.stringify(item)}`;
  const keys = (schema && mapKeysOf(schema)) ?? [];
  const chosen = keys.filter((key) => isObject(item) && item[key] !== undefined).map((key) => [key, isObject(item) ? item[key] : null]);
  return `k:${JSON.stringify(Object.fromEntries(chosen))}`;
};

export const mergesItems = (schema: Schema | undefined): boolean => listKind(schema) !== 'atomic';

/** What a value sets: its leaves, and the items of its lists. */
export const fieldsOf = (value: Json, schema: Schema | undefined): FieldSet => {
  if (Array.isArray(value)) {
    if (!mergesItems(schema)) return {};
    return Object.fromEntries(
      value.map((item) => [elementOf(item, schema), isObject(item) ? { '.': {}, ...fieldsOf(item, schema?.items) } : {}]),
    );
  }
  if (!isObject(value) || isAtomicMap(schema)) return {};
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(members.map(([key, item]) => [`f:${key}`, fieldsOf(item ?? null, schema && propertyOf(schema, key))]));
};

const isLeaf = (set: FieldSet): boolean => Object.keys(set).length === 0;

export const union = (a: FieldSet, b: FieldSet): FieldSet => {
  const result: FieldSet = { ...a };
  for (const [element, inner] of Object.entries(b)) result[element] = union(result[element] ?? {}, inner);
  return result;
};

/** What is in `a` and not in `b`; a place whose fields are all in `b` is not in the result. Where `b` has a place as a whole, it has all below. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, true);

/** As `difference`, but a place that `b` has as a whole is an empty map or list, which has nothing below. */
export const notNamed = (a: FieldSet, b: FieldSet): FieldSet => subtract(a, b, false);

const subtract = (a: FieldSet, b: FieldSet, wholeCovers: boolean): FieldSet => {
  const result: FieldSet = {};
  for (const [element, inner] of Object.entries(a)) {
    const other = b[element];
    if (other === undefined) result[element] = inner;
    else if (!isLeaf(inner) && !(wholeCovers && isLeaf(other))) {
      const left = subtract(inner, other, wholeCovers);
      if (!isLeaf(left)) result[element] = left;
    }
  }
  return result;
};

/** The part of a value that an element names. */
const inside = (value: Json | undefined, element: string, schema: Schema | undefined): Json | undefined => {
  if (element.startsWith('f:')) return isObject(value) ? value[element.slice(2)] : undefined;
  return Array.isArray(value) ? value.find((item) => elementOf(item, schema) === element) : undefined;
};

const schemaInside = (schema: Schema | undefined, element: string): Schema | undefined =>
  element.startsWith('f:') ? schema && propertyOf(schema, element.slice(2)) : schema?.items;

/** The fields that two values have differently: changed, new in `after`, or gone from it. */
export const changed = (before: Json | undefined, after: Json | undefined, schema: Schema | undefined): FieldSet => {
  const result: FieldSet = {};
  const all = union(fieldsOf(before ?? null, schema), fieldsOf(after ?? null, schema));
  for (const [element, inner] of Object.entries(all)) {
    if (element === '.') continue;
    const [old, now] = [inside(before, element, schema), inside(after, element, schema)];
    if (equal(old, now)) continue;
    const deeper = isLeaf(inner) || old === undefined ? {} : changed(old, now, schemaInside(schema, element));
    result[element] = isLeaf(deeper) ? (now === undefined ? {} : inner) : deeper;
  }
  return result;
};

type Pair = readonly [Json | undefined, Json | undefined];

/** An element as messages show it: `.spec`, `[type="Ready"]`. */
const shown = (element: string): string => {
  if (element.startsWith('f:')) return `.${element.slice(2)}`;
  const content = element.slice(2).replace(/^\{|\}$/g, '');
  return `[${element.startsWith('k:') ? content.replaceAll('":', '"=').replaceAll(/"([^"]+)"=/g, '$1=') : `=${content}`}]`;
};

/** Whether a value has one owner, instead of one for each of its members or items. */
const isWhole = (value: Json | undefined, schema: Schema | undefined): boolean =>
  Array.isArray(value) ? !mergesItems(schema) : !isObject(value) || isAtomicMap(schema);

/** Whether two owners cannot both have what they want at a place that one of them owns as a whole. An empty map or list that is merged is no quarrel. */
const quarrel = ([a, b]: Pair, schema: Schema | undefined): boolean => (isWhole(a, schema) || isWhole(b, schema)) && !equal(a, b);

/** The places in both sets at which two values differ, as paths for people (`.spec.ips`). */
export const disputed = (mine: FieldSet, theirs: FieldSet, values: Pair, schema?: Schema): string[] =>
  Object.entries(mine).flatMap(([element, inner]) => {
    const other = theirs[element];
    if (other === undefined || element === '.') return [];
    const pair: Pair = [inside(values[0], element, schema), inside(values[1], element, schema)];
    const within = schemaInside(schema, element);
    if (isLeaf(inner) || isLeaf(other)) return quarrel(pair, within) ? [shown(element)] : [];
    return disputed(inner, other, pair, within).map((path) => shown(element) + path);
  });

/** The value without the fields of a set. Members that are left empty by it go too. */
export const without = (value: Json | undefined, set: FieldSet, schema: Schema | undefined): Json | undefined => {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const inner = set[elementOf(item, schema)];
      if (inner === undefined) return [item];
      if (isLeaf(inner) || inner['.'] !== undefined) return [];
      const left = without(item, inner, schema?.items);
      return left === undefined ? [] : [left];
    });
  }
  if (!isObject(value)) return value;
  const result: JsonObject = { ...value };
  for (const [element, inner] of Object.entries(set)) {
    const key = element.slice(2);
    if (!element.startsWith('f:') || result[key] === undefined) continue;
    const left = isLeaf(inner) ? undefined : without(result[key], inner, schemaInside(schema, element));
    if (left === undefined || (isObject(left) && Object.keys(left).length === 0)) delete result[key];
    else result[key] = left;
  }
  return result;
};
