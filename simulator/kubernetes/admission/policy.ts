import { randomUUID } from 'node:crypto';
import type { ParseResult } from '@marcbachmann/cel-js';
import { at, isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import { celValue } from '../schema/cel.ts';
import type { User } from '../users.ts';
import type { Asked, Attributes } from './attributes.ts';
import { Expressions, firstLine } from './expressions.ts';

interface Validation {
  source: string;
  expression: ParseResult;
  message: string;
  messageExpression: ParseResult | undefined;
  reason: string;
}

export interface Violation {
  message: string;
  reason: string;
}

type Context = Record<string, unknown>;

const listAt = (value: Json | undefined, ...path: string[]): JsonObject[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
};

const stringsOf = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(String) : []);
const covers = (listed: string[], wanted: string): boolean => listed.includes('*') || listed.includes(wanted);

// A rule names pods, pods/status, pods/*, */status or */*; a star alone means no subresource.
const coversResource = (listed: string[], plural: string, subresource: string | undefined): boolean => {
  const names = subresource === undefined ? ['*', '*/*', plural] : ['*/*', `${plural}/*`, `*/${subresource}`, `${plural}/${subresource}`];
  return names.some((name) => listed.includes(name));
};

const inScope = (scope: Json | undefined, { namespaced }: Resource): boolean =>
  scope === undefined || scope === '*' || scope === (namespaced ? 'Namespaced' : 'Cluster');

const requestOf = ({ operation, resource, object, old }: Attributes, { subresource = '', dryRun = false }: Asked, user: User): Context => {
  const { group, version, kind, plural, namespaced } = resource;
  const { name = '', namespace = '' } = (object ?? old)?.metadata ?? {};
  const kindOf = { group, version, kind };
  const resourceOf = { group, version, resource: plural };
  return {
    uid: randomUUID(),
    kind: kindOf,
    resource: resourceOf,
    subResource: subresource,
    requestKind: kindOf,
    requestResource: resourceOf,
    requestSubResource: subresource,
    name,
    namespace: namespaced ? namespace : '',
    operation,
    userInfo: { uid: '', ...user },
    dryRun,
  };
};

/** A ValidatingAdmissionPolicy that was accepted, ready to be asked. */
export class Policy {
  readonly #rules: JsonObject[];
  readonly #fails: boolean;
  readonly #conditions: ParseResult[];
  readonly #variables: { name: string; expression: ParseResult }[];
  readonly #validations: Validation[];

  /** @throws Error for an expression that cannot be compiled, which the policy's own rules refuse before. */
  constructor({ spec }: KubeObject) {
    const expressions = new Expressions();
    const compiled = (program: string | ParseResult): ParseResult => {
      if (typeof program === 'string') throw new Error(program);
      return program;
    };
    this.#rules = listAt(spec, 'matchConstraints', 'resourceRules');
    this.#fails = at(spec, 'failurePolicy') !== 'Ignore';
    this.#conditions = listAt(spec, 'matchConditions').map(({ expression }) => compiled(expressions.compile(String(expression))));
    this.#variables = listAt(spec, 'variables').map(({ name, expression }) => ({
      name: String(name),
      expression: compiled(expressions.declare(String(name), String(expression))),
    }));
    this.#validations = listAt(spec, 'validations').map(({ expression, message, messageExpression, reason }) => ({
      source: String(expression),
      expression: compiled(expressions.compile(String(expression))),
      message: typeof message === 'string' ? message.trim() : '',
      messageExpression: messageExpression === undefined ? undefined : compiled(expressions.compile(String(messageExpression))),
      reason: typeof reason === 'string' ? reason : 'Invalid',
    }));
  }

  /** The first rule that the write breaks, or undefined. */
  violation(attributes: Attributes, asked: Asked, user: User): Violation | undefined {
    if (!this.#rules.some((rule) => this.#matches(rule, attributes, asked))) return undefined;
    const context = this.#contextOf(attributes, asked, user);
    try {
      if (!this.#conditions.every((condition) => condition(context) === true)) return undefined;
    } catch (error) {
      return this.#fails ? { message: firstLine(error), reason: 'Invalid' } : undefined;
    }
    for (const validation of this.#validations) {
      const found = this.#broken(validation, context);
      if (found) return found;
    }
    return undefined;
  }

  #matches(rule: JsonObject, { operation, resource, object, old }: Attributes, { subresource }: Asked): boolean {
    const names = stringsOf(rule.resourceNames);
    return (
      covers(stringsOf(rule.operations), operation) &&
      covers(stringsOf(rule.apiGroups), resource.group) &&
      covers(stringsOf(rule.apiVersions), resource.version) &&
      coversResource(stringsOf(rule.resources), resource.plural, subresource) &&
      inScope(rule.scope, resource) &&
      (names.length === 0 || names.includes((object ?? old)?.metadata.name ?? ''))
    );
  }

  #contextOf(attributes: Attributes, asked: Asked, user: User): Context {
    const context: Context = {
      object: celValue(attributes.object, undefined),
      oldObject: celValue(attributes.old, undefined),
      request: requestOf(attributes, asked, user),
    };
    const variables: Context = {};
    // Each is computed when it is first asked for, so that one that would fail does no harm where it is not.
    for (const { name, expression } of this.#variables) {
      Object.defineProperty(variables, name, { enumerable: true, get: () => expression(context) });
    }
    context.variables = variables;
    return context;
  }

  #broken({ source, expression, message, messageExpression, reason }: Validation, context: Context): Violation | undefined {
    try {
      if (expression(context) === true) return undefined;
    } catch (error) {
      return this.#fails ? { message: `expression '${source}' resulted in error: ${firstLine(error)}`, reason: 'Invalid' } : undefined;
    }
    return { message: composed(messageExpression, context) || message || `failed expression: ${source.trim()}`, reason };
  }
}

/** Empty when there is none, or it fails: then the fixed message is told. */
const composed = (expression: ParseResult | undefined, context: Context): string => {
  try {
    const text = expression?.(context);
    return typeof text === 'string' ? text.trim() : '';
  } catch {
    return '';
  }
};
