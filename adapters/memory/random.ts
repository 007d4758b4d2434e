/** Returns 0 ≤ n < 1; the same seed gives the same numbers. Only good enough to vary tests. */
export const seededRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    // A Weyl sequence, mixed by two multiplications.
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
};

/** Milliseconds: constant, or random between the first and the second. */
export type Duration = number | readonly [from: number, to: number];

export const durationOf = (duration: Duration, random: () => number): number =>
  typeof duration === 'number' ? duration : Math.round(duration[0] + random() * (duration[1] - duration[0]));
