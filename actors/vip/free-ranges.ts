import type { AddressRange } from '../../machines/vip/ip-group.ts';
import { byNumber, SortedMap } from './sorted-map.ts';

/** The free addresses of one IPGroup as ranges: as many entries as there are gaps, however many addresses are free. Each step is O(log n) in the number of ranges. */
export class FreeRanges {
  /** The last number of each range by its first. No two ranges touch. */
  readonly #ranges = new SortedMap<bigint, bigint>(byNumber);
  #count = 0n;

  constructor(ranges: readonly AddressRange[]) {
    for (const { first, last } of ranges) {
      this.#ranges.set(first, last);
      this.#count += last - first + 1n;
    }
  }

  /** How many are free. */
  get count(): bigint {
    return this.#count;
  }

  /** Number of ranges, which is the memory cost. */
  get pieces(): number {
    return this.#ranges.size;
  }

  lowest(): bigint | null {
    return this.#ranges.first()?.[0] ?? null;
  }

  /** Marks as taken; harmless when it is not free. */
  take(number: bigint): void {
    const range = this.#ranges.floor(number);
    if (range === null || range[1] < number) return;
    const [first, last] = range;
    this.#ranges.delete(first);
    if (first < number) this.#ranges.set(first, number - 1n);
    if (number < last) this.#ranges.set(number + 1n, last);
    this.#count -= 1n;
  }

  /** Marks as free; harmless when it is free. */
  give(number: bigint): void {
    const before = this.#ranges.floor(number);
    if (before !== null && number <= before[1]) return;
    const after = this.#ranges.get(number + 1n);
    const first = before !== null && before[1] + 1n === number ? before[0] : number;
    this.#ranges.delete(number + 1n);
    this.#ranges.set(first, after ?? number);
    this.#count += 1n;
  }
}
