import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type NodeStage, openStage, tellOnFailure } from '../node/stage.ts';
import { buildsOf } from '../upgrade/builds.ts';
import { callsOf } from '../upgrade/calls.ts';
import type { Act, History, Mark, StageRecord } from '../upgrade/history.ts';
import { Observer } from '../upgrade/observer.ts';
import { RULES } from '../upgrade/rules.ts';
import { tableOf } from '../upgrade/table.ts';
import { Deployed } from './deployed.ts';

const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
const DEADLINE_MS = 180_000;
const GIVEN = 2;

const builds = buildsOf(process.env);
const acts: Act[] = [];
const marks: Mark[] = [];
const stages: StageRecord[] = [];
const notes: string[] = [];
let stage: NodeStage;
let deployed: Deployed;
let observer: Observer;
let addresses: readonly string[];
let wanted = GIVEN;

beforeAll(async () => {
  stage = await openStage();
  deployed = new Deployed(stage, builds);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) await stage.nodes.add(name);
  addresses = Array.from({ length: GIVEN }, () => stage.cloud.addReservedIP({ region: 'nyc3' }).ip);
});
afterAll(async () => {
  observer?.close();
  await deployed.uninstall('old');
  await stage.close();
});
beforeEach(() => tellOnFailure(stage));

/** Something happens, and meanwhile the node of an address dies and one more address is wanted. Resolves when all of it is done. */
async function happens(number: number, what: string, run: () => Promise<unknown>): Promise<void> {
  const from = Date.now();
  if (stages.length !== number - 1) throw new Error(`stage ${number - 1} did not come to its end`);
  await Promise.all([
    act(number, what, run),
    act(number, 'an address fails over', failsOver),
    act(number, 'a pool gets one more address', grows),
  ]);
  const version = await deployed.version();
  await deployed.led();
  await deployed.listen(version);
  const created = stage.cloud.state.reservedIPs.size - GIVEN;
  stages.push({ number, leads: version, follows: version, from, to: Date.now(), rest: { created, wanted: wanted - GIVEN, unowned: [] } });
  notes.push(what);
}

async function act(number: number, what: string, run: () => Promise<unknown>): Promise<void> {
  const from = Date.now();
  const index = acts.push({ stage: number, what, from, to: null, deadlineMs: DEADLINE_MS, notBeforeMs: 0 }) - 1;
  await run();
  acts[index] = { stage: number, what, from, to: Date.now(), deadlineMs: DEADLINE_MS, notBeforeMs: 0 };
}

async function failsOver(): Promise<void> {
  const [address = ''] = addresses;
  const from = stage.nodes.holderOf(address) ?? '';
  marks.push({ kind: 'down', node: from, at: Date.now() });
  stage.nodes.die(from);
  await stage.until('the address is active on another node', async () => ![null, from].includes(await stage.activeOn(POOL.name, address)));
  marks.push({ kind: 'up', node: from, at: Date.now() });
  await stage.nodes.revive(from);
}

async function grows(): Promise<void> {
  wanted += 1;
  await stage.client.patch(POOL, { spec: { desiredIPs: wanted } });
  await stage.until('the address is active', async () => {
    const { status } = (await stage.client.get(POOL)) as { readonly status?: { readonly activeIPs?: number } };
    return status?.activeIPs === wanted;
  });
}

const history = (): History => ({
  stages,
  calls: callsOf(
    'digitalocean',
    stage.cloud.calls.select({ writes: true }),
    () => null,
    (droplet) => stage.nodes.nameOf(droplet) ?? String(droplet),
  ),
  statuses: observer.statuses,
  marks,
  acts,
  processes: deployed.records,
  doubles: observer.doubles,
});

describe('a Deployment that is upgraded and rolled back', () => {
  test('has a pool with the old version', async () => {
    await deployed.install('old');
    await stage.pool(POOL.name, ...addresses);
    for (const address of addresses)
      await stage.until('the address is active', async () => (await stage.activeOn(POOL.name, address)) !== null);
    expect(await deployed.version()).toBe('old');
    observer = new Observer({ adminKubeconfig: stage.kubeconfig });
    await observer.start();
  });

  test('1: the old version, rolled out anew', () => happens(1, 'kubectl rollout restart', () => deployed.restart()));
  test('2: all manifests of the new version are applied', async () => {
    await happens(2, 'kubectl apply of the new version', () => deployed.apply('new'));
    expect(await deployed.version()).toBe('new');
  });
  test('3: the new version', () => happens(3, 'the new version goes on', async () => undefined));
  test('4: kubectl rollout undo', async () => {
    await happens(4, 'kubectl rollout undo', () => deployed.undo());
    expect(await deployed.version()).toBe('old');
  });
  test('5: the old version under the new definitions and roles', () => happens(5, 'the old version goes on', async () => undefined));
  test('6: the new version again', async () => {
    await happens(6, 'kubectl apply of the new version', () => deployed.apply('new'));
    expect(await deployed.version()).toBe('new');
  });
  test('7: all manifests of the old version are applied', async () => {
    await happens(7, 'kubectl apply of the old version', () => deployed.apply('old'));
    expect(await deployed.version()).toBe('old');
  });

  for (const [rule, wrongs] of Object.entries(RULES)) {
    test(`${rule}, over all of it`, () => expect(wrongs(history())).toEqual([]));
  }

  test('has a history, which is printed', () => {
    console.log(`rolled from ${builds.commit.slice(0, 12)} and back\n${tableOf(history(), notes)}`);
    expect(history().calls.filter(({ kind }) => kind === 'assign').length).toBeGreaterThanOrEqual(GIVEN + stages.length * 2);
    expect(history().statuses.length).toBeGreaterThan(stages.length);
  });
});
