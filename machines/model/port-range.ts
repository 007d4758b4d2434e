import { refuse } from './parse.ts';

/** Ports from `first` to `last`, both included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export const HIGHEST_PORT = 65_535;

/** The range given as `first-last` or `first+count`. @throws InvalidSpec */
export function portRange(text: string, field: string): PortRange {
  const parts = /^(?<first>[1-9]\d{0,4})(?<sign>[-+])(?<second>\d{1,5})$/.exec(text)?.groups;
  const first = Number(parts?.first);
  const last = parts?.sign === '+' ? first + Number(parts.second) : Number(parts?.second);
  return parts && first <= last && last <= HIGHEST_PORT
    ? { first, last }
    : refuse(`${field} must be first-last or first+count within 1-65535, first not above last, such as 30000-32767; it is "${text}"`);
}

export const isWithin = (port: number, { first, last }: PortRange): boolean => port >= first && port <= last;
