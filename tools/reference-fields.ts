import type { Schema } from './print-types.ts';

export interface ReferenceField {
  /** As `kubectl explain` takes it, but with `[]` after a list and `{}` after a map. */
  readonly path: string;
  readonly schema: Schema;
  readonly required: boolean;
}

/** Every field below `schema`, outermost first and in the order of the definition; those of a list's items and of a map's values too. */
export const fieldsOf = (schema: Schema, prefix: string): readonly ReferenceField[] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    return [{ path, schema: property, required: schema.required?.includes(name) ?? false }, ...fieldsOf(property, path)];
  }),
  ...(schema.items ? fieldsOf(schema.items, `${prefix}[]`) : []),
  ...(schema.additionalProperties ? fieldsOf(schema.additionalProperties, `${prefix}{}`) : []),
];

/** How a page shows what is to be read as it stands. */
export interface Marks {
  readonly code: (text: string) => string;
  readonly pattern: (pattern: string) => string;
}

/** `least` to `most` of something, as people say it; nothing where neither is given. `unit` in the singular. */
const between = (least: number | undefined, most: number | undefined, unit = ''): readonly string[] => {
  const counted = (count: number): string => (unit === '' ? `${count}` : `${count} ${unit}${count === 1 ? '' : 's'}`);
  if (most === undefined) return least === undefined ? [] : [`at least ${counted(least)}`];
  if (least === most) return [`exactly ${counted(most)}`];
  return [least === undefined ? `at most ${counted(most)}` : `${least} to ${counted(most)}`];
};

/** What `not`, `oneOf` and `anyOf` demand: in words where they are about which fields are set, else as they are written. */
const demandsOf = (schema: Schema, { code, pattern }: Marks): readonly string[] => {
  const names = (parts: readonly Schema[]): string | null =>
    parts.every((part) => Object.keys(part).join() === 'required' && part.required?.length === 1)
      ? parts.flatMap(({ required = [] }) => required.map(code)).join(', ')
      : null;
  const { not, oneOf, anyOf } = schema;
  const one = oneOf && names(oneOf);
  const none = not?.anyOf && names(not.anyOf);
  return [
    ...(oneOf ? [one ? `exactly one of ${one}` : `oneOf ${code(JSON.stringify(oneOf))}`] : []),
    ...(anyOf ? [`any of ${code(JSON.stringify(anyOf))}`] : []),
    ...(not?.pattern === undefined ? [] : [`does not match ${pattern(not.pattern)}`]),
    ...(not && not.pattern === undefined ? [none ? `without ${none}` : `not ${code(JSON.stringify(not))}`] : []),
  ];
};

const listOf = (schema: Schema, { code }: Marks): readonly string[] => {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  return [
    ...between(schema.minItems, schema.maxItems, 'item'),
    ...between(undefined, schema.maxProperties, 'member'),
    ...(schema['x-kubernetes-list-type'] === 'set' ? ['none twice'] : []),
    ...(keys.length > 0 ? [`one for each ${keys.map(code).join(', ')}`] : []),
  ];
};

/** Of any text that people write: tabs and line breaks are let be. */
const NO_CONTROL = String.raw`^[^\x00-\x08\x0e-\x1f\x7f]*$`;

/** A value as a manifest has it. */
const typed = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What a value has to be, in a few words each, its default first; without the CEL rules. */
export const valuesOf = (schema: Schema, marks: Marks): readonly string[] => [
  ...(schema.default === undefined ? [] : [`default ${marks.code(typed(schema.default))}`]),
  ...(schema.enum ? [schema.enum.map((value) => marks.code(String(value))).join(', ')] : []),
  ...between(schema.minimum, schema.maximum),
  ...between(schema.minLength, schema.maxLength, 'character'),
  ...(schema.pattern === undefined
    ? []
    : [schema.pattern === NO_CONTROL ? 'no control characters' : `matches ${marks.pattern(schema.pattern)}`]),
  ...listOf(schema, marks),
  ...(schema['x-kubernetes-preserve-unknown-fields'] ? ['other fields are kept'] : []),
  ...demandsOf(schema, marks),
  ...[schema.items, schema.additionalProperties].flatMap((inner) => {
    const said = inner ? valuesOf(inner, marks) : [];
    return said.length === 0 ? [] : [`each: ${said.join('; ')}`];
  }),
];
