import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Needed, whyMissing, whyNoBuilder } from './image-builder.ts';
import { ROOT } from './root.mjs';

const WITH_NODE = join(ROOT, 'tools/kubernetes/with-node');
const PROVISION = 'tools/kubernetes/provision-node';
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const NEEDED: Needed = { iproute2: 'ip', 'util-linux': 'unshare' };

/** The folder that a script of the tools prints last, null where it fails. It builds what is missing. */
export function provided(script: string): string | null {
  const { status, stdout } = spawnSync(join(ROOT, script), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return status === 0 ? (stdout.trimEnd().split('\n').at(-1) ?? null) : null;
}

/** Why there can be no node here, or null when there can. What is missing is built and installed. */
export function whyNoNode(): string | null {
  if (process.platform !== 'linux') return `a node is a Linux machine, and this is ${process.platform}`;
  const none = whyNoBuilder() ?? whyMissing(NEEDED);
  if (none !== null) return none;
  return provided(PROVISION) === null ? `${PROVISION} does not bring what a node runs` : null;
}

/** Runs vitest beside a real node whose Pods can have these images. Resolves with its exit code. */
export async function testBesideNode(
  images: readonly string[],
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const options = images.flatMap((path) => ['--image', path]);
  const suite = spawn(WITH_NODE, [...options, '--', process.execPath, VITEST, 'run', ...words], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => suite.kill(signal));
  const [code] = await once(suite, 'exit');
  return typeof code === 'number' ? code : 1;
}
