import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dereference } from '@apidevtools/json-schema-ref-parser';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';

/** What DigitalOcean's published description says of the calls that the simulator serves: generated/digitalocean.json, by tools/generate-api-schemas.ts. */

export type Schema = Readonly<Record<string, unknown>>;

/** A body as it is described. */
export interface DescribedBody {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, unknown>>;
}

export interface DescribedCall {
  /** The schemas of what stands in the path and in the query, by name. */
  readonly path: Readonly<Record<string, Schema>>;
  readonly query: Readonly<Record<string, Schema>>;
  readonly request?: DescribedBody;
  /** By status, and `default`. */
  readonly answers: Readonly<Record<string, DescribedBody & { readonly headers: readonly string[] }>>;
}

interface Description {
  readonly repository: string;
  readonly commit: string;
  /** By `GET /v2/…/{name}`. */
  readonly calls: Readonly<Record<string, DescribedCall>>;
}

const FILE = join(import.meta.dirname, 'generated/digitalocean.json');
export const description = (await dereference(JSON.parse(readFileSync(FILE, 'utf8')))) as unknown as Description;

export interface FoundCall {
  readonly name: string;
  readonly call: DescribedCall;
  /** What stands in the path, by name. */
  readonly path: Readonly<Record<string, string>>;
}

/** The described call that is made by this method on this path, which may have a query; null when there is none. */
export function callOf(method: string, path: string): FoundCall | null {
  const bare = path.split('?')[0] ?? '';
  for (const [name, call] of Object.entries(description.calls)) {
    const [of, template = ''] = name.split(' ');
    const found = of === method ? new RegExp(`^${template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(bare) : null;
    if (found) return { name, call, path: { ...found.groups } };
  }
  return null;
}

/** What is described of the answer when all goes well. */
export function successOf(name: string): DescribedBody {
  return Object.entries(description.calls[name]?.answers ?? {}).find(([status]) => status < '3')?.[1] ?? {};
}

const ajv = formats.default(new Ajv({ strict: false, allErrors: true, unicodeRegExp: false }));
/** Of what stands in a URL everything is text. */
const ajvOfTexts = formats.default(new Ajv({ strict: false, allErrors: true, unicodeRegExp: false, coerceTypes: true }));

/** What is wrong with the value by this schema, as sentences: types, formats, enumerations, what is required. */
export const wrongs = (schema: Schema, value: unknown): readonly string[] => wrongsBy(ajv, schema, value);

/** The same of values in a URL; those that the description does not know, too. */
export const wrongsInTexts = (schemas: Readonly<Record<string, Schema>>, values: Readonly<Record<string, string>>): readonly string[] =>
  wrongsBy(ajvOfTexts, { type: 'object', properties: schemas, additionalProperties: false }, { ...values });

function wrongsBy(judge: Ajv, schema: Schema, value: unknown): readonly string[] {
  const valid = judge.compile(schema);
  valid(value);
  return (valid.errors ?? []).map(({ instancePath, message, params }) => `${instancePath || 'it'} ${message} ${JSON.stringify(params)}`);
}

type Names = 'unknown' | 'absent';

/**
 * Where an object has a name that the schema does not know, or lacks one that it knows, each as a path such as `droplets[].image.slug`. The schema knows what any of
 * its parts and alternatives names, since published ones allow everything else and require next to nothing.
 */
export function names(which: Names, schema: Schema, value: unknown): readonly string[] {
  return [...new Set(namesAt(which, [schema], value, ''))].sort();
}

function namesAt(which: Names, schemas: readonly Schema[], value: unknown, path: string): readonly string[] {
  const parts = schemas.flatMap(partsOf);
  if (Array.isArray(value)) {
    const items = parts.flatMap((part) => (part.items ? [part.items as Schema] : []));
    return value.flatMap((item) => namesAt(which, items, item, `${path}[]`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const known = new Map<string, Schema[]>();
  for (const part of parts)
    for (const [name, schema] of Object.entries(part.properties ?? {})) known.set(name, [...(known.get(name) ?? []), schema as Schema]);
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const inside = Object.entries(value).flatMap(([name, one]) => namesAt(which, known.get(name) ?? [], one, at(name)));
  const here =
    which === 'absent' ? [...known.keys()].filter((name) => !(name in value)) : Object.keys(value).filter((name) => !known.has(name));
  return [...here.map(at), ...inside];
}

/** The schema and all that it is put together of. */
function partsOf(schema: Schema): readonly Schema[] {
  const more = ['allOf', 'anyOf', 'oneOf'].flatMap((how) => (schema[how] ?? []) as readonly Schema[]);
  return [schema, ...more.flatMap(partsOf)];
}

/** Whether the schema knows this place, e.g. `droplets[].image.slug`. */
export function isDescribed(schema: Schema, place: string): boolean {
  const steps = place.replaceAll('[]', '.[]').split('.');
  const inside = (schemas: readonly Schema[], step: string): readonly Schema[] =>
    schemas
      .flatMap(partsOf)
      .flatMap((part) => (step === '[]' ? part.items : (part.properties as Schema | undefined)?.[step]) ?? []) as Schema[];
  return steps.reduce(inside, [schema] as readonly Schema[]).length > 0;
}
