import { describe, expect, test } from 'vitest';
import type { VerificationContext } from '../../../machines/verification/verification.ts';
import { A, failure, observed, PROVIDER, START } from '../builders.ts';
import { Driven, VERIFY_EVERY } from '../drive.ts';

const verification = () => new Driven<VerificationContext>('verification', { id: `verify/${PROVIDER}`, provider: PROVIDER });

describe('the verification of all addresses of a token', () => {
  test('comes every five minutes, by one job', () => {
    const given = verification();
    expect([given.state, given.timer]).toEqual(['Waiting', VERIFY_EVERY]);
    given.elapse();
    expect([given.state, given.inputOf('verifyAll')]).toEqual(['Verifying', { provider: PROVIDER }]);
    given.done('verifyAll', { addresses: [observed(A)] });
    expect([given.state, given.timer, given.context.verifiedAt]).toEqual(['Waiting', VERIFY_EVERY, START + VERIFY_EVERY]);
  });

  test('that fails comes again at its usual time, and is counted until one works', () => {
    const given = verification().elapse().failed('verifyAll', failure('Unavailable'));
    expect([given.timer, given.context.attempts, given.context.failure?.kind]).toEqual([VERIFY_EVERY, 1, 'Unavailable']);
    given.elapse().failed('verifyAll', failure('Unavailable')).elapse();
    expect(given.context).toMatchObject({ attempts: 2, verifiedAt: null });
    expect(given.done('verifyAll', { addresses: [] }).context).toMatchObject({ attempts: 0, failure: null });
  });

  test('changes nothing by itself: what it read is told to the addresses', () => {
    expect(
      verification()
        .elapse()
        .done('verifyAll', { addresses: [observed(A)] }).told,
    ).toEqual([]);
  });

  test('goes on after a restart where it was', () => {
    const waiting = verification().after(1000).send('RESUME');
    expect([waiting.state, waiting.last.delays.length]).toEqual(['Waiting', 1]);
    const verifying = verification().elapse().send('RESUME');
    expect([verifying.state, verifying.started]).toEqual(['Verifying', ['verifyAll']]);
  });

  test('ends when nobody uses the token any more, whatever it does', () => {
    for (const given of [verification(), verification().elapse()]) {
      expect(given.last.done).toBe(false);
      expect(given.send('DELETED').last.done).toBe(true);
    }
  });
});
