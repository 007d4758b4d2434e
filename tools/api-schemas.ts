/** JSON Schemas as they are kept: without what judges nothing, in one order, each of the larger ones once. */

export type Json = Readonly<Record<string, unknown>>;

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
export const jsonOf = (value: unknown): Json => (isJson(value) ? value : {});
export const sorted = (value: Json): Json => Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
export const mapped = (value: unknown, each: (value: unknown, name: string) => unknown): Json =>
  sorted(Object.fromEntries(Object.entries(jsonOf(value)).map(([name, one]) => [name, each(one, name)])));

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));
const LISTS = words('allOf anyOf oneOf');
const SCHEMAS = words('items not additionalProperties');
const VALUES = words(
  'type format enum pattern required multipleOf uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems',
);
/** What judges nothing. */
const LEFT_OUT = words('title description default deprecated discriminator example examples externalDocs nullable readOnly writeOnly xml');

/** The schema without what judges nothing. @throws Error for a keyword that nobody has thought of */
export function bare(schema: unknown): unknown {
  if (!isJson(schema)) return schema;
  const kept = Object.entries(schema).filter(([name]) => !LEFT_OUT.has(name) && !name.startsWith('x-'));
  return sorted(Object.fromEntries(kept.map(([name, value]) => [name, bareValue(name, value)])));
}

function bareValue(name: string, value: unknown): unknown {
  if (name === 'properties') return mapped(value, bare);
  if (LISTS.has(name) && Array.isArray(value)) return value.map(bare);
  if (SCHEMAS.has(name)) return bare(value);
  if (!VALUES.has(name)) throw new Error(`is the keyword ${name} to be kept?`);
  return value;
}

/** Shorter ones are repeated, in characters. */
const SHORTEST_SHARED = 150;
/** These name no schema. */
const UNNAMED = words('schema items allOf anyOf oneOf additionalProperties not');
const isData = (key: string): boolean => key === 'examples';

interface Sharing {
  readonly value: Json;
  /** By the key under which each was found first. */
  readonly defs: Json;
}

/** `value` with a reference to one place for each object inside of its own that occurs in several. Examples stay as they are. */
export function sharing(value: Json): Sharing {
  const counts = new Map<string, number>();
  const names = new Map<string, string>();
  const defs: Record<string, unknown> = {};

  const count = (one: unknown, key: string): void => {
    if (typeof one !== 'object' || one === null || isData(key)) return;
    const text = JSON.stringify(one);
    const before = counts.get(text) ?? 0;
    counts.set(text, before + 1);
    // What stands inside of something that is shared occurs once.
    if (before === 0) for (const [inner, each] of Object.entries(one)) count(each, inner);
  };
  const inside = (one: Json, name: string): Json =>
    mapped(one, (each, key) => {
      if (key === 'properties') return inside(jsonOf(each), name);
      return isData(key) ? each : referring(each, UNNAMED.has(key) ? name : key);
    });
  const referring = (one: unknown, name: string): unknown => {
    if (Array.isArray(one)) return one.map((each) => referring(each, name));
    if (!isJson(one)) return one;
    const text = JSON.stringify(one);
    if (text.length < SHORTEST_SHARED || counts.get(text) === 1) return inside(one, name);
    const known = names.get(text) ?? freeName(defs, name);
    if (!names.has(text)) {
      names.set(text, known);
      defs[known] = null;
      defs[known] = inside(one, name);
    }
    return { $ref: `#/$defs/${known}` };
  };

  count(value, '');
  return { value: mapped(value, (each, name) => inside(jsonOf(each), name)), defs: sorted(defs) };
}

function freeName(taken: Json, name: string): string {
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name}-${n}`;
    if (!(tried in taken)) return tried;
  }
}
