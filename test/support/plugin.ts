import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { entryOf } from './entry.ts';
import { findKubectl } from './kubectl.ts';

const ENTRY = entryOf('kubectl-routedip');

export interface PluginResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when it was ended by a signal. */
  readonly code: number | null;
}

const run = (command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<PluginResult> =>
  new Promise((resolve) => {
    const child = execFile(command, args, { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 60_000 }, (_, stdout, stderr) =>
      resolve({ stdout, stderr, code: child.exitCode }),
    );
    child.stdin?.end();
  });

/** Runs the plugin as a process of its own. */
export const plugin = (kubeconfig: string, ...args: readonly string[]): Promise<PluginResult> =>
  run(process.execPath, [ENTRY, ...args], { KUBECONFIG: kubeconfig });

/** The same as `kubectl routedip …`, from a folder of PATH, as users have it. */
export async function throughKubectl(kubeconfig: string, ...args: readonly string[]): Promise<PluginResult> {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-plugin-'));
  symlinkSync(ENTRY, join(folder, 'kubectl-routedip'));
  try {
    const path = [folder, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
    return await run(findKubectl(), ['routedip', ...args], { KUBECONFIG: kubeconfig, PATH: path });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
