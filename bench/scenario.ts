import type { Build } from './build.ts';
import type { Figure } from './figures.ts';

/** How long is measured: to be quoted, as one of several rounds of a comparison, or only to try the bench itself. */
export type Extent = 'full' | 'round' | 'quick';

export interface Plan {
  readonly extent: Extent;
  /** Of all that is drawn: what fails when, and how long the provider's actions take. */
  readonly seed: number;
  /** The operator that is measured. */
  readonly build: Build;
}

export interface Measured {
  /** Under which it was measured, for people. */
  readonly conditions: readonly string[];
  readonly figures: readonly Figure[];
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** What is measured: the operator as a process, or modules of it that the scenario imports. */
  readonly of: 'process' | 'modules';
  /** Whether a comparison that names no scenarios has this one. */
  readonly isCompared: boolean;
  /** Loads what it needs only when it is called: what another build lacks then concerns this scenario alone. */
  readonly measure: (plan: Plan) => Promise<Measured>;
}
