/** The part of a JSON schema that our CRDs use. An object or enum with a `title` becomes an exported type of that name. */
export interface Schema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly (string | boolean)[];
  readonly default?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly not?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[];
}

export interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly type: string;
        readonly jsonPath: string;
        readonly description?: string;
        readonly priority?: number;
      }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const WIDTH = 120;

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const docstring = (text: string | undefined, indent: string): string => {
  if (text === undefined) return '';
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (`${indent} * ${longer}`.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
};

/** Collects the declarations of titled schemas, in the order in which they are met, while it prints references to them. */
class Printer {
  readonly #declarations = new Map<string, string>();

  declarations(): string {
    return [...this.#declarations.values()].join('\n');
  }

  declare(schema: Schema, envelope = ''): void {
    const { title } = schema;
    if (title === undefined) throw new Error('a schema without title cannot be declared');
    if (this.#declarations.has(title)) throw new Error(`two schemas are titled ${title}`);
    // Reserves the place, so that a type stands before those it refers to.
    this.#declarations.set(title, '');
    const doc = docstring(schema.description, '');
    this.#declarations.set(
      title,
      schema.enum
        ? `${doc}export type ${title} = ${union(schema.enum)};\n`
        : `${doc}export interface ${title} {\n${envelope}${this.#properties(envelope === '' ? schema : withoutMetadata(schema), '  ')}}\n`,
    );
  }

  #reference(schema: Schema, indent: string): string {
    if (schema.title !== undefined) {
      this.declare(schema);
      return schema.title;
    }
    if (schema.enum) return union(schema.enum);
    switch (schema.type) {
      case 'string':
      case 'boolean':
        return schema.type;
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return schema.items ? `readonly ${this.#element(schema.items, indent)}[]` : unsupported(schema);
      case 'object':
        if (schema.additionalProperties) return `Readonly<Record<string, ${this.#reference(schema.additionalProperties, indent)}>>`;
        return `{\n${this.#properties(schema, `${indent}  `)}${indent}}`;
      default:
        return unsupported(schema);
    }
  }

  #element(schema: Schema, indent: string): string {
    const printed = this.#reference(schema, indent);
    return printed.includes('|') ? `(${printed})` : printed;
  }

  #properties(schema: Schema, indent: string): string {
    const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
      const optional = schema.required?.includes(name) ? '' : '?';
      return `${docstring(property.description, indent)}${indent}readonly ${name}${optional}: ${this.#reference(property, indent)};\n`;
    });
    const others = schema['x-kubernetes-preserve-unknown-fields'] ? `${indent}readonly [field: string]: unknown;\n` : '';
    return properties.join('') + others;
  }
}

/** What a definition says of the metadata only restricts the name; its type is the envelope's. */
const withoutMetadata = (schema: Schema): Schema => {
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  return { ...schema, properties };
};

const literal = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
};

const union = (members: readonly (string | boolean)[]): string => members.map(literal).join(' | ');

const unsupported = (schema: Schema): never => {
  throw new Error(`no type for the schema ${JSON.stringify(schema)}`);
};

const rulesOf = (schema: Schema, path: string): readonly string[] => [
  ...(schema['x-kubernetes-validations'] ?? []).map(
    ({ rule, message }) => `  {\n    path: ${quoted(path)},\n    rule: ${quoted(rule)},\n    message: ${quoted(message)},\n  },\n`,
  ),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => rulesOf(property, path === '' ? name : `${path}.${name}`)),
  ...(schema.items ? rulesOf(schema.items, `${path}[]`) : []),
  ...(schema.additionalProperties ? rulesOf(schema.additionalProperties, `${path}{}`) : []),
];

/** The defaults of the spec's own fields, where there are any. */
const defaultsOf = (schema: Schema): string => {
  const properties = Object.entries(schema.properties?.spec?.properties ?? {}).filter(([, property]) => property.default !== undefined);
  if (properties.length === 0) return '';
  const members = properties.map(([name, property]) => `  ${name}: ${literal(property.default)},\n`);
  return `/** What the server puts where \`spec\` leaves a field out. */\nexport const DEFAULTS = {\n${members.join('')}} as const;\n\n`;
};

const OBJECT_META = `/** The parts of an object's metadata that the operator reads. Times are RFC 3339 strings, as the server sends them. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}
`;

/** TypeScript for the storage version of `crd`: names as constants, one type per titled schema, CEL rules as data.
 *  @throws Error when the schema uses something that has no type here, or two schemas share a title. */
export const printTypes = (crd: CustomResourceDefinition, source: string): string => {
  const { group, names, versions } = crd.spec;
  const version = versions.find(({ storage }) => storage);
  if (!version) throw new Error(`${source} has no storage version`);
  const schema = version.schema.openAPIV3Schema;
  const printer = new Printer();
  printer.declare(schema, `  readonly apiVersion: typeof API_VERSION;\n  readonly kind: typeof KIND;\n  readonly metadata: ObjectMeta;\n`);
  return `// Generated by tools/generate-types.ts from ${source}. Change the YAML and generate again; do not edit.

export const GROUP = ${quoted(group)};
export const VERSION = ${quoted(version.name)};
export const API_VERSION = ${quoted(`${group}/${version.name}`)};
export const KIND = ${quoted(names.kind)};
export const PLURAL = ${quoted(names.plural)};

/** The CEL rules of the schema. Servers before 1.25 drop them, so the same texts are used when an object is reconciled. */
export const RULES = [
${rulesOf(schema, '').join('')}] as const;

${defaultsOf(schema)}${OBJECT_META}
${printer.declarations()}`;
};
