import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type GeneratedFile, generate } from './generated-files.ts';
import { type CustomResourceDefinition, printTypes } from './print-types.ts';

const CRDS = join(import.meta.dirname, '../crds');

/** Those below `legacy/` are of kinds that are only migrated from. */
const SOURCES = ['', 'legacy/'];

const definitionsIn = (folder: string): readonly string[] =>
  readdirSync(join(CRDS, folder))
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => folder + name);

/** Every CRD in `crds/`, ordered by name, those that are only migrated from last; `source` is its path from the root of the project. */
export const definitions = (): readonly { readonly source: string; readonly crd: CustomResourceDefinition }[] =>
  SOURCES.flatMap(definitionsIn).map((name) => ({ source: `crds/${name}`, crd: parse(readFileSync(join(CRDS, name), 'utf8')) }));

/** One file of types per CRD. Reads only; the same YAML always gives the same text. */
export const typeFiles = (): readonly GeneratedFile[] =>
  definitions().map(({ source, crd }) => ({
    path: join(CRDS, 'generated', `${crd.spec.names.singular}.ts`),
    text: printTypes(crd, source),
  }));

if (import.meta.main) process.exitCode = generate(typeFiles(), process.argv.slice(2));
