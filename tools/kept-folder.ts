import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

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
