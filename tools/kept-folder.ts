import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from './root.mjs';

export interface Kept {
  /** Holds one folder for each key, and drafts. */
  readonly parent: string;
  /** Says all that decides what is in the folder. */
  readonly key: string;
  /** A folder that nobody has asked for so long goes, and with it the draft of a run that was killed. */
  readonly keptMs: number;
  /** Fills the folder that it is given. */
  readonly make: (draft: string) => void | Promise<void>;
}

/** The folder of this key, made unless an earlier run left it. It appears whole or not at all, also when several runs make it at the same time. */
export async function keptFolder({ parent, key, keptMs, make }: Kept): Promise<string> {
  const folder = join(parent, key);
  if (!existsSync(folder)) {
    mkdirSync(parent, { recursive: true });
    const draft = mkdtempSync(join(parent, 'draft-'));
    try {
      await make(draft);
      renameSync(draft, folder);
    } catch (error) {
      // Another run was faster: what it left is the same.
      if (!existsSync(folder)) throw error;
    } finally {
      rmSync(draft, { recursive: true, force: true });
    }
  }
  const now = new Date();
  utimesSync(folder, now, now);
  forget(parent, now.getTime() - keptMs);
  return folder;
}

function forget(parent: string, before: number): void {
  for (const name of globSync('*', { cwd: parent })) {
    const folder = join(parent, name);
    // One that is gone already was forgotten by another run.
    if ((statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) rmSync(folder, { recursive: true, force: true });
  }
}

/** A key for what is made of the files that the patterns match, from the root of the project, under this version of Node. */
export function keyOf(patterns: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  const files = globSync(patterns, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    hash.update(`\n${relative(ROOT, path)}\n`).update(readFileSync(path));
  }
  return hash.digest('hex').slice(0, 16);
}
