import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';

/** The part of a JSON schema that values.schema.json uses. */
export interface ValueSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: ValueSchema;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

/** A value that can be set, with its path from the top, such as `redis.tls.caSecret.name`. */
export interface ChartValue {
  readonly path: string;
  readonly type: string;
  /** As JSON. */
  readonly fallback: string;
  readonly description: string;
}

/** What stands under one name at the top of the values. */
export interface ValueGroup {
  readonly name: string;
  /** '' for a value that stands alone. */
  readonly description: string;
  readonly values: readonly ChartValue[];
}

/** Helm's own: shared with the charts around this one. */
const OF_HELM = new Set(['global']);

/**
 * Every value of a chart in the order of values.yaml: type by the schema, description by the comment above it. A group of one value may describe it.
 * @throws Error that names every value without a description, and every one that only one of the two files has
 */
export const chartValues = (text: string, schema: ValueSchema): readonly ValueGroup[] => {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) throw new Error(`values.yaml: ${document.errors.join('; ') || 'not a map'}`);
  const problems: string[] = [];
  const groups = entriesOf(document.contents, schema, '', problems).map(({ name, node, comment, schema: own }): ValueGroup => {
    if (!isGroup(node, own)) return { name, description: '', values: [describedValue(name, node, own, comment, problems)] };
    const leaves = leavesOf(node, own, name, problems);
    const [only, ...others] = leaves;
    const described = only && others.length === 0 ? [{ ...only, comment: only.comment || comment }] : leaves;
    return {
      name,
      description: comment,
      values: described.map((leaf) => describedValue(leaf.path, leaf.node, leaf.schema, leaf.comment, problems)),
    };
  });
  if (problems.length > 0) throw new Error(`values.yaml and values.schema.json:\n  ${problems.join('\n  ')}`);
  return groups;
};

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly node: unknown;
  readonly schema: ValueSchema;
  readonly comment: string;
}

/** An object that the schema does not look into, such as `resources`, is one value. */
const isGroup = (node: unknown, { properties }: ValueSchema): node is YAMLMap => isMap(node) && properties !== undefined;

const entriesOf = (map: YAMLMap, schema: ValueSchema, prefix: string, problems: string[]): readonly Entry[] => {
  const known = schema.properties ?? {};
  const names = map.items.map(nameOf);
  for (const name of Object.keys(known))
    if (!names.includes(name) && !OF_HELM.has(name)) problems.push(`${prefix}${name} is in the schema alone`);
  return map.items.flatMap((pair, index) => {
    const name = nameOf(pair);
    const own = known[name];
    if (!own) problems.push(`${prefix}${name} is not in the schema`);
    // The library gives the comment above the first key to the map around it.
    const comment = (isScalar(pair.key) && pair.key.commentBefore) || (index === 0 ? map.commentBefore : '') || '';
    return own ? [{ name, path: `${prefix}${name}`, node: pair.value, schema: own, comment: comment.replace(/\s+/g, ' ').trim() }] : [];
  });
};

const nameOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

const leavesOf = (map: YAMLMap, schema: ValueSchema, prefix: string, problems: string[]): readonly Entry[] =>
  entriesOf(map, schema, `${prefix}.`, problems).flatMap((entry) =>
    isGroup(entry.node, entry.schema) ? leavesOf(entry.node, entry.schema, entry.path, problems) : [entry],
  );

const describedValue = (path: string, node: unknown, schema: ValueSchema, comment: string, problems: string[]): ChartValue => {
  if (comment === '') problems.push(`${path} has no description: write a comment above it`);
  const fallback = (node as { toJSON?: () => unknown } | null)?.toJSON?.() ?? null;
  return { path, type: typeOf(schema), fallback: JSON.stringify(fallback), description: comment };
};

const typeOf = ({ type, enum: words, items, minimum }: ValueSchema): string => {
  if (words) return `one of ${words.map((word) => `\`${word}\``).join(', ')}`;
  if (type === 'array') return items ? `list of ${typeOf(items).replace(/^one of /, '')}` : 'list';
  return `${type ?? 'any'}${minimum === undefined ? '' : ` from ${minimum}`}`;
};
