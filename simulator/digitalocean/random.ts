/** A number in [0, 1) that depends on the seed and on how often it was asked: runs can be repeated. */
export type Random = () => number;

/** The mulberry32 generator: 32 bits of state, good enough to spread durations. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A fixed duration, or one drawn evenly from a range; both in milliseconds. */
export type Duration = number | { readonly min: number; readonly max: number; readonly seed?: number };

export function durationSource(duration: Duration, seed: number): () => number {
  if (typeof duration === 'number') return () => duration;
  const random = seededRandom(duration.seed ?? seed);
  return () => duration.min + random() * (duration.max - duration.min);
}

/** A version 4 UUID drawn from `random`. */
export function uuid(random: Random): string {
  const hex = (digits: number): string => {
    let text = '';
    for (let i = 0; i < digits; i++) text += Math.floor(random() * 16).toString(16);
    return text;
  };
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${(8 + Math.floor(random() * 4)).toString(16)}${hex(3)}-${hex(12)}`;
}
