import { existsSync, readFileSync } from 'node:fs';

/** One field of a built-in type, as the client library declares it. */
export interface Field {
  name: string;
  /** The library's TypeScript type: `string`, `Array<V1Taint>`, `{ [key: string]: string; }`, … */
  type: string;
  format: string;
  required: boolean;
  description: string;
}

export interface Model {
  name: string;
  description: string;
  fields: readonly Field[];
}

/** The built-in types are read from the client library's own declarations: it is generated from the API's OpenAPI documents and has every field with its text. */
const folder = new URL('./gen/models/', import.meta.resolve('@kubernetes/client-node'));

const ATTRIBUTE = /"name": "([^"]*)",\s*"baseName": "([^"]*)",\s*"type": "([^"]*)",\s*"format": "([^"]*)"/g;
const DECLARATION = /(?:\/\*\*([\s\S]*?)\*\/\s*)?'([^']+)'(\?)?:/g;
const CLASS = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export declare class/;

const prose = (comment: string | undefined): string =>
  (comment ?? '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, ''))
    .join(' ')
    .replaceAll(/\\(['"])/g, '$1')
    .trim();

const models = new Map<string, Model | undefined>();

const read = (name: string): Model | undefined => {
  const path = new URL(`${name}.js`, folder);
  if (!/^[A-Za-z0-9]+$/.test(name) || !existsSync(path)) return undefined;
  const declarations = readFileSync(new URL(`${name}.d.ts`, folder), 'utf8');
  const body = declarations.slice(declarations.indexOf('export declare class'));
  const declared = new Map([...body.matchAll(DECLARATION)].map(([, comment, field, optional]) => [field, { comment, optional }]));
  const fields = [...readFileSync(path, 'utf8').matchAll(ATTRIBUTE)].map(([, field = '', baseName = '', type = '', format = '']): Field => {
    const declaration = declared.get(field);
    return { name: baseName, type, format, required: declaration?.optional === undefined, description: prose(declaration?.comment) };
  });
  return { name, description: prose(CLASS.exec(declarations)?.[1]), fields };
};

/** The type of that name, or undefined when the library has none. */
export const modelOf = (name: string): Model | undefined => {
  if (!models.has(name)) models.set(name, read(name));
  return models.get(name);
};

/** Types whose name in the library bears their group, since two groups have one of that name. */
const NAMED: Readonly<Record<string, string>> = { 'v1/Event': 'CoreV1Event', 'events.k8s.io/v1/Event': 'EventsV1Event' };

/** The type of a built-in kind. */
export const modelOfKind = (apiVersion: string, kind: string): Model | undefined => {
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  return modelOf(NAMED[`${apiVersion}/${kind}`] ?? `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`);
};
