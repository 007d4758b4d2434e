import { describe, expect, test } from 'vitest';
import { shareOfScenarios } from '../support/extent.ts';
import { movedFrom, staged } from './served.ts';

/** Faults that only the simulator can be told. */
describe('a cache is never believed to be empty when its list', () => {
  const { served, target } = staged();
  const faults = () => {
    const { simulator } = target();
    if (!simulator) throw new Error('this runs on the simulator only');
    return simulator.faults;
  };
  const cases: Readonly<Record<string, () => void>> = {
    'was refused': () => faults().failLists('nodes', 2, 500),
    'ended in the middle': () => faults().truncateLists('nodes', 2),
    'expired between two pages': () => faults().expireContinue('nodes', 2),
  };

  for (const [what, spoil] of shareOfScenarios(Object.entries(cases), 3)) {
    test(`${what}, after a watch that had to start over`, async () => {
      const situation = await served();
      const { stage, ip, holder } = situation;
      spoil();
      expect(faults().expireWatches('nodes')).toBeGreaterThan(0);
      await stage.notReady(holder);
      await movedFrom(situation, holder);
      expect(stage.assigns(ip)).toHaveLength(2);
    });
  }

  const ends: Readonly<Record<string, () => number>> = {
    'is cut': () => faults().cutWatches(),
    'is reset': () => faults().resetWatches(),
    'is answered with 410': () => faults().expireWatches(),
  };

  for (const [how, disturb] of shareOfScenarios(Object.entries(ends), 3)) {
    test(`and the operator goes on when a watch ${how}`, async () => {
      const situation = await served();
      const { stage, ip, holder } = situation;
      expect(disturb()).toBeGreaterThan(0);
      await stage.notReady(holder);
      await movedFrom(situation, holder);
      expect(stage.assigns(ip)).toHaveLength(2);
    });
  }

  test('and one watch serves every pool, whatever it selects', async () => {
    const from = target().simulator?.requests.length ?? 0;
    const { stage } = await served();
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
    await stage.pool('second', { ips: [ip] });
    await stage.until('the second pool is served', async () => (await stage.activeOn('second', ip)) !== null);
    const requests = target().simulator?.requests.slice(from) ?? [];
    const watches = requests.filter(({ path, query }) => path.startsWith('/api/v1/nodes') && query.includes('watch'));
    expect(watches.length).toBe(1);
    await stage.deletePool('second');
  });
});
