import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders that hold what was installed, built or fetched. */
const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', '.git', '.cache']);

export interface TextFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const pathsBelow = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? pathsBelow(root, path) : [path];
    });

/** Every text file of the project that is written or generated here, ordered by path. Pictures and archives are left out. */
export const filesOf = (root: string): readonly TextFile[] =>
  pathsBelow(root, '')
    .filter((path) => !/\.(png|jpg|gif|ico|woff2?|tgz|gz|log)$/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
