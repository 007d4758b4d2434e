import fc from 'fast-check';
import type { PlayedAttacker } from '../hostile/attacker.ts';
import type { OperatorProcess } from '../support/world.ts';
import type { PlayedNames } from './domains/names.ts';
import type { PlayedNodes } from './domains/nodes.ts';
import type { PlayedPolicies } from './domains/policies.ts';
import type { PlayedPools } from './domains/pools.ts';
import type { PlayedRoutedIPs } from './domains/routed-ips.ts';
import type { PlayedServices } from './domains/services.ts';
import type { DomainName, History } from './history.ts';
import type { Made } from './made.ts';
import type { PlayedOperator } from './operator.ts';
import type { SimulationWorld } from './world.ts';

/** Something that was wrong at a moment. */
export interface Violation {
  readonly rule: string;
  /** Virtual ms. */
  readonly at: number;
  readonly text: string;
}

/** What may happen in a domain: plain data, so that a history can be printed, shrunk and written down. Numbers choose among what exists. */
export interface Happening {
  readonly kind: string;
}

/** Happenings of one sort. A history may do without a sort, or have much of it. */
export interface Sort<What> {
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<What>;
}

/** A domain in a history that is being played. */
export interface Played<What> {
  act(what: What): unknown;
  /** Takes out of the way what keeps things from being right in the end. */
  mend?(): void;
  /** What people do while they wait for all to be right; called again and again. */
  helps?(): void;
  /** What is not as it must be in the end. */
  wrongs?(): readonly string[];
  /** What was wrong at any moment; to be asked once. */
  violations?(): readonly Violation[];
}

/** What can happen in a part of the world, and what has to be so in it. */
export interface Domain<What extends Happening, Part extends Played<What> = Played<What>> {
  readonly sorts: readonly Sort<What>[];
  /** Called while nothing runs yet, in the order of the table. */
  open(stage: Stage): Part;
}

/** What the domains of one history share. A part is there from when its domain is opened. */
export interface Stage {
  readonly world: SimulationWorld;
  readonly history: History;
  readonly made: Made;
  readonly operator: PlayedOperator;
  readonly nodes: PlayedNodes;
  /** Null where the history has none. */
  readonly pools: PlayedPools | null;
  readonly names: PlayedNames | null;
  readonly routed: PlayedRoutedIPs | null;
  readonly policies: PlayedPolicies | null;
  readonly services: PlayedServices | null;
  readonly attacker: PlayedAttacker | null;
  /** Whether anything of one of these kinds stands in the history. */
  readonly happens: (domain: DomainName, ...kinds: readonly string[]) => boolean;
  /** Told of each process before it starts. */
  readonly begins: ((process: OperatorProcess) => void)[];
  /** Told before and after whatever happens. */
  readonly looks: (() => void)[];
  /** Told of each process once it has started. */
  readonly started: ((process: OperatorProcess) => void)[];
}

export const NODES = 5;
/** Addresses that are there at first. */
export const ADDRESSES = 4;
export const POOLS = 2;

export const index = (count: number): fc.Arbitrary<number> => fc.nat(count - 1);
export const of = <K extends string>(...kinds: readonly K[]): fc.Arbitrary<K> => fc.constantFrom(...kinds);
export const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary);
export const some = (count: number, minLength = 0): fc.Arbitrary<number[]> => fc.uniqueArray(index(count), { minLength, maxLength: count });
export const exactly = <T>(count: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength: count, maxLength: count });
/** From the first to the second, ms. */
export const range = (max: number, middle = Math.floor(max / 2)): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.integer({ min: 0, max: middle }), fc.integer({ min: middle, max }));
