import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type ImageStore, type Needed, whyMissing } from './image-builder.ts';

/** A network and process numbers of its own: no port and no rule of the machine's is touched, and all that runs in it ends with it. */
const APART = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const NEEDED: Needed = { iproute2: 'ip', 'util-linux': 'unshare' };
/** A shell that runs what follows once there is a loopback. */
const WITH_LOOPBACK = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

/** A script that makes checks of its own, prints how they end, and closes with how many did. */
export interface Suite {
  readonly subject: string;
  /** In this folder. */
  readonly script: string;
  readonly checks: number;
}

export const COMPOSE: Suite = { subject: 'the compose files', script: 'test-compose.ts', checks: 6 };

/** Runs a suite with the images of the store, unless `unable` says why it cannot run here, which is printed. Resolves with whether nothing failed. */
export async function testApart(
  { subject, script, checks }: Suite,
  store: ImageStore,
  work: string,
  unable: string | null,
): Promise<boolean> {
  const none = unable ?? whyNotApart();
  if (none !== null) {
    skip(subject, none, checks);
    return true;
  }
  const command = [process.execPath, join(import.meta.dirname, script), store.folder, join(work, script)];
  const test = spawn('unshare', [...APART, ...WITH_LOOPBACK, ...command], { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(test, 'exit');
  return code === 0;
}

export function skip(subject: string, why: string, checks: number): void {
  console.log(`skipped ${subject}: ${why}`);
  console.log(`0 passed, 0 failed, ${checks} skipped`);
}

function whyNotApart(): string | null {
  const missing = whyMissing(NEEDED);
  if (missing !== null) return missing;
  const tried = spawnSync('unshare', [...APART, ...WITH_LOOPBACK, 'true'], { encoding: 'utf8' });
  return tried.status === 0
    ? null
    : `unshare: ${String(tried.stderr || tried.error)
        .trim()
        .slice(-300)}`;
}
