import { expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { leading } from '../../support/replicas.ts';
import { ingress } from '../../support/setups.ts';
import { expectSound } from '../../support/sound.ts';
import { type OperatorProcess, World, type WorldOptions } from '../../support/world.ts';

export const A = '203.0.113.207';
export const B = '203.0.113.208';
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const BOTH = { [A]: 'active', [B]: 'active' } as const;

/** Its request arrives just before nobody waits for it any more. */
export const LATE = { kind: 'hang', effectAfterMs: 14_900 } as const;

/** What happens while Redis is away, and what must come of it. */
export interface Story {
  readonly name: string;
  /** @throws when something else comes of it */
  readonly play: (open: Opens) => Promise<void>;
}

/** Opens a world, which is looked at once more when the story is over. */
export interface Opens {
  (options?: WorldOptions): World;
  <W extends World>(options: WorldOptions, Kind: new (options: WorldOptions) => W): W;
}

/** Lets the story happen. `spoil` is shown each world before anything happens in it. @throws when something else comes of it, or anything was that must never be */
export async function tell({ play }: Story, spoil: (world: World) => void = () => undefined): Promise<void> {
  const worlds: World[] = [];
  const open = (options: WorldOptions = {}, Kind: new (options: WorldOptions) => World = World): World => {
    const world = new Kind(options);
    worlds.push(world);
    spoil(world);
    return world;
  };
  try {
    await play(open as Opens);
    for (const world of worlds) expectSound(world);
  } finally {
    for (const { processes } of worlds) for (const process of processes) process.kill();
  }
}

interface Serving {
  readonly world: World;
  readonly ref: ObjectRef;
  readonly first: OperatorProcess;
  readonly second: OperatorProcess;
}

/** Two replicas, the first of which leads, and a pool with two spare nodes. */
export async function serving(open: Opens, options: WorldOptions = {}): Promise<Serving> {
  const world = open({ away: true, ...options });
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
  const first = await world.start();
  await world.clock.advance(700);
  const second = await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  expect(leading(world)).toEqual([first]);
  return { world, ref, first, second };
}

export const led = (world: World): readonly unknown[] => world.log.filter(({ message }) => message === 'leads').map(({ fields }) => fields);
export const sent = (world: World): readonly string[] => world.assigns().map(({ what }) => what.split(' → ')[1] ?? '');
export const untilLeads = (world: World, process: OperatorProcess): Promise<number> =>
  world.clock.runUntil(() => process.supervisor.leading, 90 * SECOND);

/** It is well in the end, and stays so. */
export async function ends({ world, ref }: Pick<Serving, 'world' | 'ref'>, on: string, all: readonly string[]): Promise<void> {
  await world.untilOn(A, on, 2 * MINUTE);
  await world.untilStates(ref, BOTH, 2 * MINUTE);
  await world.clock.advance(2 * MINUTE);
  expect([world.holderOf(A), world.states(ref), sent(world)]).toEqual([on, BOTH, all]);
}
