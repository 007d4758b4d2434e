import type { Cause } from '../objects.ts';
import { equal, isObject, type Json, type JsonObject } from '../objects.ts';
import { FORMATS } from './formats.ts';
import { child, isIntOrString, mapKeysOf, propertyOf, type Schema } from './schema.ts';

/** The field of a cause that belongs to no field of the object. */
export const NOWHERE = '<nil>';

const printed = (value: Json): string => JSON.stringify(value);

export const invalidAt = (field: string, value: Json, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${printed(value)}: ${why}`,
  field,
});

const wrongType = (field: string, wanted: string, found: string): Cause => ({
  reason: 'FieldValueTypeInvalid',
  message: `Invalid value: ${printed(found)}: ${field} in body must be of type ${wanted}: ${printed(found)}`,
  field,
});

const typeName = (value: Json): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const typeCauses = (value: Json, schema: Schema, path: string): Cause[] => {
  const found = typeName(value);
  if (isIntOrString(schema)) return found === 'integer' || found === 'string' ? [] : [wrongType(path, 'integer,string', found)];
  if (value === null && schema.nullable === true) return [];
  const wanted = schema.type;
  if (wanted === undefined || wanted === '' || wanted === found || (wanted === 'number' && found === 'integer')) return [];
  if (wanted === 'integer' && found === 'number' && schema.format) return [wrongType(path, schema.format, 'double')];
  return [wrongType(path, wanted, found)];
};

/** What the checks of numbers say of a fraction that is to be whole: nothing of where it is. */
const fractionCauses = (value: Json, schema: Schema, path: string): Cause[] => {
  if (schema.type !== 'integer' || typeof value !== 'number' || Number.isInteger(value)) return [];
  const format = schema.format === undefined ? '(default format)' : `with format ${schema.format}`;
  const message = `Invalid value: "": Checked value must be of type integer ${format} in ${path}`;
  return [{ reason: 'FieldValueInvalid', message, field: NOWHERE }];
};

const patterns = new Map<string, RegExp>();

const compiled = (text: string): RegExp => {
  try {
    return new RegExp(text, 'u');
  } catch {
    // Needless escapes, which RE2 takes, are errors in Unicode mode only.
    return new RegExp(text);
  }
};

const patternOf = (text: string): RegExp => {
  const known = patterns.get(text) ?? compiled(text);
  patterns.set(text, known);
  return known;
};

const stringCauses = (value: string, schema: Schema, path: string): Cause[] => {
  const causes: Cause[] = [];
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    const message = `Too long: may not be more than ${schema.maxLength} bytes`;
    causes.push({ reason: 'FieldValueTooLong', message, field: path });
  }
  if (schema.minLength !== undefined && length < schema.minLength) {
    causes.push(invalidAt(path, value, `${path} in body should be at least ${schema.minLength} chars long`));
  }
  if (schema.pattern !== undefined && !patternOf(schema.pattern).test(value)) {
    causes.push(invalidAt(path, value, `${path} in body should match '${schema.pattern}'`));
  }
  const format = schema.format === undefined ? undefined : FORMATS[schema.format];
  if (format && !format(value)) causes.push(invalidAt(path, value, `${path} in body must be of type ${schema.format}: ${printed(value)}`));
  return causes;
};

const numberCauses = (value: number, schema: Schema, path: string): Cause[] => {
  const { minimum, maximum, multipleOf } = schema;
  const causes: Cause[] = [];
  const complain = (why: string): void => void causes.push(invalidAt(path, value, `${path} in body should be ${why}`));
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) complain(`less than ${maximum}`);
    else if (value > maximum) complain(`less than or equal to ${maximum}`);
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) complain(`greater than ${minimum}`);
    else if (value < minimum) complain(`greater than or equal to ${minimum}`);
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) complain(`a multiple of ${multipleOf}`);
  return causes;
};

const tooMany = (field: string, found: number, max: number): Cause => ({
  reason: 'FieldValueTooMany',
  message: `Too many: ${found}: must have at most ${max} items`,
  field,
});

const oldItem = (schema: Schema, item: Json, index: number, old: Json | undefined): Json | undefined => {
  if (!Array.isArray(old)) return undefined;
  const keys = mapKeysOf(schema);
  if (!keys) return old[index];
  return old.find((other) => isObject(other) && isObject(item) && keys.every((key) => equal(other[key], item[key])));
};

const arrayCauses = (value: readonly Json[], schema: Schema, path: string, old: Json | undefined): Cause[] => {
  const causes: Cause[] = [];
  const { items, minItems, maxItems } = schema;
  if (minItems !== undefined && value.length < minItems) {
    causes.push(invalidAt(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && value.length > maxItems) causes.push(tooMany(path, value.length, maxItems));
  if (schema.uniqueItems === true && value.some((item, index) => value.findIndex((other) => equal(other, item)) < index)) {
    causes.push(invalidAt(path, [...value], `${path} in body shouldn't contain duplicates`));
  }
  if (items) {
    for (const [index, item] of value.entries()) {
      causes.push(...valueCauses(item, items, child(path, index), oldItem(schema, item, index, old)));
    }
  }
  return causes;
};

const objectCauses = (value: JsonObject, schema: Schema, path: string, old: Json | undefined): Cause[] => {
  const causes: Cause[] = [];
  const count = Object.keys(value).length;
  const { minProperties, maxProperties } = schema;
  if (minProperties !== undefined && count < minProperties) {
    causes.push(invalidAt(path, count, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && count > maxProperties) causes.push(tooMany(path, count, maxProperties));
  for (const [key, item] of Object.entries(value)) {
    const property = propertyOf(schema, key);
    if (property && item !== undefined) {
      causes.push(...valueCauses(item, property, child(path, key), isObject(old) ? old[key] : undefined));
    }
  }
  for (const name of schema.required ?? []) {
    if (value[name] === undefined) causes.push({ reason: 'FieldValueRequired', message: 'Required value', field: child(path, name) });
  }
  return causes;
};

const enumCauses = (value: Json, schema: Schema, path: string): Cause[] => {
  const allowed = schema.enum;
  if (!allowed || allowed.some((one) => equal(one, value)) || (value === null && schema.nullable === true)) return [];
  const values = allowed.map((one) => printed(typeof one === 'string' ? one : JSON.stringify(one))).join(', ');
  return [{ reason: 'FieldValueNotSupported', message: `Unsupported value: ${printed(value)}: supported values: ${values}`, field: path }];
};

const ofNoField = (why: string): Cause => invalidAt(NOWHERE, '', why);

/** How many schemas look at something of the value: the alternative of the most is what was meant. */
const depthOf = (value: Json, schema: Schema): number => {
  if (!isObject(value)) return 1;
  return Object.entries(value).reduce((sum, [key, item]) => {
    const property = propertyOf(schema, key);
    return property && item !== undefined ? sum + depthOf(item, property) : sum;
  }, 1);
};

/** What the alternative lacks that comes closest. */
const bestFailure = (value: Json, alternatives: readonly Schema[], path: string): Cause[] => {
  const [best] = [...alternatives].sort((one, other) => depthOf(value, other) - depthOf(value, one));
  return best ? valueCauses(value, best, path, undefined) : [];
};

const combinationCauses = (value: Json, schema: Schema, path: string): Cause[] => {
  const holds = (one: Schema): boolean => valueCauses(value, one, path, undefined).length === 0;
  const causes: Cause[] = [];
  const { anyOf, oneOf, allOf = [], not } = schema;
  if (anyOf && !anyOf.some(holds)) {
    causes.push(ofNoField(`"${path}" must validate at least one schema (anyOf)`), ...bestFailure(value, anyOf, path));
  }
  if (oneOf) {
    const count = oneOf.filter(holds).length;
    const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
    if (count !== 1) causes.push(ofNoField(`"${path}" must validate one and only one schema (oneOf). ${found}`));
    if (count === 0) causes.push(...bestFailure(value, oneOf, path));
  }
  causes.push(...allOf.flatMap((one) => valueCauses(value, one, path, undefined)));
  const all = allOf.filter(holds).length;
  if (all < allOf.length) causes.push(ofNoField(`"${path}" must validate all the schemas (allOf)${all === 0 ? '. None validated' : ''}`));
  if (not && holds(not)) causes.push(ofNoField(`"${path}" must not validate the schema (not)`));
  return causes;
};

const ownCauses = (value: Json, schema: Schema, path: string, old: Json | undefined): Cause[] => {
  if (typeof value === 'string') return stringCauses(value, schema, path);
  if (typeof value === 'number') return numberCauses(value, schema, path);
  if (Array.isArray(value)) return arrayCauses(value, schema, path, old);
  return isObject(value) ? objectCauses(value, schema, path, old) : [];
};

/** The rules of the schema that the value breaks. What is the same as in `old` is let be, whatever it breaks. Kubernetes: Extend the API with CRDs, "Validation", "Validation ratcheting". */
export const valueCauses = (value: Json, schema: Schema, path: string, old: Json | undefined): Cause[] => {
  if (old !== undefined && equal(value, old)) return [];
  const wrong = typeCauses(value, schema, path);
  if (wrong.length > 0 || value === null) return [...wrong, ...fractionCauses(value, schema, path)];
  return [...combinationCauses(value, schema, path), ...ownCauses(value, schema, path, old), ...enumCauses(value, schema, path)];
};
