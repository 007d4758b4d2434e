import type { CustomResourceDefinition, Schema } from './print-types.ts';
import { fieldsOf, type Marks, type ReferenceField, valuesOf } from './reference-fields.ts';

/** A manifest of `crds/samples/` with at least one object of the kind. */
export interface Sample {
  /** From the root of the project. */
  readonly path: string;
  /** The text of the first object of the kind, with the comments in it. */
  readonly text: string;
}

export interface Guide {
  readonly title: string;
  /** From the folder of the page. */
  readonly link: string;
}

const code = (text: string): string => {
  if (text.includes('`')) throw new Error(`cannot be shown as code: ${text}`);
  return `\`${text.replaceAll('|', '\\|')}\``;
};

/** Plain text as Markdown that says the same, in a cell of a table too; what stands in backticks stays code. */
const prose = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part.replaceAll('|', '\\|') : part.replace(/[|<*[\]]/g, '\\$&')))
    .join('');

/** Longer ones stand below the tables. */
const LONGEST_PATTERN = 90;

const marks: Marks = {
  code,
  pattern: (pattern) => (pattern.length > LONGEST_PATTERN ? 'the [pattern below](#patterns)' : code(pattern)),
};

const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const fieldRow = ({ path, schema, required }: ReferenceField): readonly string[] => [
  code(path),
  typeOf(schema),
  [...(required ? ['required'] : []), ...valuesOf(schema, marks)].join('; '),
  prose(schema.description ?? ''),
];

const typeOf = (schema: Schema): string => {
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  if (schema.additionalProperties) return `map to ${typeOf(schema.additionalProperties)}`;
  return schema.format === 'date-time' ? 'time (RFC 3339)' : (schema.type ?? '');
};

/** `fields` with the object as a whole before them, which may have rules too. */
const rulesTable = (whole: Schema, fields: readonly ReferenceField[]): string => {
  const rules = [{ path: '', schema: whole }, ...fields].flatMap(({ path, schema }) =>
    (schema['x-kubernetes-validations'] ?? []).map(({ rule, message }) => [
      path === '' ? 'the object' : code(path),
      prose(message),
      code(rule.replace(/\s+/g, ' ')),
    ]),
  );
  return rules.length === 0
    ? ''
    : `## Rules\n\nRules in CEL, with the message that a manifest is refused with. Servers before 1.25 drop such rules; there the operator checks what they say of an object by itself\nwhen it reads it, and tells in the status.\n\n${table(['Of', 'Message', 'Rule'], rules)}\n`;
};

const patternsList = (fields: readonly ReferenceField[]): string => {
  const patternOf = ({ schema }: ReferenceField): string => schema.pattern ?? schema.items?.pattern ?? '';
  const long = fields.filter((field) => patternOf(field).length > LONGEST_PATTERN);
  const said = long.map((field) => `${code(field.path)}\n\n\`\`\`text\n${patternOf(field)}\n\`\`\`\n`);
  return said.length === 0 ? '' : `## Patterns\n\n${said.join('\n')}`;
};

const section = (title: string, name: string, whole: Schema): string => {
  const schema = whole.properties?.[name];
  if (!schema) return '';
  const fields = fieldsOf(schema, name);
  const values = valuesOf(schema, marks);
  const said = [
    whole.required?.includes(name) ? 'Required.' : '',
    schema.description === undefined ? '' : prose(schema.description),
    values.length === 0 ? '' : `As a whole: ${values.join('; ')}.`,
  ];
  const rows = fields.map(fieldRow);
  const parts = [
    `## ${title}`,
    said.filter((text) => text !== '').join(' '),
    rows.length === 0 ? '' : table(['Field', 'Type', 'Values', 'Says'], rows),
  ];
  return `${parts.filter((text) => text !== '').join('\n\n')}\n`;
};

const columnsTable = (version: CustomResourceDefinition['spec']['versions'][number]): string => {
  const rows = (version.additionalPrinterColumns ?? []).map(({ name, type, jsonPath, description, priority }) => [
    prose(name),
    `${type}${(priority ?? 0) > 0 ? ', with `-o wide`' : ''}`,
    code(jsonPath),
    prose(description ?? ''),
  ]);
  return rows.length === 0
    ? ''
    : `## Columns\n\nOf \`kubectl get\`, after the name.\n\n${table(['Column', 'Type', 'From', 'Says'], rows)}\n`;
};

const example = (samples: readonly Sample[]): string => {
  const [first, ...others] = samples;
  if (!first) return '';
  const link = ({ path }: Sample): string => `[${path}](../../${path})`;
  const more = others.length === 0 ? '' : ` More: ${others.map(link).join(', ')}.`;
  return `## Example\n\nFrom ${link(first)}.${more}\n\n\`\`\`yaml\n${first.text.trim()}\n\`\`\`\n`;
};

const factsTable = ({ spec }: CustomResourceDefinition, version: string, source: string, guides: readonly Guide[]): string => {
  const { plural, singular, shortNames = [], categories = [] } = spec.names;
  const names = [plural, singular, ...shortNames].map(code).join(', ');
  return table(
    ['', ''],
    [
      ['Group and version', code(`${spec.group}/${version}`)],
      ['Scope', spec.scope === 'Cluster' ? 'the cluster' : 'a namespace'],
      ['Names for kubectl', shortNames.length === 0 ? `${names}; no short one` : names],
      ...(categories.length === 0 ? [] : [['Categories', categories.map(code).join(', ')]]),
      ['Definition', `[${source}](../../${source})`],
      ...(guides.length === 0 ? [] : [['Told in', guides.map(({ title, link }) => `[${title}](${link})`).join(', ')]]),
    ],
  );
};

/** The version that is stored. @throws Error when there is none */
export const storageVersion = (crd: CustomResourceDefinition): CustomResourceDefinition['spec']['versions'][number] => {
  const version = crd.spec.versions.find(({ storage }) => storage);
  if (!version) throw new Error(`${crd.spec.names.kind} has no storage version`);
  return version;
};

/** The reference of one kind: every field of its storage version. The same definition and samples give the same page.
 *  @param source where the definition stands, from the root of the project */
export const referencePage = (
  crd: CustomResourceDefinition,
  source: string,
  samples: readonly Sample[],
  guides: readonly Guide[],
): string => {
  const version = storageVersion(crd);
  const schema = version.schema.openAPIV3Schema;
  return [
    `# ${crd.spec.names.kind}\n`,
    `<!-- Generated by tools/generate-reference.ts from ${source}. Change that and run npm run generate; do not edit. -->\n`,
    `${prose(schema.description ?? '')} All kinds, and how to read these tables: [README.md](README.md).\n`,
    `${factsTable(crd, version.name, source, guides)}\n`,
    example(samples),
    section('Metadata', 'metadata', schema),
    section('Spec', 'spec', schema),
    section('Status', 'status', schema),
    rulesTable(schema, fieldsOf(schema, '')),
    patternsList(fieldsOf(schema, '')),
    columnsTable(version),
  ]
    .filter((part) => part !== '')
    .join('\n');
};
