import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { type CustomResourceDefinition, printTypes } from './print-types.ts';

const CRDS = join(import.meta.dirname, '..', 'crds');

export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

/** One file of types per CRD in `crds/`, ordered by name. Reads only; the same YAML always gives the same text. */
export const generatedFiles = (): readonly GeneratedFile[] =>
  readdirSync(CRDS)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => {
      const crd: CustomResourceDefinition = parse(readFileSync(join(CRDS, name), 'utf8'));
      return { path: join(CRDS, 'generated', `${crd.spec.names.singular}.ts`), text: printTypes(crd, `crds/${basename(name)}`) };
    });

/** Those of `files` whose text on disk differs or is missing. */
export const staleFiles = (files: readonly GeneratedFile[]): readonly GeneratedFile[] =>
  files.filter(({ path, text }) => {
    try {
      return readFileSync(path, 'utf8') !== text;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true;
      throw error;
    }
  });

const main = (args: readonly string[]): number => {
  const stale = staleFiles(generatedFiles());
  if (args.includes('--check')) {
    for (const { path } of stale) console.error(`${path} is stale: run node tools/generate-types.ts`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const { path, text } of stale) writeFileSync(path, text);
  console.log(`${stale.length} file(s) written`);
  return 0;
};

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
