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

/** One file of types per CRD in `crds/`, ordered by name. Reads only; the same YAML always gives the same text. */
export const typeFiles = (): readonly GeneratedFile[] =>
  SOURCES.flatMap(definitionsIn).map((name) => {
    const crd: CustomResourceDefinition = parse(readFileSync(join(CRDS, name), 'utf8'));
    return { path: join(CRDS, 'generated', `${crd.spec.names.singular}.ts`), text: printTypes(crd, `crds/${name}`) };
  });

if (import.meta.main) process.exitCode = generate(typeFiles(), process.argv.slice(2));
