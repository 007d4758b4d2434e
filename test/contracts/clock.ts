import { describe, expect, test } from 'vitest';
import type { Clock } from '../../actors/ports/records.ts';

export interface ClockHarness {
  readonly clock: Clock;
  /** Lets time pass until `holds`. @throws Error after `maxMs` */
  until(holds: () => boolean, maxMs: number): Promise<void>;
}

/** The suite that every clock passes. */
export const describeClock = (name: string, setup: () => ClockHarness): void => {
  describe(`the clock ${name}`, () => {
    // Two that fall due while the machine stands still run in either order.
    test('runs each timer once, none too early', async () => {
      const { clock, until } = setup();
      const start = clock.monotonic();
      const ran: { readonly ms: number; readonly at: number }[] = [];
      for (const ms of [60, 0, 30, -5, 90]) clock.after(ms, () => ran.push({ ms, at: clock.monotonic() - start }));
      expect(ran).toEqual([]);
      await until(() => ran.length === 5, 5_000);
      expect(ran.map(({ ms }) => ms).sort((a, b) => a - b)).toEqual([-5, 0, 30, 60, 90]);
      for (const { ms, at } of ran) expect(at).toBeGreaterThanOrEqual(ms);
    });

    test('never runs what was cancelled; cancelling once more, or after it ran, is harmless', async () => {
      const { clock, until } = setup();
      const ran: string[] = [];
      const cancelled = clock.after(10, () => ran.push('cancelled'));
      const early = clock.after(5, () => ran.push('early'));
      clock.after(30, () => ran.push('late'));
      cancelled();
      cancelled();
      await until(() => ran.includes('late'), 5_000);
      early();
      expect(ran).toEqual(['early', 'late']);
    });

    test('runs a timer that a timer set', async () => {
      const { clock, until } = setup();
      let rounds = 0;
      const again = (): void => {
        rounds += 1;
        if (rounds < 3) clock.after(5, again);
      };
      clock.after(5, again);
      await until(() => rounds === 3, 5_000);
    });

    test('tells the same passing of time by the wall and from a fixed point', async () => {
      const { clock, until } = setup();
      /** Both at one time, whenever the machine stalls. */
      const told = (): { readonly wall: number; readonly fixed: number } => {
        const fixed = clock.monotonic();
        const wall = clock.now();
        return clock.monotonic() - fixed < 5 ? { wall, fixed } : told();
      };
      expect(clock.now()).toBeGreaterThan(Date.UTC(2025, 0, 1));
      /** How far they are apart after a while. */
      const apart = async (): Promise<number> => {
        const before = told();
        let due = false;
        clock.after(50, () => {
          due = true;
        });
        await until(() => due, 5_000);
        const after = told();
        const passed = after.fixed - before.fixed;
        expect(passed).toBeGreaterThanOrEqual(50);
        return Math.abs(after.wall - before.wall - passed);
      };
      // The wall clock may be corrected meanwhile, though not again and again.
      let least = await apart();
      for (let tries = 1; least >= 20 && tries < 5; tries += 1) least = Math.min(least, await apart());
      expect(least).toBeLessThan(20);
    });
  });
};
