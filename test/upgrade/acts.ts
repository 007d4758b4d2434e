import { HTTP, NODE_PORT } from '../e2e/routed-objects.ts';
import { externalOf, scriptJobs, wantRoutedIP } from './setting.ts';
import type { World } from './world.ts';

/** So long a Job that assigns has no Pod: long enough that the new version tells people why, ms. */
const REFUSED_MS = 10_000;
/** It is so where the new version runs jobs under the old one's lead, and where it is alone and certainly tells. */
const REFUSED_IN: readonly number[] = [2, 4, 6];
const TOLD_IN = 4;

/** What is asked for in every stage, all of it at once. */
export async function busyStage(world: World): Promise<void> {
  const refusedMs = REFUSED_IN.includes(world.stage) ? REFUSED_MS : 0;
  await Promise.all([
    world.act('an address of a pool fails over', () => poolFailsOver(world)),
    world.act('a RoutedIP fails over', () => routedFailsOver(world)),
    world.act('a RoutedIP that Jobs drive fails over', () => platformFailsOver(world, refusedMs), refusedMs),
    world.act('a pool gets one more address', () => poolGrows(world)),
    world.act('a Service has another port', () => portChanges(world)),
    world.act('a RoutedIP is created and deleted', () => comesAndGoes(world)),
    world.act('a Service gets an address of an IPGroup, another gives its own back', () => vipsChange(world)),
  ]);
}

/** Fails the node of one of the pool's addresses; the name of all nodes follows. */
export async function poolFailsOver(world: World): Promise<void> {
  const { routed, zones } = world;
  const { stage } = routed;
  const { ips = {} } = (await stage.getPool('ingress')).status ?? {};
  const victim = world.oneOf(Object.keys(ips).filter((address) => ips[address]?.state === 'active'));
  await failOver(world, stage.heldBy(victim) ?? '', async (from) => {
    await world.until(`${victim} is active elsewhere than on ${from}`, async () => {
      const now = await stage.activeOn('ingress', victim);
      return now !== null && now !== from && stage.heldBy(victim) === now;
    });
    await world.until(`${from} is not listed`, () => !zones.nodes.records('nodes').includes(`A ${externalOf(from)} 60`));
  });
}

async function routedFailsOver(world: World): Promise<void> {
  const { routed } = world;
  await routed.stable('shop');
  await failOver(world, (await routed.status('shop'))?.assignedNode ?? '', (from) => leaves(world, 'shop', from));
}

/** Where its Job has no Pod at first, what it waits for is told in the form of whoever runs the job, to whoever leads. */
async function platformFailsOver(world: World, refusedMs: number): Promise<void> {
  const { routed, stage } = world;
  await routed.stable('platform');
  scriptJobs(world, refusedMs);
  await failOver(world, (await routed.status('platform'))?.assignedNode ?? '', async (from) => {
    if (stage === TOLD_IN) await routed.degraded('platform', 'FailedCreate');
    await leaves(world, 'platform', from);
  });
}

async function leaves({ routed, until }: World, name: string, from: string): Promise<void> {
  await until(`RoutedIP ${name} is stable elsewhere than on ${from}`, async () => {
    const now = await routed.status(name);
    return now?.state === 'Stable' && now.assignedNode !== undefined && now.assignedNode !== from;
  });
}

/** The node is not ready until `done` resolves. */
async function failOver(world: World, node: string, done: (from: string) => Promise<void>): Promise<void> {
  const { stage } = world.routed;
  world.mark({ kind: 'down', node });
  await stage.notReady(node);
  await done(node);
  world.mark({ kind: 'up', node });
  await stage.ready(node);
}

export async function poolGrows(world: World): Promise<void> {
  const { stage } = world.routed;
  const { desiredIPs = 0 } = (await stage.getPool('ingress')).spec;
  world.wanted += 1;
  await stage.editPool('ingress', { desiredIPs: desiredIPs + 1 });
  await world.until(`${desiredIPs + 1} addresses of the pool are active`, async () => {
    const { spec, status } = await stage.getPool('ingress');
    return spec.ips?.length === desiredIPs + 1 && status?.activeIPs === desiredIPs + 1;
  });
}

/** The new port is opened, the former one closed. */
export async function portChanges(world: World): Promise<void> {
  const { routed } = world;
  const before = NODE_PORT + world.portChanges;
  world.portChanges += 1;
  await routed.editService('shop', { ports: [{ ...HTTP, nodePort: before + 1 }] });
  await world.until(`port ${before + 1} is open in the place of ${before}`, () => {
    const { ports } = routed.firewall();
    return ports.includes(`tcp/${before + 1}`) && !ports.includes(`tcp/${before}`);
  });
}

/** Its address is created for it and deleted with it. */
async function comesAndGoes(world: World): Promise<void> {
  const { routed, stage } = world;
  const name = `fleeting-${stage}`;
  await wantRoutedIP(world, name, 'fleeting');
  const address = await routed.stable(name);
  world.mark({ kind: 'removed', object: `RoutedIP ${name}`, address });
  await routed.deleteRoutedIP(name);
  await world.until(`RoutedIP ${name} and its address are gone`, async () => {
    return (await routed.status(name)) === null && !routed.stage.cloud.state.reservedIPs.has(address);
  });
}

/** One Service comes in each stage, and goes in the next. */
async function vipsChange(world: World): Promise<void> {
  const { vips, stage } = world;
  await vips.service(`vip-${stage}`);
  await world.until(`Service vip-${stage} lists an address`, async () => (await vips.listed(`vip-${stage}`)) !== '');
  if (stage === 1) return;
  const former = `vip-${stage - 1}`;
  world.mark({ kind: 'removed', object: `Service ${former}`, address: null });
  await vips.remove(former);
  await world.until(`the address of ${former} is free`, async () => !Object.values(await vips.reserved()).includes(`default/${former}`));
}
