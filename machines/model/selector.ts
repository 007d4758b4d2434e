import { memo } from './memo.ts';

/** One condition on labels. `exists` and `missing` have no values. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'missing';
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const PREFIX_LENGTH = 253;
const SET = /^(?<key>\S+)\s+(?<operator>in|notin)\s*\((?<values>[^()]*)\)$/;
const EQUALITY = /^(?<key>[^\s=!]+)\s*(?<operator>==|=|!=)\s*(?<value>[^\s=!]*)$/;

/** Each is evaluated for every Node or Pod: no hand-written selector has that many. */
const MOST_REQUIREMENTS = 100;
/** From this size on, a linear search takes longer than a set. */
const MANY_VALUES = 10;

/** The requirements of a Kubernetes label selector in its text form, equality (`a=b`, `a==b`, `a!=b`) and set based (`a in (b,c)`, `a notin (b)`, `a`, `!a`).
 *  Empty text selects everything. @throws SyntaxError naming the part that is wrong */
export function parseSelector(text: string): readonly Requirement[] {
  const parts = split(text);
  if (parts.length > MOST_REQUIREMENTS) throw new SyntaxError(`${parts.length} conditions, and at most ${MOST_REQUIREMENTS} are looked at`);
  return parts.map(requirement);
}

/** Whether labels meet every requirement. As in Kubernetes, `!=` and `notin` hold for a label that is absent. */
export const selects = (requirements: readonly Requirement[], labels: Labels): boolean =>
  requirements.every((requirement) => meets(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined));

function meets({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && isAmong(value, values);
    case 'notin':
      return value === undefined || !isAmong(value, values);
    case 'exists':
      return value !== undefined;
    case 'missing':
      return value === undefined;
  }
}

const isAmong = (value: string, values: readonly string[]): boolean =>
  values.length > MANY_VALUES ? setOf(values).has(value) : values.includes(value);

const setOf = memo((values: readonly string[]) => new Set(values));

/** Splits at the commas outside parentheses. */
function split(text: string): string[] {
  if (text.trim() === '') return [];
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const char of text) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (char === ',' && depth === 0) {
      parts.push(part.trim());
      part = '';
    } else part += char;
  }
  if (depth !== 0) throw new SyntaxError(`unbalanced parentheses in "${text}"`);
  return [...parts, part.trim()];
}

function requirement(part: string): Requirement {
  const set = SET.exec(part)?.groups;
  if (set) {
    const values = (set.values ?? '').split(',').map((value) => value.trim());
    // The API server rejects an empty set: a watch with such a selector would never start.
    if (values.length === 1 && values[0] === '') throw new SyntaxError(`no values are given, in "${part}"`);
    return checked({ key: set.key ?? '', operator: set.operator === 'in' ? 'in' : 'notin', values }, part);
  }
  const equality = EQUALITY.exec(part)?.groups;
  if (equality)
    return checked(
      { key: equality.key ?? '', operator: equality.operator === '!=' ? 'notin' : 'in', values: [equality.value ?? ''] },
      part,
    );
  if (part.startsWith('!')) return checked({ key: part.slice(1).trim(), operator: 'missing', values: [] }, part);
  return checked({ key: part, operator: 'exists', values: [] }, part);
}

const isPrefix = (text: string): boolean => text.length <= PREFIX_LENGTH && PREFIX.test(text);

/** @throws SyntaxError naming the part with the invalid key or value */
export function checked(found: Requirement, part: string): Requirement {
  const slash = found.key.indexOf('/');
  const name = found.key.slice(slash + 1);
  if (!NAME.test(name) || (slash >= 0 && !isPrefix(found.key.slice(0, slash))))
    throw new SyntaxError(`"${found.key}" is no label key, in "${part}"`);
  for (const value of found.values) {
    if (value !== '' && !NAME.test(value)) throw new SyntaxError(`"${value}" is no label value, in "${part}"`);
  }
  return found;
}
