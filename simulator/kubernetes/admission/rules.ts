import type { Cause } from '../objects.ts';
import { at, isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import { Expressions } from './expressions.ts';

const listAt = (value: Json | undefined, ...path: string[]): JsonObject[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
};

const required = (field: string): Cause => ({ reason: 'FieldValueRequired', message: 'Required value', field });

const invalidAt = (field: string, value: Json, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  field,
});

const notSupported = (field: string, value: Json, known: readonly string[]): Cause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${known.map((each) => `"${each}"`).join(', ')}`,
  field,
});

/** Fields that a real server has and that change nothing here: better refused than passed over. */
const unknownHere = (holder: Json | undefined, path: string, fields: readonly string[]): Cause[] =>
  fields.flatMap((field): Cause[] => {
    const value = at(holder, field);
    const empty = value === undefined || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
    return empty
      ? []
      : [{ reason: 'FieldValueForbidden', message: 'Forbidden: the simulator does not know this field', field: `${path}.${field}` }];
  });

const oneOf = (field: string, value: Json | undefined, known: readonly string[]): Cause[] =>
  value === undefined || known.includes(String(value)) ? [] : [notSupported(field, value, known)];

const OPERATIONS = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT', '*'];
export const REASONS: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, Invalid: 422, RequestEntityTooLarge: 413 };

const constraintCauses = (spec: Json | undefined): Cause[] => {
  const path = 'spec.matchConstraints';
  const rules = listAt(spec, 'matchConstraints', 'resourceRules');
  if (rules.length === 0) return [required(`${path}.resourceRules`)];
  const others = unknownHere(at(spec, 'matchConstraints'), path, ['namespaceSelector', 'objectSelector', 'excludeResourceRules']);
  const ofRules = rules.flatMap((rule, index) => {
    const here = `${path}.resourceRules[${index}]`;
    const missing = ['apiGroups', 'apiVersions', 'operations', 'resources'].filter((field) => !Array.isArray(rule[field]));
    const operations = Array.isArray(rule.operations) ? rule.operations : [];
    return [
      ...missing.map((field) => required(`${here}.${field}`)),
      ...operations.flatMap((operation, nth) => oneOf(`${here}.operations[${nth}]`, operation, OPERATIONS)),
    ];
  });
  return [...others, ...ofRules];
};

const expressionCause = (compiled: unknown, field: string, expression: Json | undefined): Cause[] => {
  if (typeof expression !== 'string' || expression.trim() === '') return [required(field)];
  return typeof compiled === 'string' ? [invalidAt(field, expression, `compilation failed: ${compiled}`)] : [];
};

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const validationCauses = (expressions: Expressions, validation: JsonObject, path: string): Cause[] => {
  const { expression, messageExpression, reason } = validation;
  const message = messageExpression === undefined ? null : expressions.compile(textOf(messageExpression), 'string');
  return [
    ...expressionCause(expressions.compile(textOf(expression), 'bool'), `${path}.expression`, expression),
    ...(message === null ? [] : expressionCause(message, `${path}.messageExpression`, messageExpression)),
    ...oneOf(`${path}.reason`, reason, Object.keys(REASONS)),
  ];
};

/** The rules of a ValidatingAdmissionPolicy: whatever of it could not be evaluated here is refused. */
export const policyCauses = (policy: KubeObject): Cause[] => {
  const { spec } = policy;
  const expressions = new Expressions();
  const conditions = listAt(spec, 'matchConditions').flatMap(({ expression }, index) =>
    expressionCause(expressions.compile(textOf(expression), 'bool'), `spec.matchConditions[${index}].expression`, expression),
  );
  const variables = listAt(spec, 'variables').flatMap(({ name, expression }, index) => {
    const path = `spec.variables[${index}]`;
    if (!/^[A-Za-z_]\w*$/.test(textOf(name))) return [invalidAt(`${path}.name`, textOf(name), 'name is not a valid CEL identifier')];
    return expressionCause(expressions.declare(textOf(name), textOf(expression)), `${path}.expression`, expression);
  });
  const validations = listAt(spec, 'validations');
  return [
    ...constraintCauses(spec),
    ...unknownHere(spec, 'spec', ['paramKind', 'auditAnnotations']),
    ...oneOf('spec.failurePolicy', at(spec, 'failurePolicy'), ['Fail', 'Ignore']),
    ...conditions,
    ...variables,
    ...(validations.length === 0 ? [required('spec.validations')] : []),
    ...validations.flatMap((validation, index) => validationCauses(expressions, validation, `spec.validations[${index}]`)),
  ];
};

/** The rules of a ValidatingAdmissionPolicyBinding. */
export const bindingCauses = ({ spec }: KubeObject): Cause[] => {
  const actions = at(spec, 'validationActions');
  const known = ['Deny', 'Warn', 'Audit'];
  return [
    ...(textOf(at(spec, 'policyName')) === '' ? [required('spec.policyName')] : []),
    ...(Array.isArray(actions) && actions.length > 0 ? [] : [required('spec.validationActions')]),
    ...(Array.isArray(actions) ? actions.flatMap((action, index) => oneOf(`spec.validationActions[${index}]`, action, known)) : []),
    ...unknownHere(spec, 'spec', ['paramRef', 'matchResources']),
  ];
};
