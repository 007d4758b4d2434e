import { beforeEach, describe, expect, test } from 'vitest';
import { type AddressReader, addressReader, type Reading } from '../../../actors/jobs/address-reader.ts';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Call } from '../../../actors/ports/provider.ts';
import { type VirtualClock, virtualClock } from '../../../adapters/memory/clock.ts';
import { type MemoryProvider, memoryProvider } from '../../../adapters/memory/provider.ts';
import type { Address } from '../../../machines/model/types.ts';

const STEP = 150;
const CALL: Call = { purpose: 'confirm' };

let clock: VirtualClock;
let provider: MemoryProvider;
let reader: AddressReader;

beforeEach(() => {
  clock = virtualClock();
  provider = memoryProvider(clock, { quota: 1_000 });
  reader = addressReader({ provider, clock, stepMs: STEP });
});

const addresses = (count: number): readonly Address[] =>
  Array.from({ length: count }, (_, index) => {
    const address = `203.0.${Math.floor(index / 250)}.${(index % 250) + 1}` as Address;
    provider.cloud.addAddress(address, 'nyc3');
    return address;
  });
const readAll = (waiting: readonly Address[], since = 0): Promise<readonly Reading[]> =>
  Promise.all(waiting.map((address) => reader.read(address, since, CALL)));
/** What each was told: `observed`, or after how many ms to come back. */
const told = (readings: readonly Reading[]) => readings.map((reading) => (reading.kind === 'later' ? reading.afterMs : reading.kind));
const calls = (verb: string): number => provider.calls.filter((call) => call.verb === verb).length;

/** Every waiting address comes back when it is told to, else after a step, each at a moment of its own; answers how many lists that took in `ms`. */
async function listsIn(ms: number, waiting: readonly Address[]): Promise<number> {
  const before = calls('listRoutedIPs');
  const end = clock.monotonic() + ms;
  const come = async (address: Address): Promise<void> => {
    if (clock.monotonic() >= end) return;
    const reading = await reader.read(address, 0, CALL).catch(() => null);
    clock.after(reading?.kind === 'later' ? reading.afterMs : STEP, () => void come(address));
  };
  for (const [index, address] of waiting.entries()) clock.after((index * 37) % STEP, () => void come(address));
  await clock.advance(ms);
  const lists = calls('listRoutedIPs') - before;
  // None is left behind that would come again.
  await clock.advance(10_000);
  return lists;
}

describe('addresses that are waited for', () => {
  test('are read by themselves while they wait alone', async () => {
    const alone = addresses(1);
    expect(told(await readAll(alone))).toEqual(['observed']);
    await clock.advance(STEP);
    expect(told(await readAll(alone))).toEqual(['observed']);
    expect([calls('findRoutedIP'), calls('listRoutedIPs')]).toEqual([2, 0]);
  });

  test('share lists from two on, and at most three in a step', async () => {
    const five = addresses(5);
    await readAll(five);
    const [singles, lists] = [calls('findRoutedIP'), calls('listRoutedIPs')];
    expect([singles, lists]).toEqual([1, 1]);
    await clock.advance(STEP);
    expect(told(await readAll(five))).toEqual(five.map(() => 'observed'));
    expect([calls('findRoutedIP'), calls('listRoutedIPs')]).toEqual([1, 2]);
    expect(await listsIn(3_000, five)).toBeLessThanOrEqual((3 * 3_000) / STEP + 1);
  });

  test('are not shown the same list twice: they wait when the next one is due in a moment, and are told when otherwise', async () => {
    const five = addresses(5);
    await readAll(five);
    await clock.advance(STEP);
    await readAll(five);
    const lists = calls('listRoutedIPs');
    const waiting = readAll(five);
    await clock.advance(STEP / 3 - 1);
    expect(calls('listRoutedIPs')).toBe(lists);
    await clock.advance(1);
    expect(told(await waiting)).toEqual(five.map(() => 'observed'));
    expect(calls('listRoutedIPs')).toBe(lists + 1);
    reader.spare(10_000);
    await clock.advance(400);
    expect(told(await readAll(five))).toEqual(five.map(() => 1_600));
  });

  test('are not shown a list that was begun before their assign was accepted', async () => {
    const five = addresses(5);
    reader.spare(10_000);
    await readAll(five);
    await clock.advance(2_000);
    expect(told(await readAll(five.slice(1)))).toEqual(['observed', 'observed', 'observed', 'observed']);
    await clock.advance(50);
    expect(told(await readAll(five.slice(0, 1), clock.now()))).toEqual([1_950]);
    expect(told(await readAll(five.slice(0, 1), clock.now() - 50))).toEqual(['observed']);
  });

  test('get several lists a second at first when there are many of them, and one every two seconds when they wait long', async () => {
    const many = addresses(30);
    await readAll(many);
    const soon = await listsIn(2_000, many);
    expect(soon).toBeGreaterThanOrEqual(4);
    expect(soon).toBeLessThanOrEqual(7);
    reader = addressReader({ provider, clock, stepMs: STEP });
    await listsIn(8_000, many);
    expect(await listsIn(20_000, many)).toBeLessThanOrEqual(16);
  });

  test('share none that costs as many calls as they do', async () => {
    const three = addresses(500).slice(0, 3);
    await readAll(three);
    await clock.advance(STEP);
    await readAll(three);
    expect([calls('findRoutedIP'), calls('listRoutedIPs')]).toEqual([4, 1]);
  });

  test('get a list that needs three pages every six seconds when they wait long', async () => {
    const few = addresses(500).slice(0, 5);
    await readAll(few);
    await clock.advance(STEP);
    await readAll(few);
    expect(await listsIn(18_000, few)).toBeLessThanOrEqual(8);
  });

  test('get a list every two seconds while calls wait for the request budget', async () => {
    const five = addresses(5);
    await readAll(five);
    reader.spare(10_000);
    expect(await listsIn(9_000, five)).toBeLessThanOrEqual(6);
    expect(await listsIn(3_000, five)).toBeGreaterThan(10);
  });

  test('that end some other way are not counted for ever', async () => {
    const five = addresses(5);
    await readAll(five);
    await clock.advance(30_000);
    const lists = calls('listRoutedIPs');
    await readAll(five.slice(0, 1));
    expect(calls('listRoutedIPs')).toBe(lists);
  });
});

describe('a list that fails', () => {
  test('fails all that wait for it, and is not begun again by each of them', async () => {
    const many = addresses(30);
    provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' }, 100);
    const outcomes = await Promise.allSettled(many.map((address) => reader.read(address, 0, CALL)));
    const failed = outcomes.filter(({ status }) => status === 'rejected');
    expect(failed.length).toBeGreaterThan(0);
    expect(await listsIn(20_000, many)).toBeLessThanOrEqual(17);
  });

  test('for want of budget is asked for again when the wait is over, and not before', async () => {
    const five = addresses(5);
    const limited = new ProviderError('RateLimited', 'the request budget is spent', { retryAfterMs: 700 });
    let asked = 0;
    let isLimited = true;
    const listRoutedIPs: MemoryProvider['listRoutedIPs'] = async (call) => {
      asked += 1;
      if (isLimited) throw limited;
      return provider.listRoutedIPs(call);
    };
    reader = addressReader({ provider: { ...provider, listRoutedIPs }, clock, stepMs: STEP });
    await readAll(five.slice(0, 1));
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(readAll(five.slice(2))).rejects.toMatchObject({ kind: 'RateLimited', retryAfterMs: 700 - tries * 200 });
      await clock.advance(200);
    }
    expect(asked).toBe(1);
    isLimited = false;
    await clock.advance(100);
    expect(told(await readAll(five))).toEqual(five.map(() => 'observed'));
    expect(asked).toBe(2);
  });
});
