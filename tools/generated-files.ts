import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

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

/** Writes what is stale; with `--check` among `args` it only names it. Returns the exit code: 1 when a check found something. */
export const generate = (files: readonly GeneratedFile[], args: readonly string[]): number => {
  const stale = staleFiles(files);
  const names = stale.map(({ path }) => relative(process.cwd(), path));
  if (args.includes('--check')) {
    for (const name of names) console.error(`${name} is stale: run npm run generate`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const { path, text } of stale) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  for (const name of names) console.log(`wrote ${name}`);
  return 0;
};
