import { describe, expect, test } from 'vitest';
import type { FaultSpec } from '../../simulator/digitalocean/faults.ts';
import { movedFrom, staged } from '../e2e/served.ts';
import type { Stage } from '../e2e/stage.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

/** Where the assignment stands when the operator is asked to stop, by what makes it last. */
const STANDS: Readonly<Record<string, FaultSpec>> = {
  'while the provider has not answered the call yet': { kind: 'latency', ms: 1_000, match: { method: 'POST', path: '/actions$' } },
  'while the action of the provider goes on': { kind: 'slowAction', ms: 2_500, match: { method: 'POST', path: '/actions$' } },
};

/** What has become of Redis when the operator is asked to stop. */
const AWAY: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  'has gone': (stage) => stage.redis.crash(),
  hangs: (stage) => stage.redis.freeze(),
};

/** What Kubernetes gives a container by default before it kills it, ms. */
const GRACE_MS = 30_000;
/** FLIPOP took a minute to find out what became of an assignment. A busy machine needs some seconds to start a process. */
const SECONDS_MS = 40_000;

/** A clean stop in the middle of an assignment: neither lost, nor made twice, nor waited for. */
describe('an operator that is asked to stop in the middle of an assignment', () => {
  const { served } = staged();

  for (const [where, fault] of Object.entries(STANDS)) {
    test(`${where} ends cleanly within its grace, and the next one brings it to its end within seconds`, async () => {
      const situation = await served(undefined, { flags: MORTAL_FLAGS });
      const { stage, operator, ip, holder } = situation;
      const slow = stage.cloud.faults.add(fault);
      await stage.notReady(holder);
      await stage.until('the assign was received', () => stage.assigns(ip).length === 2);
      expect(stage.heldBy(ip)).toBe(holder);
      const askedAt = performance.now();
      expect(await operator.stop()).toBe(0);
      expect(performance.now() - askedAt).toBeLessThan(GRACE_MS);
      expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
      expect(slow.hits).toBe(1);
      slow.remove();
      const startedAt = performance.now();
      const next = await stage.start({ flags: MORTAL_FLAGS });
      const now = await movedFrom(situation, holder, SECONDS_MS);
      expect(performance.now() - startedAt).toBeLessThan(SECONDS_MS);
      expect(stage.assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
      expect(next.log.filter(({ level }) => level === 'error')).toEqual([]);
    });
  }
});

describe('an operator that is asked to stop', () => {
  const { served } = staged();

  for (const [what, takeAway] of Object.entries(AWAY)) {
    for (const noticed of [false, true]) {
      test(`ends cleanly within its grace when Redis ${what}${noticed ? ' and it has given the lead away' : ''}`, async () => {
        const { stage, operator } = await served(undefined, { flags: MORTAL_FLAGS });
        await operator.ready();
        await takeAway(stage);
        if (noticed) await stage.until('it has given the lead away', () => operator.log.some(({ msg }) => msg === 'leads no longer'));
        const killer = setTimeout(() => operator.kill('SIGKILL'), GRACE_MS);
        expect([await operator.stop(), operator.signal()]).toEqual([0, null]);
        clearTimeout(killer);
        expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
        expect(operator.noise).toEqual([]);
        await stage.redis.thaw();
      });
    }
  }
});
