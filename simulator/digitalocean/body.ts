import type { Fields } from '../http/body.ts';
import { unprocessable } from './refusal.ts';

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
