import { unprocessable } from './refusal.ts';

/** Readers of a parsed JSON body: each returns the value if it has the type the API asks for, else undefined. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

export function text(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function integer(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' && Number.isInteger(value) ? value : undefined;
}

export function flag(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  return typeof value === 'boolean' ? value : undefined;
}

export function list(fields: Fields, name: string): readonly unknown[] | undefined {
  const value = fields[name];
  return Array.isArray(value) ? value : undefined;
}

export function texts(fields: Fields, name: string): string[] | undefined {
  return list(fields, name)?.map((one) => {
    if (typeof one !== 'string') throw unprocessable(`${name} must be a list of strings.`);
    return one;
  });
}

export function integers(fields: Fields, name: string): number[] | undefined {
  return list(fields, name)?.map((one) => {
    if (typeof one !== 'number' || !Number.isInteger(one)) throw unprocessable(`${name} must be a list of integers.`);
    return one;
  });
}
