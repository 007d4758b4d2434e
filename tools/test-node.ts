// The suite on a real node, with what follows as arguments of vitest. Where there can be none it says so and ends with 2: a run that skips everything must not look green.
//
// CHECK_TOOLS names a folder with helm, as for test:tools; else it is built. IMAGES names a folder with the images as archives, where they are to be kept from one run to the next: what is there is not built again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provided, testBesideNode, whyNoNode } from './beside-node.ts';
import { CommandFailed } from './debian-apt.mjs';
import { archiveImages } from './image-archives.ts';
import { ROOT } from './root.mjs';

const CHECKS = 'tools/checks/provision';

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
    return await testBesideNode(images, args, { TEST_TARGET: 'node', CHECK_TOOLS: checks });
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
