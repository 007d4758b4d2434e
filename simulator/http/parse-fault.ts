import { type Fields, fieldsOf, flag, integer, isFields, text } from './body.ts';
import type { AnyEffect, FaultMatch, FaultSpec, HttpEffect } from './faults.ts';
import { Refusal } from './refusal.ts';

/** How an effect is read from JSON, by its kind. */
export type EffectReaders<E extends AnyEffect> = { readonly [K in E['kind']]: (body: Fields) => Extract<E, { kind: K }> };

/** Those of any API over HTTP. */
export const httpEffects: EffectReaders<HttpEffect> = {
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
  dripBody: (body) => ({ kind: 'dripBody', ms: number(body, 'ms') }),
  closeConnection: () => ({ kind: 'closeConnection' }),
  clockOff: (body) => ({ kind: 'clockOff', ms: number(body, 'ms') }),
  needsUserAgent: () => ({ kind: 'needsUserAgent' }),
  truncatePages: (body) => ({ kind: 'truncatePages', how: text(body, 'how') === 'missingRest' ? 'missingRest' : 'invalidJson' }),
};

/** Reads a fault as a control route receives it. @throws Refusal 400 that names what is wrong */
export function parseFault<E extends AnyEffect>(readers: Readonly<Record<string, (body: Fields) => E>>, body: Fields): FaultSpec<E> {
  const kind = text(body, 'kind') ?? '';
  const read = Object.hasOwn(readers, kind) ? readers[kind] : undefined;
  if (read === undefined) throw new Refusal(400, `kind must be one of ${Object.keys(readers).join(', ')}.`);
  const [after, times] = [integer(body, 'after'), integer(body, 'times')];
  return {
    ...read(body),
    ...(isFields(body.match) ? { match: parseMatch(body.match) } : {}),
    ...(after === undefined ? {} : { after }),
    ...(times === undefined ? {} : { times }),
  };
}

function parseMatch(value: Fields): FaultMatch {
  const method = text(value, 'method');
  const path = text(value, 'path');
  return { ...(method === undefined ? {} : { method }), ...(path === undefined ? {} : { path }) };
}

/** @throws Refusal 400 */
export function number(body: Fields, name: string): number {
  const value = body[name];
  if (typeof value !== 'number') throw new Refusal(400, `${name} must be a number.`);
  return value;
}

function stringMap(value: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, one]) => [name, String(one)]));
}
