import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandFailed } from './debian-apt.mjs';
import { COMPOSE, skip, testApart } from './image-apart.ts';
import { buildImages, ImageStore, provideBases, whyNoBuilder } from './image-builder.ts';
import { composedImages, whyNoCompose } from './image-compose.ts';
import { type Check, demand, HOST_NETWORK, podman, report } from './image-run.ts';

const ROOT = join(import.meta.dirname, '..');
/** More than this, and something got in that is not needed: the base has about 300, the dependencies have 170. */
const MOST_MB = 550;
const RUN = ['run', '--rm', ...HOST_NETWORK];

async function commands(store: ImageStore, image: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  const said = await podman(store, ...RUN, image, '--version');
  demand(said.status === 0 && said.output.trim() === version, `--version printed ${said.output}`);
  const user = await podman(store, ...RUN, '--entrypoint', 'id', image, '-u');
  demand(/^[1-9]\d*\s*$/.test(user.output), `the image starts as ${user.output}`);
}

async function size(store: ImageStore, image: string, demo: string): Promise<void> {
  const sizeOf = async (name: string) => {
    const inspected = await podman(store, 'image', 'inspect', '--format', '{{.Size}}', name);
    return Math.round(Number(inspected.output) / 1e6);
  };
  const megabytes = await sizeOf(image);
  console.log(`        ${megabytes} MB uncompressed; the demo with its sources and their tools: ${await sizeOf(demo)} MB`);
  demand(megabytes > 0 && megabytes < MOST_MB, `the image has ${megabytes} MB, more than ${MOST_MB}`);
}

/** Why containers cannot be started, or null when they can. */
async function whyNoContainers(store: ImageStore, image: string): Promise<string | null> {
  const tried = await podman(store, ...RUN, '--entrypoint', 'true', image);
  return tried.status === 0 ? null : `containers do not run here: ${tried.output.trim().slice(-300)}`;
}

/** Builds all images, and tells of the operator's own. Resolves with whether that is as it should be. */
async function built(store: ImageStore, work: string): Promise<{ readonly passed: boolean; readonly unable: string | null }> {
  const composed = composedImages(ROOT);
  const image = composed.operator;
  console.log(`        base from ${provideBases(store, join(ROOT, 'Dockerfile'), { redis: composed.redis }, work, ROOT)}`);
  buildImages(store, { [composed.target]: composed.demo, '': image }, work, ROOT);
  const unable = await whyNoContainers(store, image);
  const inContainers: Check = ['starts its commands, as a user that is not root', () => commands(store, image)];
  if (unable !== null) console.log(`skipped what needs containers to run: ${unable}`);
  const checks: readonly Check[] = [
    ['is built, and no larger than it has to be', () => size(store, image, composed.demo)],
    ...(unable === null ? [inContainers] : []),
  ];
  const failed = await report('the image', checks);
  console.log(`${checks.length - failed} passed, ${failed} failed${unable === null ? '' : ', 1 skipped'}`);
  return { passed: failed === 0, unable };
}

async function main(): Promise<number> {
  const none = whyNoBuilder();
  if (none !== null) {
    skip('the images', none, 2 + COMPOSE.checks);
    return 0;
  }
  const work = mkdtempSync(join(tmpdir(), 'routedip-image-'));
  const store = new ImageStore(join(work, 'images'));
  try {
    const { passed, unable } = await built(store, work);
    const compose = await testApart(COMPOSE, store, work, unable ?? whyNoCompose());
    return passed && compose ? 0 : 1;
  } catch (error) {
    console.log(`FAILED  the image: ${error instanceof CommandFailed ? `${error.message}\n${error.output.slice(-3000)}` : String(error)}`);
    console.log('0 passed, 1 failed');
    return 1;
  } finally {
    store.remove();
    rmSync(work, { recursive: true, force: true });
  }
}

process.exitCode = await main();
