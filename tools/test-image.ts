import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { startDigitalOcean } from '../simulator/digitalocean/server.ts';
import { connectionOf, type KubeClient, kubeClient } from '../simulator/kubernetes/client.ts';
import { addNode, addPod } from '../simulator/kubernetes/cluster.ts';
import { startKubernetes } from '../simulator/kubernetes/server.ts';
import { CommandFailed } from './debian-apt.mjs';
import { buildImage, ImageStore, provideBases, whyNoBuilder } from './image-builder.ts';
import { type ShippedContainer, shippedContainers } from './image-pod.ts';
import { startRedis } from './redis.mjs';
import { freePort } from './redis-launch.mjs';

const ROOT = join(import.meta.dirname, '..');
const IMAGE = 'localhost/routedip-operator:tested';
const TOKEN = 'a-token';
const DEADLINE_MS = 90_000;
const POLL_MS = 200;
/** More than this, and something got in that is not needed: the base has about 300, the dependencies have 170. */
const MOST_MB = 550;

const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: 'routedip-operator', name: 'routedip-operator-redis' };
const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };

interface Ran {
  readonly status: number;
  readonly output: string;
}

/** Options of every `podman run` here: the host's network, on whose loopback the simulators listen; limits that a machine with low ones can give; and no
 *  health checks, which systemd would have to start. */
const RUN = ['--network', 'host', '--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--no-healthcheck'];

const demand = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    demand(performance.now() < deadline, `${what}: not within ${DEADLINE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Runs podman beside this process, in which the simulators answer. */
async function podman(store: ImageStore, ...args: readonly string[]): Promise<Ran> {
  const child = spawn('podman', store.podman(...args), { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status: Number(code ?? 1), output: `${out}${problems}` };
}

/** What the image is tried on: the simulators of a cluster and of a cloud, with one address and a node that may have it. */
async function surroundings(work: string) {
  const crds = readdirSync(join(ROOT, 'crds'))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(ROOT, 'crds', name));
  const kubernetes = await startKubernetes({ crds });
  const cloud = await startDigitalOcean({ token: TOKEN });
  const kubeconfig = join(work, 'kubeconfig');
  writeFileSync(kubeconfig, kubernetes.kubeconfig());
  // The user in the container is another one.
  chmodSync(kubeconfig, 0o644);
  const client = kubeClient(connectionOf(kubernetes.kubeconfig()));
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SECRET.namespace } });
  const droplet = cloud.addDroplet({ name: 'a', region: 'nyc3' });
  const { ip } = cloud.addReservedIP({ region: 'nyc3' });
  await addNode(client, { name: 'a', dropletID: droplet.id, region: 'nyc3' });
  await addPod(client, { name: 'ingress-a', namespace: 'default', node: 'a', labels: { app: 'ingress' } });
  const close = async () => {
    client.close();
    await kubernetes.close();
    await cloud.close();
  };
  return { client, cloud, kubeconfig, droplet, ip, close };
}

type Surroundings = Awaited<ReturnType<typeof surroundings>>;

/** The container that comes before the operator makes the password of Redis. Resolves with it. */
async function makesPassword(store: ImageStore, container: ShippedContainer, { kubeconfig, client }: Surroundings): Promise<string> {
  const ran = await podman(
    store,
    ...runOf(container, { KUBECONFIG: '/kubeconfig' }, kubeconfig),
    IMAGE,
    ...container.args,
    '--namespace',
    SECRET.namespace,
  );
  demand(ran.status === 0, `${container.args.join(' ')} ended with ${ran.status}:\n${ran.output}`);
  const { data } = (await client.get(SECRET)) as unknown as { readonly data: Readonly<Record<string, string>> };
  return Buffer.from(data.REDIS_PASSWORD ?? '', 'base64').toString();
}

/** `podman run …` without the image. */
const runOf = (
  { options }: ShippedContainer,
  env: Readonly<Record<string, string>>,
  kubeconfig: string,
  ...more: readonly string[]
): string[] => [
  'run',
  ...more,
  ...RUN,
  ...['--volume', `${kubeconfig}:/kubeconfig:ro`],
  ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
  ...options,
];

/** The operator's own container is ready, moves an address, and ends when it is asked to. */
async function operates(store: ImageStore, container: ShippedContainer, around: Surroundings, password: string): Promise<void> {
  const redis = await startRedis();
  await asks(redis.url, password);
  const bind = `127.0.0.1:${await freePort()}`;
  const env = {
    KUBECONFIG: '/kubeconfig',
    REDIS_URL: redis.url,
    REDIS_PASSWORD: password,
    DIGITALOCEAN_ACCESS_TOKEN: TOKEN,
    DIGITALOCEAN_API_URL: around.cloud.url,
  };
  // Of the machine's ports :8080 may be somebody else's.
  const args = container.args.map((each) => (each === ':8080' ? bind : each));
  demand(args.includes(bind), `the operator is not told to listen on :8080 but ${container.args.join(' ')}`);
  const name = `operator-${process.pid}`;
  const logs = async () => (await podman(store, 'logs', name)).output.split('\n').slice(-30).join('\n');
  try {
    const started = await podman(store, ...runOf(container, env, around.kubeconfig, '--detach', '--name', name), IMAGE, ...args);
    demand(started.status === 0, `podman run ended with ${started.status}:\n${started.output}`);
    await until('/readyz answers 200', () => answers(`http://${bind}/readyz`));
    await serves(around.client, around);
    // Without a shell between, the operator hears of SIGTERM itself, and says with 0 that it has stopped as asked.
    const stopped = await podman(store, 'stop', '--time', '20', name);
    const ended = await podman(store, 'wait', name);
    demand(stopped.status === 0 && ended.output.trim() === '0', `it ended with ${ended.output.trim()} when it was stopped`);
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${await logs()}`);
  } finally {
    await podman(store, 'rm', '--force', '--time', '0', name);
    await redis.stop();
  }
}

/** From now on this Redis asks for the password. */
async function asks(url: string, password: string): Promise<void> {
  const client = new Redis(url);
  await client.config('SET', 'requirepass', password);
  client.disconnect();
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

async function serves(client: KubeClient, { cloud, droplet, ip }: Surroundings): Promise<void> {
  const { namespace, name, ...kind } = POOL;
  const match = { podNamespace: 'default', podLabel: 'app=ingress' };
  await client.create({
    ...kind,
    metadata: { name, namespace },
    spec: { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1, ips: [ip], match },
  });
  await until('the address is active', async () => {
    const { status } = (await client.get(POOL)) as unknown as {
      readonly status?: { readonly ips?: Readonly<Record<string, { readonly state: string }>> };
    };
    return status?.ips?.[ip]?.state === 'active';
  });
  demand(cloud.state.reservedIPs.get(ip)?.dropletId === droplet.id, `${ip} is active, and not on the droplet`);
}

async function commands(store: ImageStore): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  const said = await podman(store, 'run', '--rm', ...RUN, IMAGE, '--version');
  demand(said.status === 0 && said.output.trim() === version, `--version printed ${said.output}`);
  const user = await podman(store, 'run', '--rm', ...RUN, '--entrypoint', 'id', IMAGE, '-u');
  demand(/^[1-9]\d*\s*$/.test(user.output), `the image starts as ${user.output}`);
}

async function size(store: ImageStore): Promise<void> {
  const inspected = await podman(store, 'image', 'inspect', '--format', '{{.Size}}', IMAGE);
  const megabytes = Math.round(Number(inspected.output) / 1e6);
  console.log(`        ${megabytes} MB uncompressed`);
  demand(megabytes > 0 && megabytes < MOST_MB, `the image has ${megabytes} MB, more than ${MOST_MB}`);
}

/** Why containers cannot be started, or null when they can. */
async function whyNoContainers(store: ImageStore): Promise<string | null> {
  const tried = await podman(store, 'run', '--rm', ...RUN, '--entrypoint', 'true', IMAGE);
  return tried.status === 0 ? null : tried.output.trim().slice(-300);
}

const skip = (why: string, checks: number): number => {
  console.log(`skipped the image: ${why}`);
  console.log(`0 passed, 0 failed, ${checks} skipped`);
  return 0;
};

async function main(): Promise<number> {
  const none = whyNoBuilder();
  if (none !== null) return skip(none, 4);
  const work = mkdtempSync(join(tmpdir(), 'routedip-image-'));
  const store = new ImageStore(join(work, 'images'));
  let around: Surroundings | undefined;
  try {
    console.log(`        base from ${provideBases(store, join(ROOT, 'Dockerfile'), work, ROOT)}`);
    buildImage(store, IMAGE, work, ROOT);
    const [init, operator] = shippedContainers(join(ROOT, 'deploy/operator.yaml'));
    if (!init || !operator) throw new Error('deploy/operator.yaml has no container that makes the password');
    const unable = await whyNoContainers(store);
    around = await surroundings(work);
    const stage = around;
    let password = '';
    const inContainers: readonly (readonly [string, () => Promise<void>])[] = [
      ['starts its commands, as a user that is not root', () => commands(store)],
      [
        'makes the password of Redis under the security context that is shipped, as any user',
        async () => {
          password = await makesPassword(store, init, stage);
        },
      ],
      [
        'is ready, serves a pool and stops under the security context that is shipped, as any user',
        () => operates(store, operator, stage, password),
      ],
    ];
    if (unable !== null) console.log(`skipped what needs containers to run: ${unable}`);
    const checks = [['is built, and no larger than it has to be', () => size(store)] as const, ...(unable === null ? inContainers : [])];
    const failed = await report(checks);
    console.log(`${checks.length - failed} passed, ${failed} failed${unable === null ? '' : `, ${inContainers.length} skipped`}`);
    return failed === 0 ? 0 : 1;
  } catch (error) {
    console.log(`FAILED  the image: ${error instanceof CommandFailed ? `${error.message}\n${error.output.slice(-3000)}` : String(error)}`);
    console.log('0 passed, 1 failed');
    return 1;
  } finally {
    await around?.close();
    store.remove();
    rmSync(work, { recursive: true, force: true });
  }
}

async function report(checks: readonly (readonly [string, () => Promise<void>])[]): Promise<number> {
  let failed = 0;
  for (const [what, check] of checks) {
    try {
      await check();
      console.log(`ok      the image ${what}`);
    } catch (error) {
      failed++;
      console.log(`FAILED  the image ${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed;
}

process.exitCode = await main();
