import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { install, replicas, rolledOut, uninstall } from './install.ts';
import { isReady, leader, OPERATOR, type Pod, podsOf, processesOf, REDIS, untilLed } from './pods.ts';
import { NAMESPACE, type NodeStage, note, openStage, tellOnFailure } from './stage.ts';

const POOL = 'ingress';

let stage: NodeStage;
let address: string;

beforeAll(async () => {
  stage = await openStage();
  for (const name of ['a', 'b', 'c']) await stage.nodes.add(name);
  address = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
  await install(stage, stage.overlay([]));
  await stage.pool(POOL, address);
  await served();
});
afterAll(async () => {
  await uninstall(stage);
  await stage.close();
});
beforeEach(() => tellOnFailure(stage));

/** Resolves with the node that has the address. */
async function served(): Promise<string> {
  let node: string | null = null;
  await stage.until('the address is active', async () => {
    node = await stage.activeOn(POOL, address);
    return node !== null;
  });
  return node ?? '';
}

/** The node that has the address dies, and `meanwhile` happens in the moment in which the node controller says so. Resolves when the address is active on another one. */
async function nodeDies(what: string, meanwhile: () => unknown = () => undefined): Promise<void> {
  const from = await served();
  const begun = stage.cloud.calls.select({ writes: true }).length;
  stage.nodes.die(from);
  await stage.until('the node controller gives the node up', () => stage.nodes.isUnknown(from));
  const at = performance.now();
  const done = meanwhile();
  await stage.until('the address is active on another node', async () => ![null, from].includes(await stage.activeOn(POOL, address)));
  note(`failover, ${what}: after the node controller's verdict`, at);
  await done;
  const to = await served();
  expect(to).not.toBe(from);
  // Whatever died meanwhile, nobody took the address away from the node that had got it.
  const writes = stage.cloud.calls.select({ writes: true }).slice(begun);
  expect(writes.map(({ path, body }) => [path, (body as { type?: string }).type])).toContainEqual([
    `/v2/reserved_ips/${address}/actions`,
    'assign',
  ]);
  expect(writes.filter(({ body }) => (body as { type?: string } | null)?.type === 'unassign')).toEqual([]);
  await stage.until('the Node says so', async () => (await stage.nodes.annotation(to)) === address);
  await stage.nodes.revive(from);
}

/** Ends what runs in a Pod, as a crash does. */
function kill(pod: Pod): void {
  const pids = processesOf(pod);
  expect(pids).not.toEqual([]);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
}

const eventsOf = ({ metadata }: Pod): Promise<string> =>
  stage.kubectl('--namespace', NAMESPACE, 'get', 'events', `--field-selector=involvedObject.uid=${metadata.uid}`);

const restarts = (pod: Pod): number => pod.status.containerStatuses?.[0]?.restartCount ?? 0;

describe('an address on a node that dies', () => {
  test('is active on another node as soon as the node controller has given the first one up', () => nodeDies('nothing else'));

  test('is moved though the Pod of the leader is deleted in that moment', async () => {
    const { metadata } = await untilLed(stage);
    await nodeDies('the leader’s Pod is deleted', () => stage.kubectl('--namespace', NAMESPACE, 'delete', 'pod', metadata.name));
    expect((await untilLed(stage)).metadata.name).not.toBe(metadata.name);
    await replicas(stage);
  });

  test('is moved though the process of the leader is killed in that moment', async () => {
    const led = await untilLed(stage);
    await nodeDies('the leader is killed', () => kill(led));
    await stage.until('its container is started anew', async () =>
      (await podsOf(stage, OPERATOR)).some((pod) => pod.metadata.uid === led.metadata.uid && restarts(pod) === restarts(led) + 1),
    );
    await replicas(stage);
  });

  test('is moved though Redis is killed in that moment, which keeps what it has acknowledged', async () => {
    const redis = () => podsOf(stage, REDIS).then(([pod]) => pod);
    const pod = await redis();
    if (!pod) throw new Error('there is no Redis');
    const cli = (...args: readonly string[]) =>
      stage.kubectl('--namespace', NAMESPACE, 'exec', pod.metadata.name, '--', 'redis-cli', '-e', ...args);
    expect((await cli('set', '{kept}', 'yes')).trim()).toBe('OK');
    await nodeDies('Redis is killed', () => kill(pod));
    await stage.until('Redis is ready anew', async () => {
      const now = await redis();
      return now !== undefined && isReady(now) && restarts(now) === restarts(pod) + 1;
    });
    expect((await cli('get', '{kept}')).trim()).toBe('yes');
    await replicas(stage);
    const logs = await stage.kubectl('--namespace', NAMESPACE, 'logs', `--selector=${OPERATOR}`, '--tail=-1');
    expect(logs).not.toContain('the store was emptied');
  });

  test('is moved in the middle of a rollout', async () => {
    const before = (await replicas(stage)).map(({ metadata }) => metadata.name);
    await nodeDies('during a rollout', () => stage.kubectl('--namespace', NAMESPACE, 'rollout', 'restart', 'deployment/routedip-operator'));
    await rolledOut(stage);
    const after = (await replicas(stage)).map(({ metadata }) => metadata.name);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
  });

  test('is moved while the other replica hangs, which is told by its probes: not ready, then started anew', async () => {
    const led = await untilLed(stage);
    const other = (await replicas(stage)).find(({ metadata }) => metadata.uid !== led.metadata.uid);
    if (!other) throw new Error('there is one replica only');
    const now = async () => (await podsOf(stage, OPERATOR)).find(({ metadata }) => metadata.uid === other.metadata.uid);
    const hung = performance.now();
    const processes = processesOf(other);
    for (const pid of processes) process.kill(pid, 'SIGSTOP');
    await nodeDies('the other replica hangs');
    await stage.until('it is not ready', async () => {
      const pod = await now();
      return pod !== undefined && !isReady(pod);
    });
    note('a replica that hangs: not ready', hung);
    expect((await leader(stage))?.metadata.uid).toBe(led.metadata.uid);
    await stage.until('its container is asked to end', async () =>
      (await eventsOf(other)).includes('failed liveness probe, will be restarted'),
    );
    note('a replica that hangs: asked to end', hung);
    // Else it would be killed at the end of its grace period.
    for (const pid of processes) process.kill(pid, 'SIGCONT');
    await stage.until('it is started anew', async () => {
      const pod = await now();
      return pod !== undefined && restarts(pod) === restarts(other) + 1 && isReady(pod);
    });
  });
});
