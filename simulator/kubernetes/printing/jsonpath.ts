import { isObject, type Json } from '../objects.ts';

type Step = (values: readonly Json[]) => Json[];

const members = (value: Json): Json[] => {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value).filter((one) => one !== undefined) : [];
};

const field =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => {
      const found = isObject(value) ? value[name] : undefined;
      return found === undefined ? [] : [found];
    });

const bound = (text: string): number | undefined => (text === '' ? undefined : Number(text));

const cut = (list: readonly Json[], from: string, to: string | undefined): Json[] => {
  if (to !== undefined) return list.slice(bound(from), bound(to));
  const item = list.at(Number(from));
  return item === undefined ? [] : [item];
};

const slice = (text: string): Step => {
  const [from = '', to] = text.split(':');
  return (values) => values.flatMap((value) => (Array.isArray(value) ? cut(value, from, to) : []));
};

const FILTER = /^\?\(\s*@((?:\.[^=!<>\s]+)?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)$/;

const literal = (text: string): Json => {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  if (quoted) return quoted[2] ?? '';
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
};

const compare = (left: Json, operator: string, right: Json): boolean => {
  switch (operator) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return (left ?? 0) < (right ?? 0);
    case '>':
      return (left ?? 0) > (right ?? 0);
    case '<=':
      return (left ?? 0) <= (right ?? 0);
    default:
      return (left ?? 0) >= (right ?? 0);
  }
};

const filter = (text: string): Step => {
  const match = FILTER.exec(text);
  if (!match) return () => [];
  const path = jsonPath(match[1] ?? '');
  const wanted = literal(match[3] ?? '');
  return (values) =>
    values.flatMap(members).filter((value) => {
      const [found] = path(value);
      return found !== undefined && (match[2] === undefined || compare(found, match[2], wanted));
    });
};

const NAME = /(["'])(.*?)\1/g;

/** What `['a','b']` stands for: all values of the first name, then those of the second. */
const union =
  (steps: readonly Step[]): Step =>
  (values) =>
    steps.flatMap((step) => step(values));

const bracketed = (inner: string): Step => {
  const text = inner.trim();
  if (text === '*') return (values) => values.flatMap(members);
  if (text.startsWith('?')) return filter(text);
  const names = [...text.matchAll(NAME)];
  return names.length > 0 ? union(names.map(([, , name = '']) => field(name.replaceAll('\\.', '.')))) : slice(text);
};

const TOKEN = /\.\.|\.?\*|\.?\[((?:"[^"]*"|'[^']*'|[^\]"'])*)\]|\.?((?:\\.|[^.[\]\\])+)/gy;

/** A path as printer columns have it (`.status.conditions[?(@.type=="Ready")].status`); calling it gives all values found. Recursive descent is not supported. */
export const jsonPath = (text: string): ((value: Json) => Json[]) => {
  const bare = text
    .trim()
    .replace(/^\{(.*)\}$/, '$1')
    .replace(/^\$/, '');
  const steps = [...bare.matchAll(TOKEN)].map(([token, inner, name]): Step => {
    if (inner !== undefined) return bracketed(inner);
    if (name !== undefined) return field(name.replaceAll('\\', ''));
    return token.endsWith('*') ? (values) => values.flatMap(members) : (values) => [...values];
  });
  return (value) => steps.reduce<Json[]>((values, step) => step(values), [value]);
};
