import type { Figure } from './figures.ts';

export interface Plan {
  /** Fewer repetitions and shorter waits: for trying the bench itself, not for figures to be quoted. */
  readonly quick: boolean;
  /** Entry point of the operator that is measured; this repository's when absent. */
  readonly entry?: string;
}

export interface Measured {
  /** Under which it was measured, for people. */
  readonly conditions: readonly string[];
  readonly figures: readonly Figure[];
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly measure: (plan: Plan) => Promise<Measured>;
}
