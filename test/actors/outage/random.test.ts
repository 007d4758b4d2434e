import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../adapters/memory/random.ts';
import { extent } from '../../support/extent.ts';
import { ingress } from '../../support/setups.ts';
import { expectSound } from '../../support/sound.ts';
import { node, type OperatorProcess, World } from '../../support/world.ts';

const SEED = Number(process.env.ROUTEDIP_SEED ?? 20_260_101);
const RUNS = Number(process.env.ROUTEDIP_AWAY_RUNS ?? extent(60, 8));
const SECOND = 1000;
const NODES = ['a', 'b', 'c', 'd', 'e'];
const ADDRESSES = ['203.0.113.207', '203.0.113.208'];

/** Redis goes and comes back, nodes fail and come back, processes end at any point and others start: never two assigns that could meet, and in the end all is served. */
async function play(seed: number): Promise<{ readonly assigns: number; readonly aways: number }> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  const world = new World({ away: true, lagMs: random() < 0.5 ? 3_000 : 0, provider: { actionMs: 1_500 } });
  const ref = ingress(world, { nodes: NODES, addresses: { [ADDRESSES[0] ?? '']: 'a', [ADDRESSES[1] ?? '']: 'b' } });
  const bad = new Set<string>();
  let left = Number.POSITIVE_INFINITY;
  const kills = (): boolean => {
    left -= 1;
    return left === 0;
  };
  const start = (): Promise<OperatorProcess> => world.start(kills);
  await start();
  if (random() < 0.5) await start();
  await world.clock.advance(30 * SECOND);
  let isDown = false;
  const acts: Readonly<Record<string, () => unknown>> = {
    lose: () => {
      const name = pick(NODES.filter((each) => !bad.has(each)));
      if (name === undefined || bad.size > 2) return;
      bad.add(name);
      world.cluster.setNode(node(name, { ready: false }));
    },
    // In the middle of a failover: its node fails, and right after something else happens, and the node that was chosen fails too.
    storm: async () => {
      const holder = world.holderOf(pick(ADDRESSES) ?? '');
      if (holder === null || bad.size > 2) return;
      if (random() < 0.7) acts.hang?.();
      bad.add(holder);
      world.cluster.setNode(node(holder, { ready: false }));
      await world.clock.advance(random() * 2 * SECOND);
      await acts[pick(['toggle', 'kill', 'cut', 'arm', 'flap']) ?? '']?.();
      await world.clock.advance(random() * 4 * SECOND);
      acts.lose?.();
      await acts[pick(['toggle', 'start', 'kill', 'mend']) ?? '']?.();
    },
    find: () => {
      const name = pick([...bad]);
      if (name === undefined) return;
      bad.delete(name);
      world.cluster.setNode(node(name));
    },
    toggle: () => {
      isDown = !isDown;
      if (isDown) [world.store.goDown(), world.queues.goDown()];
      else [world.store.comeBack(), world.queues.comeBack()];
    },
    // It comes back with nothing of what it had, or as another server.
    empty: () => {
      if (isDown) [world.store.wipe(), world.queues.wipe()];
    },
    replace: () => world.store.restart(),
    flap: async () => {
      for (let times = 0; times < 6; times += 1) {
        await acts.toggle?.();
        await world.clock.advance(random() * 6 * SECOND);
      }
    },
    cut: () => {
      const process = pick(world.processes);
      process?.store.cut();
    },
    mend: () => {
      for (const process of world.processes) process.store.mend();
    },
    hang: () => world.provider.faults.next('assignRoutedIP', { kind: 'hang', ...(random() < 0.7 && { effectAfterMs: random() * 14_900 }) }),
    kill: () => pick(world.processes)?.kill(),
    arm: () => {
      left = 1 + Math.floor(random() * 20);
    },
    start: () => (world.processes.length < 2 ? start() : undefined),
  };
  const weighted = [
    'lose',
    'storm',
    'storm',
    'storm',
    'find',
    'find',
    'toggle',
    'toggle',
    'empty',
    'replace',
    'flap',
    'cut',
    'mend',
    'kill',
    'arm',
    'hang',
    'start',
    'start',
  ];
  for (let step = 0; step < 25; step += 1) {
    await acts[pick(weighted) ?? '']?.();
    await world.clock.advance(random() < 0.5 ? random() * 3 * SECOND : random() * 40 * SECOND);
  }
  left = Number.POSITIVE_INFINITY;
  if (isDown) await acts.toggle?.();
  for (const process of world.processes) process.store.mend();
  for (const name of bad) world.cluster.setNode(node(name));
  if (world.processes.length === 0) await start();
  await world.clock.runUntil(
    () => ADDRESSES.every((address) => (world.states(ref) as Record<string, string>)[address] === 'active'),
    600 * SECOND,
  );
  await world.clock.advance(120 * SECOND);
  expectSound(world);
  const aways = world.log.filter(({ message }) => message === 'goes on without the store').length;
  for (const process of world.processes) process.kill();
  return { assigns: world.assigns().length, aways };
}

describe('whenever Redis goes away and comes back', () => {
  test(`no assign meets another one, and all are served in the end (seed ${SEED}, ${RUNS} runs)`, { timeout: 300_000 }, async () => {
    let [assigns, aways] = [0, 0];
    const failed: string[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      try {
        const played = await play(SEED + run);
        assigns += played.assigns;
        aways += played.aways;
      } catch (error) {
        failed.push(`seed ${SEED + run}: ${String(error).slice(0, 700)}`);
      }
    }
    console.log({ assigns, aways, failed: failed.length });
    expect(failed).toEqual([]);
    expect([assigns > RUNS, aways > RUNS / 2]).toEqual([true, true]);
  });
});
