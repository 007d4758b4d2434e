import { isIP } from 'node:net';
import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import type { Cause } from '../objects.ts';
import { equal, isObject, type Json, type JsonObject } from '../objects.ts';
import { FORMATS } from './formats.ts';
import { child, isIntOrString, mapKeysOf, propertyOf, type Schema } from './schema.ts';
import { NOWHERE } from './values.ts';

interface Rule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** `environment` with the functions that the API server adds to the language, as far as anybody here needs them. */
export const withFunctions = (environment: Environment): Environment =>
  environment
    .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0)
    .registerFunction('isCIDR(string): bool', (text: string) => FORMATS.cidr?.(text) ?? false)
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) => text.charAt(Number(index)))
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) => text.replaceAll(from, to));

const environment = withFunctions(
  new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true, homogeneousAggregateLiterals: false }),
);

const programs = new Map<string, ParseResult>();

const programOf = (expression: string): ParseResult => {
  const known = programs.get(expression) ?? environment.parse(expression);
  programs.set(expression, known);
  return known;
};

/** Why an expression does not parse, or undefined. */
export const syntaxErrorOf = (expression: string): string | undefined => {
  try {
    programOf(expression);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

const ESCAPES: readonly [string, string][] = [
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
];

/** The name of a property in an expression. Kubernetes: Extend the API with CRDs, "Validation rules", escaping. */
const escaped = (name: string): string => {
  if (KEYWORDS.has(name)) return `__${name}__`;
  return ESCAPES.reduce((text, [from, to]) => text.replaceAll(from, to), name);
};

/** The value as CEL sees it: integers are BigInt, timestamps are dates, undeclared parts are dynamic. */
export const celValue = (value: Json | undefined, schema: Schema | undefined): unknown => {
  if (typeof value === 'number') return schema?.type === 'number' || !Number.isInteger(value) ? value : BigInt(value);
  if (typeof value === 'string') return schema?.format === 'date-time' && schema.type === 'string' ? new Date(value) : value;
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema?.items));
  if (!isObject(value)) return value;
  const fixed = schema?.properties !== undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fixed ? escaped(key) : key, celValue(item, schema && propertyOf(schema, key))]),
  );
};

const evaluate = (expression: string, context: Record<string, unknown>): unknown => programOf(expression)(context);

const REASONS: Readonly<Record<string, string>> = {
  FieldValueInvalid: 'Invalid value',
  FieldValueForbidden: 'Forbidden',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
};

const messageOf = (rule: Rule, context: Record<string, unknown>): string => {
  if (rule.messageExpression) {
    try {
      const text = evaluate(rule.messageExpression, context);
      if (typeof text === 'string' && text.trim() !== '') return text;
    } catch {
      // The API server falls back on the fixed message too when the expression fails.
    }
  }
  return rule.message ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`;
};

const causeOf = (rule: Rule, value: Json, schema: Schema, path: string, why: string): Cause => {
  const reason = rule.reason ?? 'FieldValueInvalid';
  const field = rule.fieldPath ? `${path}${rule.fieldPath}`.replace(/^\./, '') : path || NOWHERE;
  // A whole object is not shown.
  const isShown = !['object', 'array'].includes(schema.type ?? 'object') && ['FieldValueInvalid', 'FieldValueDuplicate'].includes(reason);
  return { reason, message: `${REASONS[reason] ?? 'Invalid value'}${isShown ? `: ${JSON.stringify(value)}` : ''}: ${why}`, field };
};

const failure = (error: unknown): string => (error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));

/** Transition rules wait for an old value; the others let an unchanged value be, whatever it breaks (ratcheting). */
const applies = (rule: Rule, value: Json, old: Json | undefined): boolean => {
  if (/\boldSelf\b/.test(rule.rule)) return old !== undefined || rule.optionalOldSelf === true;
  return old === undefined || !equal(value, old);
};

const ruleCauses = (rule: Rule, value: Json, old: Json | undefined, schema: Schema, path: string): Cause[] => {
  if (!applies(rule, value, old)) return [];
  const context = { self: celValue(value, schema), oldSelf: celValue(old, schema) };
  try {
    return evaluate(rule.rule, context) === true ? [] : [causeOf(rule, value, schema, path, messageOf(rule, context))];
  } catch (error) {
    const type = JSON.stringify(schema.type ?? 'object');
    const message = `Invalid value: ${type}: ${failure(error)} evaluating rule: ${rule.message?.trim() ?? rule.rule}`;
    return [{ reason: 'FieldValueInvalid', message, field: path || NOWHERE }];
  }
};

export const rulesOf = (schema: Schema): Rule[] => {
  const rules = schema['x-kubernetes-validations'];
  return Array.isArray(rules) ? (rules as unknown as Rule[]) : [];
};

/** Which item of the old list an item is compared with: transition rules see items of map lists only. */
const oldItem = (schema: Schema, item: Json, old: Json | undefined): Json | undefined => {
  const keys = mapKeysOf(schema);
  if (!keys || !Array.isArray(old)) return undefined;
  return old.find((other) => isObject(other) && isObject(item) && keys.every((key) => equal(other[key], item[key])));
};

const itemCauses = (value: readonly Json[], old: Json | undefined, schema: Schema, path: string): Cause[] => {
  const { items } = schema;
  return items ? value.flatMap((item, index) => celCauses(item, oldItem(schema, item, old), items, child(path, index))) : [];
};

const memberCauses = (value: JsonObject, old: Json | undefined, schema: Schema, path: string): Cause[] =>
  Object.entries(value).flatMap(([key, item]) => {
    const property = propertyOf(schema, key);
    const step = schema.properties?.[key] ? child(path, key) : `${path}[${key}]`;
    return property ? celCauses(item, isObject(old) ? old[key] : undefined, property, step) : [];
  });

/** The `x-kubernetes-validations` that the value breaks, here and below. */
export const celCauses = (value: Json | undefined, old: Json | undefined, schema: Schema, path: string): Cause[] => {
  if (value === undefined || value === null || isIntOrString(schema)) return [];
  const causes = rulesOf(schema).flatMap((rule) => ruleCauses(rule, value, old, schema, path));
  if (Array.isArray(value)) return [...causes, ...itemCauses(value, old, schema, path)];
  return isObject(value) ? [...causes, ...memberCauses(value, old, schema, path)] : causes;
};
