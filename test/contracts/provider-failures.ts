import { describe, expect, test } from 'vitest';
import { Fenced } from '../../actors/ports/errors.ts';
import { expectKind, failover, read, type Stage } from './provider-harness.ts';

/** What callers may conclude from errors, and the fence before writes. */
export function describeFailures(stage: Stage): void {
  describe('errors', () => {
    test('of the rate limit tell how long to wait', async () => {
      const { address } = stage.pair();
      await stage.world.befall('rateLimited');
      expect((await expectKind(stage.provider.findRoutedIP(address, read), 'RateLimited')).retryAfterMs).toBe(7000);
    });

    test('of a refused token are Unauthorized', async () => {
      const { address } = stage.pair();
      await stage.world.befall('unauthorized');
      await expectKind(stage.provider.findRoutedIP(address, read), 'Unauthorized');
    });

    test('of a read never leave an effect in doubt', async () => {
      const { address } = stage.pair();
      for (const next of ['unavailable', 'lostAnswer'] as const) {
        await stage.world.befall(next);
        expect((await expectKind(stage.provider.findRoutedIP(address, read), 'Unavailable')).unknownOutcome, next).toBe(false);
      }
    });

    test('of a provider that is down leave a write in doubt', async () => {
      const { a, address } = stage.pair();
      await stage.world.befall('unavailable');
      expect((await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(true);
    });
  });

  describe('the fence', () => {
    const closed = new Fenced('not the leader any more');

    test('that is closed when it is read keeps the write from being sent', async () => {
      const { a, address } = stage.pair();
      const before = stage.world.writes();
      const fence = { read: () => Promise.reject(closed), assertFresh: () => undefined };
      await expect(stage.provider.assignRoutedIP(address, a, { purpose: 'failover', fence })).rejects.toBe(closed);
      expect(stage.world.writes()).toBe(before);
    });

    test('that goes stale just before the send keeps the write from being sent', async () => {
      const { a, address } = stage.pair();
      const before = stage.world.writes();
      const stale = () => {
        throw closed;
      };
      const fence = { read: () => Promise.resolve(), assertFresh: stale };
      await expect(stage.provider.assignRoutedIP(address, a, { purpose: 'failover', fence })).rejects.toBe(closed);
      await stage.world.settle();
      expect([stage.world.writes(), stage.world.inspect(address)?.providerID]).toEqual([before, null]);
    });

    test('that is open is read before it is asserted, once for a write', async () => {
      const { a, address } = stage.pair();
      const asked: string[] = [];
      const fence = {
        read: async () => {
          asked.push('read');
        },
        assertFresh: () => {
          asked.push('assertFresh');
        },
      };
      await stage.provider.assignRoutedIP(address, a, { purpose: 'failover', fence });
      expect(asked).toEqual(['read', 'assertFresh']);
    });
  });
}
