import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Budget, BudgetReading } from '../../actors/ports/budget.ts';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { Purpose } from '../../actors/ports/provider.ts';

export interface BudgetLimits {
  readonly perMinute: number;
  readonly perHour: number;
  readonly createsPerMinute: number;
  readonly minuteMs?: number;
}

export interface BudgetHarness {
  /** A replica's view of the budget of one token. */
  replica(limits: BudgetLimits): Budget & BudgetReading;
  /** Wall clock, ms since the epoch. */
  now(): number;
  pass(ms: number): Promise<void>;
  goDown(): Promise<void>;
  close(): Promise<void>;
}

/** Pays until refused, at most `most` times. Answers how often it was let. */
const spend = async (budget: Budget, purpose: Purpose, most = 1_000): Promise<number> => {
  for (let paid = 0; paid < most; paid++) if ((await budget.pay(purpose)) > 0) return paid;
  return most;
};

/** What the wall clock of a machine may be corrected by meanwhile, ms. */
const CORRECTION_MS = 20;

/** When a budget says that it may be asked again: between these times, since it is not known when in between it was asked. */
interface Turn {
  readonly from: number;
  readonly to: number;
}

const turnOf = async ({ now }: BudgetHarness, ask: () => Promise<number>): Promise<Turn> => {
  const before = now();
  const wait = await ask();
  return { from: before + wait, to: now() + wait };
};

// So few an hour that nothing fills up while a test runs.
const tight: BudgetLimits = { perMinute: 1_000, perHour: 20, createsPerMinute: 1_000 };

/** The suite that every implementation of the budget passes. */
export const describeBudget = (name: string, setup: () => Promise<BudgetHarness>): void => {
  describe(`the budget ${name}`, () => {
    let world: BudgetHarness;
    beforeEach(async () => {
      world = await setup();
    });
    afterEach(() => world.close());

    test('is shared by all replicas', async () => {
      const [one, two] = [world.replica(tight), world.replica(tight)];
      expect(await spend(one, 'failover', 15)).toBe(15);
      expect(await spend(two, 'failover')).toBe(5);
      expect(await one.pay('failover')).toBeGreaterThan(0);
    });

    test('leaves failover a reserve that reading and DNS do not touch', async () => {
      const budget = world.replica(tight);
      expect(await spend(budget, 'verify')).toBe(14);
      expect(await spend(budget, 'dns')).toBe(0);
      expect(await spend(budget, 'failover')).toBe(6);
    });

    test('says after how long to ask again: when the first of the calls is a minute old', async () => {
      const minuteMs = 2_500;
      const budget = world.replica({ perMinute: 20, perHour: 100_000, createsPerMinute: 1, minuteMs });
      const began = world.now();
      for (let paid = 0; paid < 20; paid += 1) expect(await budget.pay('confirm')).toBe(0);
      let wait = await budget.pay('confirm');
      // A machine may take more than a minute's time for that.
      expect(wait).toBeGreaterThanOrEqual(minuteMs - (world.now() - began) - CORRECTION_MS);
      // The wall clock may be corrected by some ms meanwhile: then it says so again.
      for (let asked = 1; wait > 0 && asked <= 5; asked += 1) {
        expect(wait).toBeLessThanOrEqual(minuteMs);
        await world.pass(wait + 1);
        wait = await budget.pay('confirm');
      }
      expect(wait).toBe(0);
    });

    test('lets no more calls out in any minute than the provider allows, also when it was not used before', async () => {
      const minuteMs = 600;
      const budget = world.replica({ perMinute: 10, perHour: 100_000, createsPerMinute: 1, minuteMs });
      const sent: Turn[] = [];
      // Of the time that one turn takes no more than this is counted: while the machine stalls nobody asks.
      const most = { paid: 5, waited: 60 };
      for (let countedMs = 0; countedMs < 4 * minuteMs; ) {
        const began = world.now();
        let wait = 0;
        const turn = await turnOf(world, async () => {
          wait = await budget.pay('confirm');
          return 0;
        });
        if (wait === 0) sent.push(turn);
        else await world.pass(Math.min(wait, 50));
        countedMs += Math.max(1, Math.min(world.now() - began, wait === 0 ? most.paid : most.waited));
      }
      // As many as ever fit in, but for the time at which it was asked.
      expect(sent.length).toBeGreaterThanOrEqual(30);
      const early = sent.filter(({ to }, index) => to - (sent[index - 10]?.from ?? Number.NEGATIVE_INFINITY) < minuteMs - CORRECTION_MS);
      expect(early).toEqual([]);
    });

    test('tells the same of the hour: when it has filled up by one, and by one more for each that waits', async () => {
      const budget = world.replica({ ...tight, perHour: 600 });
      const began = world.now();
      for (let paid = 0; paid < 600; paid += 10) expect(await budget.pay('confirm', 10)).toBe(0);
      for (const most of [6_000, 12_000]) {
        const wait = await budget.pay('confirm');
        expect(wait).toBeGreaterThanOrEqual(most - (world.now() - began) - CORRECTION_MS);
        expect(wait).toBeLessThanOrEqual(most);
      }
    });

    test('gives those that wait times of their own, one for each place that becomes free', async () => {
      const minuteMs = 60_000;
      const budget = world.replica({ perMinute: 3, perHour: 100_000, createsPerMinute: 1, minuteMs });
      for (let paid = 0; paid < 3; paid += 1) {
        expect(await budget.pay('confirm')).toBe(0);
        await world.pass(400);
      }
      const waits: number[] = [];
      const ask = async (): Promise<number> => {
        const wait = await budget.pay('confirm');
        waits.push(wait);
        return wait;
      };
      const turns: Turn[] = [];
      for (let asked = 0; asked < 5; asked += 1) turns.push(await turnOf(world, ask));
      const [first, second, third, ...left] = turns as [Turn, Turn, Turn, ...Turn[]];
      for (const [sooner, later] of [
        [first, second],
        [second, third],
      ] as const) {
        expect(later.to - sooner.from).toBeGreaterThan(400 - CORRECTION_MS);
      }
      // All places are given away: whoever is left comes for what the others leave, at one time with the last of them.
      for (const turn of left) {
        expect(turn.from).toBeLessThan(third.to + 200);
        expect(turn.to).toBeGreaterThan(third.from - 200);
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(minuteMs);
    });

    test('does not let failovers wait behind housekeeping that waits', async () => {
      const minuteMs = 60_000;
      const budget = world.replica({ perMinute: 10, perHour: 100_000, createsPerMinute: 1, minuteMs });
      expect(await spend(budget, 'verify')).toBe(7);
      for (let asked = 0; asked < 20; asked += 1) expect(await budget.pay('dns')).toBeGreaterThan(0);
      await world.pass(1_000);
      expect(await spend(budget, 'failover')).toBe(3);
      // The first place that becomes free is theirs, not the one after twenty others.
      expect(await budget.pay('failover')).toBeLessThan(minuteMs - 500);
    });

    describe('of which one namespace takes all that there is', () => {
      const minuteMs = 4_000;
      const limits = { perMinute: 10, perHour: 100_000, createsPerMinute: 1, minuteMs };
      const many = (budget: Budget): Promise<number> => budget.pay('dns', 1, ['many']);

      /** All that housekeeping may use is used up for the sake of many, and many more wait. */
      const crowded = async (): Promise<Budget> => {
        const budget = world.replica(limits);
        for (let paid = 0; paid < 7; paid += 1) expect(await many(budget)).toBe(0);
        for (let asked = 0; asked < 50; asked += 1) await many(budget);
        return budget;
      };
      /** Many ask all the time until then, and right before it. */
      const pressed = async (budget: Budget, until: number): Promise<void> => {
        for (let left = 1; left > 0; left = until - world.now()) {
          await many(budget);
          await world.pass(Math.min(100, Math.max(1, left)));
        }
        for (let more = 0; more < 10; more += 1) await many(budget);
      };
      /** How often it has to ask until it is let. */
      const asked = async (budget: Budget, ask: () => Promise<number>): Promise<number> => {
        let times = 1;
        for (let wait = await ask(); wait > 0 && times < 20; wait = await ask()) {
          expect(wait).toBeLessThanOrEqual(minuteMs);
          await pressed(budget, world.now() + wait + 1);
          times += 1;
        }
        return times;
      };

      test('the first place that becomes free goes to another one that waits', async () => {
        const budget = await crowded();
        expect(await asked(budget, () => budget.pay('verify', 1, ['one']))).toBeLessThanOrEqual(2);
        // And back again: they take turns.
        expect(await asked(budget, () => budget.pay('verify', 1, ['one']))).toBeLessThanOrEqual(3);
      });

      test('what is done for several has the turn of the one that has it first', async () => {
        const budget = await crowded();
        expect(await asked(budget, () => budget.pay('dns', 1, ['many', 'one']))).toBeLessThanOrEqual(2);
      });

      test('a list of several pages has its turn, too', async () => {
        const budget = await crowded();
        expect(await asked(budget, () => budget.pay('verify', 3))).toBeLessThanOrEqual(4);
      });

      test('it has all places as long as nobody else waits', async () => {
        const budget = world.replica(limits);
        expect(await budget.pay('dns', 1, ['one'])).toBe(0);
        for (let paid = 0; paid < 6; paid += 1) expect(await many(budget)).toBe(0);
      });
    });

    test('takes what a list of several pages needs at once, or nothing', async () => {
      const budget = world.replica(tight);
      expect(await budget.pay('verify', 12)).toBe(0);
      expect(await budget.pay('verify', 3)).toBeGreaterThan(0);
      expect(await budget.left()).toContainEqual({ window: 'hour', limit: 20, left: 8 });
      expect(await budget.pay('verify', 2)).toBe(0);
      expect(await budget.pay('failover', 6)).toBe(0);
    });

    test('lets a list out that needs more than there can ever be, when nothing else was sent', async () => {
      const budget = world.replica(tight);
      expect(await budget.pay('verify', 50)).toBe(0);
      expect(await budget.left()).toContainEqual({ window: 'hour', limit: 20, left: 6 });
    });

    test('leaves some calls to the confirmations of the assigns that use up all others', async () => {
      const budget = world.replica({ perMinute: 100, perHour: 100_000, createsPerMinute: 1 });
      expect(await spend(budget, 'failover')).toBe(90);
      expect(await spend(budget, 'confirm')).toBe(6);
    });

    describe('of which one namespace has used up all of a minute that it may', () => {
      const usedUp = async (): Promise<Budget> => {
        const budget = world.replica({ perMinute: 100, perHour: 100_000, createsPerMinute: 1 });
        for (const purpose of ['firewall', 'confirm'] as const) while ((await budget.pay(purpose, 1, ['many'])) === 0);
        return budget;
      };

      test('another one fails over at once, with what belongs to it', async () => {
        const budget = await usedUp();
        for (const purpose of ['confirm', 'confirm'] as const) expect(await budget.pay(purpose, 1, ['one'])).toBe(0);
        expect(await budget.pay('firewall', 1, ['many'])).toBeGreaterThan(0);
        expect(await budget.pay('confirm', 2, ['one'])).toBe(0);
        expect(await budget.pay('confirm', 1, ['one'])).toBeGreaterThan(0);
      });

      test('what is done for it and for another one is done at once', async () => {
        const budget = await usedUp();
        expect(await budget.pay('confirm', 1, ['many', 'one'])).toBe(0);
      });

      test('housekeeping and creations of others get nothing of what is left', async () => {
        const budget = await usedUp();
        for (const purpose of ['dns', 'verify', 'create', 'intend'] as const)
          expect(await budget.pay(purpose, 1, ['one'])).toBeGreaterThan(0);
      });
    });

    test('does not let assigns wait for a reserve in an hour of which nothing is left', async () => {
      const budget = world.replica({ ...tight, perHour: 100 });
      const began = world.now();
      for (let paid = 0; paid < 100; paid += 1) expect(await budget.pay('failover')).toBe(0);
      const wait = await budget.pay('failover');
      expect(wait).toBeGreaterThanOrEqual(36_000 - (world.now() - began) - CORRECTION_MS);
      expect(wait).toBeLessThanOrEqual(36_000);
    });

    test('lets so many creations a minute and no more, whatever else is left', async () => {
      const budget = world.replica({ perMinute: 1_000, perHour: 1_000, createsPerMinute: 2 });
      const began = world.now();
      expect(await spend(budget, 'create')).toBe(2);
      const wait = await budget.pay('create');
      expect(wait).toBeGreaterThanOrEqual(60_000 - (world.now() - began) - CORRECTION_MS);
      expect(wait).toBeLessThanOrEqual(62_000);
      expect(await budget.pay('failover')).toBe(0);
    });

    test('does not count the lists that creations need as creations', async () => {
      const budget = world.replica({ perMinute: 1_000, perHour: 1_000, createsPerMinute: 2 });
      expect(await spend(budget, 'intend', 10)).toBe(10);
      expect(await spend(budget, 'create')).toBe(2);
    });

    test('takes nothing when it refuses', async () => {
      const budget = world.replica({ perMinute: 1_000, perHour: 20, createsPerMinute: 1 });
      expect(await spend(budget, 'create')).toBe(1);
      for (let times = 0; times < 30; times++) expect(await budget.pay('create')).toBeGreaterThan(0);
      expect(await spend(budget, 'failover')).toBe(19);
    });

    test('closed by one replica is closed for all, until the time is over', async () => {
      const [one, two] = [world.replica(tight), world.replica(tight)];
      await one.close(300);
      const wait = await two.pay('failover');
      expect(wait).toBeLessThanOrEqual(300);
      await world.pass(wait + 5);
      expect(await two.pay('failover')).toBe(0);
      // A shorter time does not take the place of a longer one.
      await one.close(60_000);
      await one.close(50);
      await world.pass(60);
      const long = await two.pay('failover');
      expect(long).toBeGreaterThan(20_000);
      expect(long).toBeLessThanOrEqual(60_000);
    });

    test('believes the provider when it says that less is left', async () => {
      const budget = world.replica(tight);
      expect(await spend(budget, 'failover', 10)).toBe(10);
      budget.observe({ remaining: 3, resetAtMs: world.now() + 3_600_000 });
      expect(await spend(budget, 'failover')).toBe(3);
    });

    test('does not believe the provider when it says that more is left: others are on their way', async () => {
      const budget = world.replica(tight);
      expect(await spend(budget, 'failover', 10)).toBe(10);
      budget.observe({ remaining: 5_000, resetAtMs: world.now() + 3_600_000 });
      expect(await spend(budget, 'failover')).toBe(10);
    });

    test('waits when the provider says that nothing is left, though not longer than a minute', async () => {
      const budget = world.replica({ ...tight, perHour: 100_000 });
      budget.observe({ remaining: 0, resetAtMs: world.now() + 3_600_000 });
      // The next call tells at the latest: it stands behind the observation.
      await expect.poll(() => budget.pay('failover')).toBeGreaterThan(30_000);
      expect(await budget.pay('failover')).toBeLessThanOrEqual(60_000);
    });

    test('tells what is left without taking any of it', async () => {
      const [one, two] = [world.replica(tight), world.replica(tight)];
      expect(await spend(one, 'failover', 15)).toBe(15);
      for (let times = 0; times < 3; times++) {
        expect(await two.left()).toContainEqual({ window: 'hour', limit: 20, left: 5 });
      }
      expect(await spend(two, 'failover')).toBe(5);
      expect(await one.left()).toContainEqual({ window: 'hour', limit: 20, left: 0 });
    });

    test('that nobody has used is whole, and creations take of all three windows', async () => {
      const budget = world.replica({ perMinute: 10, perHour: 20, createsPerMinute: 2 });
      const whole = [
        { window: 'minute', limit: 10, left: 10 },
        { window: 'hour', limit: 20, left: 20 },
        { window: 'create', limit: 2, left: 2 },
      ];
      expect(await budget.left()).toEqual(whole);
      expect(await spend(budget, 'create')).toBe(2);
      expect(await budget.left()).toEqual(whole.map((window) => ({ ...window, left: window.limit - 2 })));
    });

    test('that is closed has nothing left until it opens', async () => {
      const budget = world.replica(tight);
      await budget.close(300);
      await world.pass(305);
      expect(await budget.left()).toContainEqual({ window: 'hour', limit: 20, left: 20 });
      await budget.close(60_000);
      expect((await budget.left()).map(({ left }) => left)).toEqual([0, 0, 0]);
    });

    test('throws Unreachable when it cannot be asked', async () => {
      const budget = world.replica(tight);
      expect(await budget.pay('failover')).toBe(0);
      await world.goDown();
      await expect(budget.pay('failover')).rejects.toBeInstanceOf(Unreachable);
      await expect(budget.close(10)).rejects.toBeInstanceOf(Unreachable);
      await expect(budget.left()).rejects.toBeInstanceOf(Unreachable);
      // Nobody waits for an observation.
      budget.observe({ remaining: 1, resetAtMs: world.now() });
    });
  });
};
