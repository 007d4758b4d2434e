import { type Fields, fieldsOf, flag, integer, isFields, text } from './body.ts';
import type { FaultEffect, FaultMatch, FaultSpec } from './faults.ts';
import { invalid } from './refusal.ts';

/** Reads a fault from JSON as a control route receives it. @throws Refusal 400 that names what is wrong. */
export function parseFault(body: Fields): FaultSpec {
  const times = integer(body, 'times');
  return {
    ...parseEffect(body),
    ...(isFields(body.match) ? { match: parseMatch(body.match) } : {}),
    ...(times === undefined ? {} : { times }),
  };
}

function parseMatch(value: Fields): FaultMatch {
  const method = text(value, 'method');
  const path = text(value, 'path');
  return { ...(method === undefined ? {} : { method }), ...(path === undefined ? {} : { path }) };
}

const effects: Readonly<Record<string, (body: Fields) => FaultEffect>> = {
  latency: (body) => ({ kind: 'latency', ms: number(body, 'ms') }),
  status: (body) => ({
    kind: 'status',
    code: number(body, 'code'),
    ...('body' in body ? { body: body.body } : {}),
    ...(isFields(body.headers) ? { headers: stringMap(body.headers) } : {}),
  }),
  hang: (body) => ({ kind: 'hang', ...('ms' in body ? { ms: number(body, 'ms') } : {}), applied: flag(body, 'applied') ?? false }),
  resetBefore: () => ({ kind: 'resetBefore' }),
  resetAfter: () => ({ kind: 'resetAfter' }),
  truncatePages: (body) => ({ kind: 'truncatePages', how: text(body, 'how') === 'missingRest' ? 'missingRest' : 'invalidJson' }),
};

function parseEffect(body: Fields): FaultEffect {
  const kind = text(body, 'kind') ?? '';
  const parse = Object.hasOwn(effects, kind) ? effects[kind] : undefined;
  if (parse === undefined) throw invalid(1000, `kind must be one of ${Object.keys(effects).join(', ')}.`);
  return parse(body);
}

function number(body: Fields, name: string): number {
  const value = body[name];
  if (typeof value !== 'number') throw invalid(1000, `${name} must be a number.`);
  return value;
}

function stringMap(value: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, one]) => [name, String(one)]));
}
