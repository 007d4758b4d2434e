import { type Fields, fieldsOf, integer, isFields, text } from './body.ts';
import type { FaultEffect, FaultMatch, FaultSpec } from './faults.ts';
import { badRequest } from './refusal.ts';

/** Reads a fault from JSON as a control route receives it. @throws Refusal 400 that names what is wrong. */
export function parseFault(body: Fields): FaultSpec {
  const effect = parseEffect(body);
  const times = integer(body, 'times');
  const match = parseMatch(body.match);
  return { ...effect, ...(match === undefined ? {} : { match }), ...(times === undefined ? {} : { times }) };
}

function parseMatch(value: unknown): FaultMatch | undefined {
  if (!isFields(value)) return undefined;
  const method = text(value, 'method');
  const path = text(value, 'path');
  return { ...(method === undefined ? {} : { method }), ...(path === undefined ? {} : { path }) };
}

function number(body: Fields, name: string): number {
  const value = body[name];
  if (typeof value !== 'number') throw badRequest(`${name} must be a number.`);
  return value;
}

const effects: Readonly<Record<string, (body: Fields) => FaultEffect>> = {
  latency: (body) => ({ kind: 'latency', ms: number(body, 'ms') }),
  status: (body) => ({
    kind: 'status',
    code: number(body, 'code'),
    ...('body' in body ? { body: body.body } : {}),
    ...(isFields(body.headers) ? { headers: stringMap(body.headers) } : {}),
  }),
  hang: (body) => ({ kind: 'hang', ...('ms' in body ? { ms: number(body, 'ms') } : {}), applied: body.applied === true }),
  resetBefore: () => ({ kind: 'resetBefore' }),
  resetAfter: () => ({ kind: 'resetAfter' }),
  staleReads: (body) => ({ kind: 'staleReads', ms: number(body, 'ms') }),
  truncatePages: (body) => ({ kind: 'truncatePages', how: text(body, 'how') === 'missingRest' ? 'missingRest' : 'invalidJson' }),
  pendingEvent: () => ({ kind: 'pendingEvent' }),
  actionNotFound: () => ({ kind: 'actionNotFound' }),
  actionErrored: () => ({ kind: 'actionErrored' }),
  slowAction: (body) => ({ kind: 'slowAction', ms: number(body, 'ms') }),
  quota: () => ({ kind: 'quota' }),
};

function parseEffect(body: Fields): FaultEffect {
  const kind = text(body, 'kind') ?? '';
  const parse = Object.hasOwn(effects, kind) ? effects[kind] : undefined;
  if (parse === undefined) throw badRequest(`kind must be one of ${Object.keys(effects).join(', ')}.`);
  return parse(body);
}

function stringMap(value: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, one]) => [name, String(one)]));
}
