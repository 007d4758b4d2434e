// The suite on a real node, with what follows as arguments of vitest. Where there can be none it says so and ends with 2: a run that skips everything must not look green.
//
// CHECK_TOOLS names a folder with helm, as for test:tools; else it is built. IMAGES names a folder with the images as archives, where they are to be kept from one run to the next: what is there is not built again.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandFailed } from './debian-apt.mjs';
import { archiveImages } from './image-archives.ts';
import { type Needed, whyMissing, whyNoBuilder } from './image-builder.ts';
import { ROOT } from './root.mjs';

const WITH_NODE = join(ROOT, 'tools/kubernetes/with-node');
const PROVISION = 'tools/kubernetes/provision-node';
const CHECKS = 'tools/checks/provision';
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const NEEDED: Needed = { iproute2: 'ip', 'util-linux': 'unshare' };

/** The folder that a script of the tools prints last, null where it fails. It builds what is missing. */
function provided(script: string): string | null {
  const { status, stdout } = spawnSync(join(ROOT, script), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return status === 0 ? (stdout.trimEnd().split('\n').at(-1) ?? null) : null;
}

/** Why there can be no node here, or null when there can. What is missing is built and installed. */
function whyNoNode(): string | null {
  if (process.platform !== 'linux') return `a node is a Linux machine, and this is ${process.platform}`;
  const none = whyNoBuilder() ?? whyMissing(NEEDED);
  if (none !== null) return none;
  return provided(PROVISION) === null ? `${PROVISION} does not bring what a node runs` : null;
}

async function main(args: readonly string[]): Promise<number> {
  const none = whyNoNode();
  const checks = none === null ? process.env.CHECK_TOOLS || provided(CHECKS) : null;
  if (checks === null) {
    process.stderr.write(`test:node: ${none ?? `${CHECKS} does not bring helm`}\n`);
    return 2;
  }
  const work = mkdtempSync(join(tmpdir(), 'routedip-images-'));
  try {
    const began = performance.now();
    const images = archiveImages(process.env.IMAGES || join(work, 'archives'), work, ROOT);
    console.log(`images after ${Math.round((performance.now() - began) / 1_000)} s`);
    const options = images.flatMap((path) => ['--image', path]);
    const command = [process.execPath, VITEST, 'run', ...args];
    const suite = spawn(WITH_NODE, [...options, '--', ...command], {
      stdio: 'inherit',
      env: { ...process.env, TEST_TARGET: 'node', CHECK_TOOLS: checks },
    });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => suite.kill(signal));
    const [code] = await once(suite, 'exit');
    return typeof code === 'number' ? code : 1;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  process.stderr.write(`test:node: ${error.message}\n${error.output.slice(-3000)}\n`);
  process.exitCode = 1;
}
