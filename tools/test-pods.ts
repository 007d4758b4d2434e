// The Pods of deploy/bundle.yaml, run by podman as their manifests say, on simulators of a cluster and of a cloud:
// `node tools/test-pods.ts <folder of images> <folder for work>`, where the images stand under the names that the manifests have for them. It does what a kubelet does:
// it resolves Secrets, gives volumes to their group, asks the probes. It is run apart from the machine's network (tools/image-apart.ts), in one which all containers share, so
// that they listen on the ports of the manifests; a Service's name leads to its loopback.
import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { setNodeReady } from '../simulator/kubernetes/cluster.ts';
import { ImageStore } from './image-builder.ts';
import { PodContainer, type Surroundings } from './image-kubelet.ts';
import { shippedContainers } from './image-pod.ts';
import { type Check, demand, podman, report, until } from './image-run.ts';
import { holder, NAMESPACE, openStage, type Stage, wantAddress } from './image-stage.ts';

const ROOT = join(import.meta.dirname, '..');
const MANIFEST = join(ROOT, 'deploy/bundle.yaml');
const LAST_LINES = 30;
const REDIS_SERVICE = 'routedip-operator-redis';

/** What Redis must be told, as it says it itself. */
const SETTINGS = {
  appendonly: 'yes',
  save: '',
  'maxmemory-policy': 'noeviction',
  maxmemory: String(256 * 1024 * 1024),
  hz: '100',
  dir: '/data',
};

/** A folder as the disk that a Pod's claim is bound to, given to the group of the Pod. */
function volume(work: string, name: string, group: number | null): string {
  const folder = join(work, name);
  mkdirSync(folder);
  if (group !== null) chownSync(folder, 0, group);
  chmodSync(folder, 0o2775);
  return folder;
}

function theInstall(store: ImageStore, stage: Stage, work: string): readonly Check[] {
  const [init, operator] = shippedContainers(MANIFEST, 'Deployment');
  const [redis] = shippedContainers(MANIFEST, 'StatefulSet');
  const [anyRedis] = shippedContainers(MANIFEST, 'StatefulSet', { anyUser: true });
  if (!init || !operator || !redis || !anyRedis) throw new Error(`${MANIFEST} has no container that makes the password`);
  const around: Surroundings = { store, client: stage.client, namespace: NAMESPACE, hosts: [REDIS_SERVICE] };
  const cluster = { env: { KUBECONFIG: '/kubeconfig' }, volumes: [`${stage.kubeconfig}:/kubeconfig:ro`] };
  const data = volume(work, 'data', redis.fsGroup);
  const disk = { volumes: redis.mountPaths.map((path) => `${data}:${path}`) };
  const redisPod = new PodContainer(around, 'redis', redis, disk);
  const cloud = { DIGITALOCEAN_API_URL: stage.cloud.url };
  const operatorPod = new PodContainer(around, 'operator', operator, { ...cluster, env: { ...cluster.env, ...cloud } });
  let first = '';

  const checks: readonly Check[] = [
    [
      'Redis waits for its password, which the container before the operator makes',
      async () => {
        const early = await redisPod.start().then(
          () => 'it started',
          (error: Error) => error.message,
        );
        demand(early.includes(REDIS_SERVICE), `without its Secret: ${early}`);
        const done = await new PodContainer(around, 'password', init, cluster).run('--namespace', NAMESPACE);
        demand(done.status === 0, `${init.args.join(' ')} ended with ${done.status}:\n${done.output}`);
      },
    ],
    [
      'Redis is ready with the settings that are shipped, for who has the password',
      async () => {
        await redisPod.start();
        await until('Redis is ready', () => redisPod.passes(redis.readinessProbe));
        demand(await redisPod.passes(redis.livenessProbe), 'it is ready, and not alive');
        const stranger = await redisPod.exec(['redis-cli', '-e', 'ping'], { REDISCLI_AUTH: 'another' });
        demand(stranger.status !== 0, 'the probe passes with another password');
        const password = await redisPod.variable('REDISCLI_AUTH');
        const shown = await redisPod.exec(['cat', '/proc/1/cmdline']);
        demand(
          shown.output.includes('redis-server') && !shown.output.includes(password),
          'the password can be read by whoever lists processes',
        );
        const client = new Redis({ host: '127.0.0.1', port: 6379, password });
        try {
          for (const [name, value] of Object.entries(SETTINGS)) {
            const [, found] = (await client.config('GET', name)) as string[];
            demand(found === value, `${name} of Redis is ${found}`);
          }
        } finally {
          client.disconnect();
        }
      },
    ],
    [
      'the operator is ready on that Redis, as any user, and serves a pool',
      async () => {
        await operatorPod.start();
        await until('the operator is ready', () => operatorPod.passes(operator.readinessProbe));
        demand(await operatorPod.passes(operator.livenessProbe), 'it is ready, and not alive');
        await wantAddress(stage);
        await until('the address is active', async () => {
          first = (await holder(stage)) ?? '';
          return first !== '';
        });
      },
    ],
    [
      'what Redis has acknowledged is on its disk when its Pod is killed and started anew, and the operator goes on',
      async () => {
        const acknowledged = await redisPod.exec(['redis-cli', '-e', 'set', 'kept', 'yes']);
        demand(acknowledged.output.trim() === 'OK', `Redis says ${acknowledged.output}`);
        await redisPod.kill();
        demand(!(await redisPod.passes(redis.livenessProbe)), 'Redis is killed, and answers');
        await redisPod.start();
        await until('Redis is ready again', () => redisPod.passes(redis.readinessProbe));
        const kept = await redisPod.exec(['redis-cli', '-e', 'get', 'kept']);
        demand(kept.output.trim() === 'yes', `after its start Redis has ${kept.output}`);
        await until('the operator is ready', () => operatorPod.passes(operator.readinessProbe));
        await setNodeReady(stage.client, first, false);
        await until('the address is on the other node', async () => ![null, first].includes(await holder(stage)));
        const said = await operatorPod.logs();
        demand(!said.includes('the store was emptied'), 'the operator found its records gone');
      },
    ],
    [
      'both end when they are asked to',
      async () => {
        // Without a shell between, each hears of SIGTERM itself, and says with 0 that it has stopped as asked.
        for (const pod of [operatorPod, redisPod]) {
          const code = await pod.stop();
          demand(code === '0', `${pod.name} ended with ${code} when it was stopped`);
        }
      },
    ],
    [
      'Redis writes to its disk as any user, too',
      async () => {
        const other = volume(work, 'other', anyRedis.fsGroup);
        const pod = new PodContainer(around, 'any', anyRedis, { volumes: anyRedis.mountPaths.map((path) => `${other}:${path}`) });
        await pod.start();
        await until('Redis is ready', () => pod.passes(anyRedis.readinessProbe));
        const user = await pod.exec(['id', '-u']);
        demand(Number(user.output) > 1_000_000, `it runs as ${user.output}`);
        const written = await pod.exec(['redis-cli', '-e', 'set', 'kept', 'yes']);
        demand(written.output.trim() === 'OK', `Redis says ${written.output}`);
        demand(readdirSync(other).includes('appendonlydir'), `its disk has ${readdirSync(other).join(', ')}`);
      },
    ],
  ];
  return checks.map(([what, check]) => [what, () => check().catch((error: unknown) => tells(error, [redisPod, operatorPod]))]);
}

/** @throws Error with what they said last */
async function tells(error: unknown, pods: readonly PodContainer[]): Promise<never> {
  const said = await Promise.all(pods.map(async (pod) => `${pod.name}: ${(await pod.logs()).split('\n').slice(-LAST_LINES).join('\n')}`));
  throw new Error([error instanceof Error ? error.message : String(error), ...said].join('\n'));
}

async function main(store: ImageStore, work: string): Promise<number> {
  mkdirSync(work, { recursive: true });
  const stage = await openStage(work);
  try {
    const checks = theInstall(store, stage, work);
    const failed = await report('in Pods', checks);
    console.log(`${checks.length - failed} passed, ${failed} failed`);
    return failed === 0 ? 0 : 1;
  } finally {
    await podman(store, 'rm', '--all', '--force', '--time', '0');
    await stage.close();
  }
}

const [images, given] = process.argv.slice(2);
if (!images || !given) throw new Error('two folders are needed: that of the images, and one to work in');
process.exitCode = await main(new ImageStore(resolve(images)), resolve(given));
