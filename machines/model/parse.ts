import { isFields, type Toleration } from './types.ts';

/** What is wrong with a spec, in the words shown in its status. */
export class InvalidSpec extends Error {}

/** The spec itself may be valid: its provider has no credentials. */
export class CredentialsMissing extends InvalidSpec {
  constructor(provider: string, missing: string) {
    super(`provider "${provider}" has no credentials: ${missing}`);
  }
}

/** The reason, where the spec is not the cause. */
export const reasonFor = (error: InvalidSpec): { readonly reason?: 'CredentialsNotFound' } =>
  error instanceof CredentialsMissing ? { reason: 'CredentialsNotFound' } : {};

export const refuse = (text: string): never => {
  throw new InvalidSpec(text);
};

export function asRecord(value: unknown, field: string): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : refuse(`${field} must be an object`);
}

export function list(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : refuse(`${field} must be a list`);
}

export function text(value: unknown, field: string): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : refuse(`${field} must be a string`);
}

export function number(value: unknown, field: string, fits: (value: number) => boolean): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && value >= 0 && fits(value) ? value : refuse(`${field} must be a number, 0 or more`);
}

/** Timers and dates have limits; a longer wait is of no use. */
const LONGEST_SECONDS = 31_536_000;

/** A time given in seconds, fractions allowed; 0 when absent. @throws InvalidSpec */
export function milliseconds(value: unknown, field: string): number {
  const seconds = number(value, field, Number.isFinite);
  return seconds > LONGEST_SECONDS ? refuse(`${field} must be at most 31536000, a year`) : seconds * 1000;
}

/** API servers keep objects stored before the limit existed, and enforce none where the installed CRD differs. @throws InvalidSpec */
export const atMost = (found: number, most: number, field: string, what: string, advice: string): void => {
  if (found > most) refuse(`${field} has ${found} ${what}, and at most ${most} are allowed: ${advice}`);
};

/** @throws InvalidSpec */
export function tolerations(value: unknown, field: string, most: number): readonly Toleration[] {
  const given = list(value, field);
  atMost(given.length, most, field, 'entries', 'take out those that no node bears');
  return given.map((entry) => {
    const raw = asRecord(entry, field);
    const named = (name: keyof Toleration) => text(raw[name], `${field}.${name}`);
    return { key: named('key'), operator: named('operator'), value: named('value'), effect: named('effect') };
  });
}

/** 1 when it is absent. @throws InvalidSpec */
export function atLeastOne(raw: unknown, field: string): number {
  if (raw === undefined || raw === null) return 1;
  return typeof raw === 'number' && Number.isSafeInteger(raw) && raw >= 1 ? raw : refuse(`${field} must be a whole number of 1 or more`);
}
