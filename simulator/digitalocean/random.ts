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

/**
 * A fixed duration, one drawn evenly from a range, or one drawn from a log-normal distribution that is given by two quantiles: one in a hundred is
 * shorter than `p1`, one in a hundred longer than `p99`, and nothing cuts off the tail. All in milliseconds. Drawn anew for each action: the n-th
 * one of a seed always takes the same time.
 */
export type Duration = number | Evenly | LogNormal;

interface Evenly {
  readonly min: number;
  readonly max: number;
  readonly seed?: number;
}

interface LogNormal {
  readonly p1: number;
  readonly p99: number;
  readonly seed?: number;
}

/** The 99th percentile of the standard normal distribution. */
const NORMAL_P99 = 2.3263478740408408;

export function durationSource(duration: Duration, seed: number): () => number {
  if (typeof duration === 'number') return () => duration;
  const random = seededRandom(duration.seed ?? seed);
  if ('min' in duration) return () => duration.min + random() * (duration.max - duration.min);
  const [low, high] = [Math.log(duration.p1), Math.log(duration.p99)];
  const [mean, deviation] = [(low + high) / 2, (high - low) / 2 / NORMAL_P99];
  return () => Math.exp(mean + deviation * normal(random));
}

/** One draw of the standard normal distribution, by the method of Box and Muller. Takes two numbers of `random`. */
function normal(random: Random): number {
  // 1 - random() is never 0, whose logarithm is infinite.
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
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
