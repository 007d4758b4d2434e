import { describe, expect, test } from 'vitest';
import type { ZoneContext } from '../../../machines/dns/zone.ts';
import { B, failure, PROVIDER, SECOND, START } from '../builders.ts';
import { CALL_DEADLINE, Driven, VERIFY_EVERY } from '../drive.ts';
import { API, carried, ensured, outcome, records, toldBy, WEB, ZONE, zone } from './world.ts';

const MINUTE = 60 * SECOND;

/** A zone in which `web` stands. */
const standing = () => zone().send('RECORDS', records()).done('ensure', ensured(WEB));

describe('after a load', () => {
  test('a zone asks again for the job that was under way, with the same sets', () => {
    const given = zone().send('RECORDS', records()).send('RESUME');
    expect([given.state, carried(given)]).toEqual(['Applying', [WEB]]);
    const verifying = standing().elapse('verify').send('RESUME');
    expect([verifying.state, carried(verifying)]).toEqual(['Applying', [WEB]]);
  });

  test('its timers are set again', () => {
    expect(standing().send('RESUME').timerOf('verify')).toBe(VERIFY_EVERY);
    const cool = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Invalid'))))
      .after(SECOND)
      .send('RESUME');
    expect([cool.state, cool.timerOf('wake'), cool.timerOf('verify')]).toEqual(['CoolOff', MINUTE - SECOND, VERIFY_EVERY - SECOND]);
  });

  test('a set of whose claimant nothing was heard is not verified, and the claimant is asked', () => {
    const given = standing().send('RESUME').elapse('verify');
    expect([given.state, given.started, toldBy(given)]).toEqual(['Idle', [], [`${WEB}: RECORDS_ASKED`]]);
    given.send('RECORDS', records());
    expect(carried(given.elapse('verify'))).toEqual([WEB]);
  });

  test('a claimant that does not answer is forgotten, and one that it kept from its name gets it', () => {
    const given = zone()
      .send('RECORDS', records({ claimant: API, since: START - 1 }))
      .done('ensure', ensured(API))
      .send('RECORDS', records());
    given.send('RESUME').send('RECORDS', records()).elapse('verify');
    expect([given.context.claims[WEB]?.winner, given.state]).toEqual([API, 'Idle']);
    given.elapse('verify');
    expect([Object.keys(given.context.claims), carried(given)]).toEqual([[WEB], [WEB]]);
  });

  test('what was refused for want of rights is tried at once: there may be a new token', () => {
    const single = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Unauthorized'))))
      .send('RESUME');
    expect([single.state, carried(single)]).toEqual(['Applying', [WEB]]);
    const whole = zone().send('RECORDS', records()).failed('ensure', failure('Unauthorized')).send('RESUME');
    expect([whole.state, carried(whole)]).toEqual(['Applying', [WEB]]);
    expect(zone().send('RECORDS', records()).failed('ensure', failure('NotFound')).send('RESUME').state).toBe('CoolOff');
  });

  test('a wait has an end although the clock was set back', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Invalid'))));
    given.after(-3600 * SECOND).send('RESUME');
    expect([given.timerOf('wake'), given.timerOf('verify')]).toEqual([MINUTE, VERIFY_EVERY]);
    expect(carried(given.elapse('wake'))).toEqual([WEB]);
  });

  test('a wait longer than the time from one verification to the next has an end although the clock was set back', () => {
    const given = zone().send('RECORDS', records()).failed('ensure', failure('NotFound'));
    for (let times = 0; times < 2; times += 1) given.elapse('wake').failed('ensure', failure('NotFound'));
    expect([given.state, given.timerOf('wake')]).toEqual(['CoolOff', 10 * MINUTE]);
    given.after(-3600 * SECOND).send('RESUME');
    expect([given.timerOf('wake'), given.elapse('verify').timerOf('wake')]).toEqual([10 * MINUTE, 10 * MINUTE - VERIFY_EVERY]);
    expect(carried(given.elapse('wake'))).toEqual([WEB]);
  });

  test.each([
    { of: 'a call', change: {}, wholeMs: CALL_DEADLINE },
    { of: 'what others may still send', change: { unheardMs: 2 * CALL_DEADLINE }, wholeMs: 2 * CALL_DEADLINE },
  ])('of $of that was not heard of a look tells once that is over, although the clock was set back', ({ change, wholeMs }) => {
    const input = { id: ZONE, provider: PROVIDER, zone: 'example.com' };
    const given = new Driven<ZoneContext>('dns-zone', input, { unheardUntil: START + wholeMs, ...change })
      .send('RECORDS', records())
      .after(-3600 * SECOND)
      .done('ensure', ensured(WEB));
    expect(given.timerOf('verify')).toBe(wholeMs);
    // What else is done meanwhile does not put it off.
    given
      .after(SECOND)
      .send('RECORDS', records({ revision: 2, addresses: [B] }))
      .done('ensure', ensured(WEB));
    expect(given.timerOf('verify')).toBe(wholeMs - SECOND);
    expect(carried(given.elapse('verify'))).toEqual([WEB]);
    expect(given.done('ensure', ensured(WEB)).timerOf('verify')).toBe(VERIFY_EVERY);
  });
});
