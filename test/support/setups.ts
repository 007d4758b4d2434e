import type { Json } from '../../actors/ports/records.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { node, type World } from './world.ts';

interface Ingress {
  /** Names of Ready nodes, each with its machine. */
  readonly nodes: readonly string[];
  /** The addresses that the pool lists, each with the node that holds it; null for none. */
  readonly addresses?: Readonly<Record<string, string | null>>;
  /** More of the spec. */
  readonly [field: string]: Json | undefined;
}

/** A pool named `ingress`, and what is there before anybody runs it. */
export function ingress(world: World, { nodes, addresses = {}, ...spec }: Ingress): ObjectRef {
  world.nodes(...nodes.map((name) => node(name)));
  for (const [address, holder] of Object.entries(addresses)) world.address(address, holder);
  const ips = Object.keys(addresses);
  return world.pool('ingress', { ...(ips.length > 0 && { ips }), ...(spec as { readonly [field: string]: Json }) });
}

/** The node turns NotReady. */
export const lose = (world: World, name: string): void => world.cluster.setNode(node(name, { ready: false }));

/** Waits until that many assigns were sent in all. */
export const untilAssigns = (world: World, count: number, maxMs = 60_000): Promise<number> =>
  world.clock.runUntil(() => world.assigns().length === count, maxMs);

/** From each assign that was sent to the next one, ms. */
export function gaps(world: World): readonly number[] {
  const times = world.assigns().map(({ at }) => at);
  return times.slice(1).map((at, index) => at - (times[index] ?? Number.NaN));
}

/** Ends every process without a word. */
export const killAll = (world: World): void => {
  for (const process of world.processes) process.kill();
};
