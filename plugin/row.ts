import { age } from './table.ts';

/** Where one address, or one record of DNS, is and why. */
export interface Row {
  /** Singular and in lower case, as kubectl takes it. */
  readonly kind: 'floatingippool' | 'routedip' | 'nodednsrecordset' | 'ip' | 'service';
  /** Empty for what belongs to no namespace. */
  readonly namespace: string;
  readonly name: string;
  /** Null while there is none yet. For a record, its name. */
  readonly address: string | null;
  /** Node, Service, or other holder; null for none. */
  readonly where: string | null;
  readonly state: string;
  readonly since: Since | null;
  /** Reason from the object's conditions, documented in docs/conditions.md. */
  readonly reason: string;
  /** Text for users; empty when there is no more to say. */
  readonly message: string;
  readonly next: Next | null;
  /** Something is wrong or unknown. */
  readonly attention: boolean;
}

/** `exact`, or else `at` is the latest possible time: a pool records one time for all its addresses. */
export interface Since {
  readonly at: string;
  readonly exact: boolean;
}

/** What the operator does next by itself, and when; `at` is null when that depends on a change of the world. */
export interface Next {
  readonly what: 'retry' | 'move' | 'resume' | 'paused';
  readonly at: string | null;
}

const WORDS: Readonly<Record<Next['what'], (left: string | null) => string>> = {
  retry: (left) => (left === null ? 'waits for a change' : `retry ${left}`),
  move: (left) => (left === null ? 'stays, held' : `moves ${left}`),
  resume: (left) => `goes on${left === null ? '' : ` ${left}`}`,
  paused: () => 'nothing, paused',
};

/** `5m`, or `5m+` for at least that long. */
export const sinceText = (since: Since | null, now: number): string =>
  since === null ? '' : `${age(now - Date.parse(since.at))}${since.exact ? '' : '+'}`;

export function nextText(next: Next | null, now: number): string {
  if (next === null) return '';
  if (next.at === null) return WORDS[next.what](null);
  const left = Date.parse(next.at) - now;
  return WORDS[next.what](left < 1000 ? 'now' : `in ${age(left)}`);
}
