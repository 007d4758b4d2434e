import type { Figure } from './figures.ts';

export interface Plan {
  /** Fewer repetitions and shorter waits: for trying the bench itself, not for figures to be quoted. */
  readonly quick: boolean;
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
