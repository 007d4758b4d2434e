import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { giveToken, leftBehind, replicas, rolledOut, uninstall } from './install.ts';
import { isReady, OPERATOR, type Pod, podsOf, processesOf, REDIS, secondsToReady, untilLed } from './pods.ts';
import { NAMESPACE, type NodeStage, note, openStage, ROOT, tellOnFailure } from './stage.ts';

const BUNDLE = join(ROOT, 'deploy/bundle.yaml');
const PASSWORD_SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: 'routedip-operator-redis' };
const HELD = 'example.com/held';

let stage: NodeStage;
let address: string;

beforeAll(async () => {
  stage = await openStage();
  for (const name of ['a', 'b']) await stage.nodes.add(name);
  address = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
});
afterAll(() => stage.close());
beforeEach(() => tellOnFailure(stage));

const inNamespace = (...args: readonly string[]): Promise<string> => stage.kubectl('--namespace', NAMESPACE, ...args);

async function redis(): Promise<Pod> {
  const [pod] = await podsOf(stage, REDIS);
  if (!pod) throw new Error('there is no Pod of Redis');
  return pod;
}

/** The StatefulSet has no Pod for a moment after one has ended. */
async function redisIsReady(): Promise<boolean> {
  const [pod] = await podsOf(stage, REDIS);
  return pod !== undefined && isReady(pod);
}

const inRedis = async (...command: readonly string[]): Promise<string> =>
  (await inNamespace('exec', (await redis()).metadata.name, '--', ...command)).trim();

const password = async (): Promise<string> => {
  const { data } = (await stage.client.get(PASSWORD_SECRET)) as unknown as { readonly data: { readonly REDIS_PASSWORD: string } };
  return Buffer.from(data.REDIS_PASSWORD, 'base64').toString();
};

/** What the kernel says of a Pod's process. */
const kernelSays = (pod: Pod, what: string): string => {
  const [pid] = processesOf(pod);
  return new RegExp(`^${what}:\\s+(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
};

/** Deletes the Pod and resolves with its exit code. */
async function ends(pod: Pod): Promise<number | undefined> {
  const { name, namespace, uid } = pod.metadata;
  const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name };
  // So that it can be looked at when it has ended.
  await stage.client.patch(ref, { metadata: { finalizers: [HELD] } });
  const at = performance.now();
  await inNamespace('delete', 'pod', name, '--wait=false');
  let code: number | undefined;
  await stage.until(`${name} has ended`, async () => {
    const now = (await stage.client.get(ref)) as unknown as Pod;
    expect(now.metadata.uid).toBe(uid);
    code = now.status.containerStatuses?.[0]?.state.terminated?.exitCode;
    return code !== undefined;
  });
  note(`${name} ends`, at);
  await stage.client.patch(ref, { metadata: { finalizers: null } });
  return code;
}

describe('deploy/bundle.yaml on an empty cluster', () => {
  test('has a Redis that waits for the Secret with its password', async () => {
    await stage.kubectl('apply', '--filename', join(ROOT, 'deploy/namespace.yaml'), '--filename', join(ROOT, 'deploy/redis.yaml'));
    await stage.until('it is told what is missing', async () => {
      const waiting = (await podsOf(stage, REDIS))[0]?.status.containerStatuses?.[0]?.state.waiting;
      return waiting?.reason === 'CreateContainerConfigError' && (waiting.message ?? '').includes(PASSWORD_SECRET.name);
    });
  });

  test('has two replicas ready, and the Redis that one of them made the password for', async () => {
    const at = performance.now();
    await stage.kubectl('apply', '--filename', BUNDLE);
    await rolledOut(stage);
    const ready = await replicas(stage);
    note('from kubectl apply to two ready replicas', at);
    console.log(`from a Pod's creation to Ready: ${ready.map((pod) => `${secondsToReady(pod)} s`).join(', ')}`);
    expect(await password()).toMatch(/^\w{64}$/);
    await stage.until('Redis is ready', redisIsReady);
    await untilLed(stage);
  });

  test('serves a pool once it has a token, given as the documentation says', async () => {
    await giveToken(stage);
    // The operator calls the real DigitalOcean unless it is told otherwise.
    await inNamespace('set', 'env', 'deployment/routedip-operator', `DIGITALOCEAN_API_URL=${stage.cloud.url}`);
    await rolledOut(stage);
    await stage.pool('ingress', address);
    await stage.until('the address is active', async () => (await stage.activeOn('ingress', address)) !== null);
  });

  test('runs its Pods as any user but root, with nothing that they may do or write, within the memory that they may have', async () => {
    for (const pod of [...(await replicas(stage)), await redis()]) {
      const { name } = pod.metadata;
      const own = (...command: readonly string[]) => inNamespace('exec', name, '--', ...command);
      expect(Number(kernelSays(pod, 'Uid').split(/\s+/)[0]), name).toBeGreaterThan(0);
      expect(kernelSays(pod, 'CapEff'), name).toMatch(/^0+$/);
      expect(kernelSays(pod, 'NoNewPrivs'), name).toBe('1');
      expect(kernelSays(pod, 'Seccomp'), name).toBe('2');
      for (const folder of ['/', '/tmp', '/app', '/etc']) {
        await expect(own('sh', '-c', `mkdir -p ${folder} && echo > ${folder}/written`), `${name} writes to ${folder}`).rejects.toThrow(
          /Read-only/,
        );
      }
      const limit = await own('sh', '-c', 'cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes');
      expect(Number(limit), name).toBe(bytesOf(pod.spec.containers[0]?.resources?.limits?.memory));
      const most = Number.parseInt(kernelSays(pod, 'VmHWM'), 10) * 1024;
      console.log(`${name}: ${Math.round(most / 1024 / 1024)} MiB at most, of ${Number(limit) / 1024 / 1024}`);
      expect(most, name).toBeGreaterThan(0);
      expect(most, name).toBeLessThan(Number(limit));
    }
  });

  test('has Redis with the settings that are shipped, for who has the password, which nobody can read who lists processes', async () => {
    const settings = { aof_enabled: '1', maxmemory_policy: 'noeviction', maxmemory: String(256 * 1024 * 1024), configured_hz: '100' };
    const told = (await inRedis('redis-cli', '-e', 'info', 'everything')).split(/\r?\n/);
    for (const [name, value] of Object.entries(settings)) expect(told).toContain(`${name}:${value}`);
    await expect(inRedis('redis-cli', '-e', 'config', 'get', 'save')).rejects.toThrow();
    await expect(inRedis('env', 'REDISCLI_AUTH=another', 'redis-cli', '-e', 'ping')).rejects.toThrow(/WRONGPASS|NOAUTH/);
    const shown = await inRedis('cat', '/proc/1/cmdline');
    expect(shown).toContain('redis-server');
    expect(shown).not.toContain(await password());
    expect(await inRedis('ls', '/data')).toContain('appendonlydir');
  });

  test('lets one replica be evicted at a time', async () => {
    const [first, second] = await replicas(stage);
    if (!first || !second) throw new Error('there are not two replicas');
    const evict = ({ metadata: { name } }: Pod) =>
      stage.pipe(
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: NAMESPACE } }),
        'create',
        '--raw',
        `/api/v1/namespaces/${NAMESPACE}/pods/${name}/eviction`,
        '--filename=-',
      );
    await evict(first);
    await expect(evict(second)).rejects.toThrow(/disruption budget/);
    await stage.until('another replica is ready in its place', async () => {
      const pods = await podsOf(stage, OPERATOR);
      return pods.length === 2 && pods.every(isReady) && !pods.some(({ metadata }) => metadata.uid === first.metadata.uid);
    });
    await stage.until('the second may go', () =>
      evict(second).then(
        () => true,
        () => false,
      ),
    );
    await rolledOut(stage);
    await replicas(stage);
  });

  test('ends its Pods as they are asked to, without a kill', async () => {
    const led = await untilLed(stage);
    expect(await ends(led)).toBe(0);
    expect(await ends(await redis())).toBe(0);
    await replicas(stage);
    await stage.until('Redis is ready', redisIsReady);
    expect(await stage.activeOn('ingress', address)).not.toBeNull();
  });

  test('is taken away for good by what the documentation says, and leaves the address where it is', async () => {
    const holder = stage.nodes.holderOf(address);
    expect(holder).not.toBeNull();
    await uninstall(stage);
    await stage.kubectl(
      'annotate',
      'nodes',
      '--all',
      'flipop.digitalocean.com/ipv4-reserved-ip-',
      'flipop.digitalocean.com/ipv6-reserved-ip-',
    );
    expect(stage.nodes.holderOf(address)).toBe(holder);
    expect(await leftBehind(stage)).toEqual([]);
  });
});

/** Of a quantity as the manifests have it. */
function bytesOf(quantity = ''): number {
  const [, count, unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  return Number(count) * (unit === 'Gi' ? 1024 ** 3 : 1024 ** 2);
}
