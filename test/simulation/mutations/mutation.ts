import type { Charts } from '../../../actors/runtime/charts.ts';
import type { SimulationWorld } from '../world.ts';

/** A small defect of the code, and a history that shows it. */
export interface Mutation<H> {
  readonly mutation: string;
  /** A defect in a chart. */
  readonly spoil?: (charts: Charts) => Charts;
  /** A defect in what the runtime consists of: a job, a cell, a port, what writes to the cluster. Undone by `vi.restoreAllMocks`. */
  readonly sabotage?: (world: SimulationWorld) => void;
  readonly history: H;
}

/** By rule, or by words of what is not right in the end. */
export type Mutations<Check extends string, H> = Readonly<Record<Check, readonly [Mutation<H>, ...Mutation<H>[]]>>;
