import { describe, expect, onTestFinished, test } from 'vitest';
import { Fenced } from '../../../../actors/ports/errors.ts';
import { kubernetesLeadership } from '../../../../adapters/kubernetes/election/leadership-factory.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, recordedLog, simulated } from '../support.ts';
import { electing, LeaseServer } from './electing.ts';

describe('a lone process', () => {
  test('leads at once, says so, and writes its term without holding the Lease', async () => {
    const { clock, told, candidate, server } = electing();
    const lone = candidate('lone', undefined, true);
    await lone.start();
    expect(told).toEqual(['lone acquired']);
    expect(lone.log.lines).toEqual([expect.stringContaining('leading without an election')]);
    expect(lone.leadership.isNew()).toBe(true);
    await lone.leadership.writeTerm(3, '5f3c');
    expect(server.lease?.metadata.annotations).toEqual({ 'routedip.io/term': '3', 'routedip.io/redis': '3 5f3c' });
    expect(server.lease?.spec).toBeUndefined();
    expect(lone.leadership.lease().renewedAt).toBe(clock.monotonic());
    const later = candidate('later', undefined, true);
    await later.start();
    expect([later.leadership.seenTerm(), later.leadership.seenServer(), later.leadership.isNew()]).toEqual([3, '5f3c', false]);
  });

  test('writes beside a holder that renews, but not against a higher term', async () => {
    const { clock, candidate, server } = electing();
    const one = candidate('one');
    await one.start();
    const lone = candidate('lone', undefined, true);
    await lone.start();
    await clock.advance(5_000);
    await lone.leadership.writeTerm(3, null);
    expect(server.lease?.metadata.annotations).toEqual({ 'routedip.io/term': '3' });
    await clock.advance(5_000);
    await one.leadership.writeTerm(9, null);
    await expect(lone.leadership.writeTerm(4, null)).rejects.toBeInstanceOf(Fenced);
  });

  test('waits for the server to read the term first', async () => {
    const { clock, told, candidate } = electing();
    const lone = candidate('lone', undefined, true);
    lone.connection.cut = true;
    await lone.start();
    expect(told).toEqual([]);
    lone.connection.cut = false;
    await clock.advance(2_000);
    expect(told).toEqual(['lone acquired']);
  });
});

describe('leadership over HTTP', () => {
  test('changes hands between two processes on one API server', async () => {
    const simulator = await simulated();
    const told: string[] = [];
    const replica = (name: string) => {
      const leadership = kubernetesLeadership({
        connection: connected(simulator.kubeconfig()),
        clock: systemClock(),
        log: recordedLog(),
        namespace: 'default',
        elect: true,
        // Nobody waits for its end: it is given up.
        leaseDurationMs: 60_000,
        renewDeadlineMs: 40_000,
        retryPeriodMs: 100,
        name,
      });
      onTestFinished(() => leadership.release());
      return {
        leadership,
        start: () => leadership.start({ acquired: () => void told.push(`${name} acquired`), lost: () => void told.push(`${name} lost`) }),
      };
    };
    const one = replica('one');
    const two = replica('two');
    await one.start();
    await two.start();
    await one.leadership.writeTerm(1, null);
    await waitFor('the term is seen', () => two.leadership.seenTerm() === 1);
    await one.leadership.release();
    await waitFor('the hand-over', () => told.length === 3);
    expect(told).toEqual(['one acquired', 'one lost', 'two acquired']);
    await two.leadership.writeTerm(2, null);
    await two.leadership.release();
  });

  test('refuses timings under which two could lead', () => {
    const settings = { connection: new LeaseServer().path(), clock: systemClock(), log: recordedLog(), namespace: 'default', elect: true };
    expect(() => kubernetesLeadership({ ...settings, leaseDurationMs: 10_000, renewDeadlineMs: 10_000 })).toThrow(
      'longer than the renew deadline',
    );
    expect(() => kubernetesLeadership({ ...settings, retryPeriodMs: 9_000 })).toThrow('retry periods');
  });
});
