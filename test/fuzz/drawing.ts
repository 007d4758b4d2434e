import { seededRandom } from '../../adapters/memory/random.ts';

export type Draw = ReturnType<typeof drawing>;

/** What is drawn by chance. */
export const drawing = (random: () => number) => {
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    chance: (part: number): boolean => random() < part,
    one: <T>(of: readonly T[]): T => of[below(of.length)] as T,
    bytes: (most: number): string => Array.from({ length: below(most) }, () => String.fromCharCode(below(256))).join(''),
  };
};

/** Each attempt of a seed is drawn by itself, so that one can be had again without those before it. */
export const drawingOf = (seed: number, number: number): Draw =>
  drawing(seededRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)));
