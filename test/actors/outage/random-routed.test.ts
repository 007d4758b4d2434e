import { expect, test } from 'vitest';
import { seededRandom } from '../../../adapters/memory/random.ts';
import type { ObservedNode } from '../../../machines/model/types.ts';
import { aways } from '../../support/away-crash.ts';
import { playAll, storms } from '../../support/away-storms.ts';
import { extent } from '../../support/extent.ts';
import { node } from '../../support/world.ts';
import { expectOpen, ROUTED, stable } from '../crash/routed-scenarios.ts';
import { FIREWALL, MINUTE, servicePort } from '../routedip/world.ts';

const SEED = Number(process.env.ROUTEDIP_SEED ?? 20_260_101);
const RUNS = Number(process.env.ROUTEDIP_AWAY_RUNS ?? extent(30, 5));
const NODES = ['a', 'b', 'c', 'd'].map((name, index) => node(name, { createdAt: index + 1 }));
const NAMES = ['shop', 'blog'];
const HANGING = [
  'assignRoutedIP',
  'assignRoutedIP',
  'addRoutedIPFirewallPort',
  'addRoutedIPFirewallNode',
  'deleteRoutedIPFirewallPort',
  'deleteRoutedIPFirewallNode',
] as const;

/** Two RoutedIPs that share a firewall, while Redis comes and goes: in the end each has its one address on a node that is well, and only what is claimed is open. */
async function play(seed: number): Promise<{ readonly assigns: number; readonly aways: number }> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  const world = ROUTED({ away: true, lagMs: random() < 0.5 ? 3_000 : 0, provider: { actionMs: 1_500 } });
  world.setClass({ firewallPostAllow: random() < 0.3 });
  world.setNode(...NODES);
  const all = NODES.map(({ name }) => name);
  const refs = NAMES.map((name) => {
    world.setWeb(name, all);
    return world.setRoutedIP(name);
  });
  const ports: Record<string, number> = Object.fromEntries(NAMES.map((name) => [name, 8080]));
  const bad = new Set<ObservedNode>();
  await storms({
    world,
    random,
    steps: 20,
    weights: ['lose', 'lose', 'lose', 'find', 'find', 'port', 'port', 'hang', 'hang', 'blind', 'see'],
    acts: {
      lose: () => {
        const found = pick(NODES.filter((each) => !bad.has(each)));
        if (!found || bad.size > 1) return;
        bad.add(found);
        world.cluster.setNode({ ...found, ready: false });
      },
      find: () => {
        const found = pick([...bad]);
        if (!found) return;
        bad.delete(found);
        world.cluster.setNode(found);
      },
      port: () => {
        const name = pick(NAMES) ?? '';
        ports[name] = 8080 + Math.floor(random() * 3);
        world.setWeb(name, all, { ports: [servicePort(ports[name])] });
      },
      blind: () => pick(world.processes)?.lease.cut(),
      see: () => world.processes.map(({ lease }) => lease.mend()),
      hang: () =>
        world.provider.faults.next(pick(HANGING) ?? 'assignRoutedIP', {
          kind: 'hang',
          ...(random() < 0.7 && { effectAfterMs: random() * 14_900 }),
        }),
    },
  });
  for (const { lease } of world.processes) lease.mend();
  world.cluster.setNode(...bad);
  const on = (): readonly string[] => refs.map((ref) => String(world.statusOf(ref).assignedNode));
  await world.clock.runUntil(() => refs.every((ref, index) => stable(world, ref, on()[index] ?? '')), 15 * MINUTE);
  await world.clock.advance(5 * MINUTE);
  expect(refs.map((ref, index) => stable(world, ref, on()[index] ?? ''))).toEqual([true, true]);
  expectOpen(world, { [FIREWALL]: { ports: [...new Set(Object.values(ports))].map((port) => `tcp/${port}`), nodes: [...new Set(on())] } });
  for (const process of world.processes) process.kill();
  return { assigns: world.assigns().length, aways: aways(world) };
}

test(`RoutedIPs are well in the end, wherever Redis goes and comes back (seed ${SEED}, ${RUNS} runs)`, { timeout: 600_000 }, async () => {
  const { sums, failed } = await playAll(SEED, RUNS, play);
  expect(failed).toEqual([]);
  expect(sums.assigns).toBeGreaterThan(2 * RUNS);
  expect(sums.aways).toBeGreaterThan(RUNS / 2);
});
