import { parseSync } from '@swc/core';

/** What a source file takes from outside itself. */
export interface SourceFacts {
  /** Every module it names, for types too: by import, export … from, import(), import type, typeof import() and require(). */
  readonly imports: readonly string[];
  /** Globals it uses, with the member taken from them: `Math.random`, `Date.now`, `setTimeout`. `new Date()` is the one without arguments, `new Date(…)` the other. */
  readonly globals: readonly string[];
  /** Whether it waits: `await`, `for await`, or an async function. */
  readonly waits: boolean;
}

type Syntax = { readonly [key: string]: unknown };

const isSyntax = (value: unknown): value is Syntax => typeof value === 'object' && value !== null && !Array.isArray(value);

/** swc's mark for a name that no scope of the file declares. */
const UNDECLARED = 1;
/** What stands where a computed module name would: no rule allows it. */
export const COMPUTED = 'a computed name';

const textOf = (value: unknown): string => (isSyntax(value) && typeof value.value === 'string' ? value.value : COMPUTED);

const isGlobal = (value: unknown): value is Syntax => isSyntax(value) && value.type === 'Identifier' && value.ctxt === UNDECLARED;

const firstArgument = (node: Syntax): unknown => {
  const list = node.arguments;
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  return isSyntax(first) ? first.expression : undefined;
};

const isLoad = ({ callee }: Syntax): boolean =>
  isSyntax(callee) && (callee.type === 'Import' || (isGlobal(callee) && callee.value === 'require'));

const importedBy = (node: Syntax): string | null => {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
      return isSyntax(node.source) ? textOf(node.source) : null;
    case 'TsImportType':
      return textOf(node.argument);
    case 'TsExternalModuleReference':
      return textOf(node.expression);
    case 'CallExpression':
      return isLoad(node) ? textOf(firstArgument(node)) : null;
    default:
      return null;
  }
};

const memberOf = (property: unknown): string => textOf(isSyntax(property) && property.type === 'Computed' ? property.expression : property);

/** The global that a node uses as a whole expression, by the name it is known by, and the part of the node that this name covers. */
const globalUse = (node: Syntax): { readonly name: string; readonly covers: Syntax } | null => {
  const { object, property, callee } = node;
  if (node.type === 'MemberExpression' && isGlobal(object)) return { name: `${textOf(object)}.${memberOf(property)}`, covers: object };
  if (node.type === 'NewExpression' && isGlobal(callee)) {
    return { name: `new ${textOf(callee)}(${firstArgument(node) === undefined ? '' : '…'})`, covers: callee };
  }
  return null;
};

const globalsOf = (nodes: readonly Syntax[]): string[] => {
  const uses = nodes.map(globalUse).filter((use) => use !== null);
  const covered = new Set<unknown>(uses.map(({ covers }) => covers));
  for (const node of nodes) if (node.type === 'TsTypeReference') covered.add(node.typeName);
  const bare = nodes.filter((node) => isGlobal(node) && !covered.has(node)).map(textOf);
  return [...uses.map(({ name }) => name), ...bare];
};

const waitsAt = (node: Syntax): boolean =>
  node.type === 'AwaitExpression' || node.async === true || (node.type === 'ForOfStatement' && node.isAwait === true);

/** Every node below `value`, with itself. Types are visited too: `import('x').Y` is an import. */
const nodesIn = function* (value: unknown): Generator<Syntax> {
  if (Array.isArray(value)) for (const each of value) yield* nodesIn(each);
  if (!isSyntax(value)) return;
  yield value;
  for (const child of Object.values(value)) if (typeof child === 'object') yield* nodesIn(child);
};

const known = new Map<string, SourceFacts>();

/** Each text is read once: all sources take seconds.
 *  @throws Error when the text is not TypeScript that swc can read */
export const factsOf = (text: string): SourceFacts => {
  const facts = known.get(text) ?? read(text);
  known.set(text, facts);
  return facts;
};

function read(text: string): SourceFacts {
  const nodes = [...nodesIn(parseSync(text, { syntax: 'typescript', target: 'es2022' }).body)];
  const imports = nodes.map(importedBy).filter((each) => each !== null);
  return { imports: [...new Set(imports)], globals: [...new Set(globalsOf(nodes))], waits: nodes.some(waitsAt) };
}
