import { describe, expect, test } from 'vitest';
import { zoneInput } from '../../../machines/dns/zone.ts';
import type { Address, ErrorKind } from '../../../machines/model/types.ts';
import { A, B, cutOff, failure, PROVIDER, SECOND, START } from '../builders.ts';
import { CALL_DEADLINE, VERIFY_EVERY } from '../drive.ts';
import { API, carried, ensured, outcome, POOL_SET, records, toldBy, WEB, zone } from './world.ts';

const MINUTE = 60 * SECOND;

/** A zone in which `web` stands. */
const standing = () => zone().send('RECORDS', records()).done('ensure', ensured(WEB));

describe('a zone', () => {
  test('brings a claim about by one job, and tells its claimant', () => {
    const given = zone();
    expect([given.state, given.started]).toEqual(['Idle', []]);
    given.send('RECORDS', records());
    expect([given.state, given.inputOf('ensureRecords')]).toEqual([
      'Applying',
      { provider: PROVIDER, zone: 'example.com', sets: [{ claimant: WEB, recordName: 'web', ttlSeconds: 60, addresses: [A] }] },
    ]);
    given.done('ensure', ensured(WEB));
    expect([given.state, toldBy(given)]).toEqual(['Idle', [`${WEB}: RECORDS_APPLIED 1`]]);
  });

  test('runs one job at a time: what is claimed meanwhile goes into the next one, all of it', () => {
    const given = zone().send('RECORDS', records());
    given.send('RECORDS', records({ claimant: API, recordName: 'api' }));
    expect(given.started).toEqual([]);
    given.send('RECORDS', records({ claimant: POOL_SET, recordName: 'pool' })).done('ensure', ensured(WEB));
    expect([given.state, carried(given)]).toEqual(['Applying', [API, POOL_SET]]);
  });

  test('however many sets of a namespace wait, one job carries some of them, and as many of each other namespace', () => {
    const given = zone().send('RECORDS', records());
    for (let index = 0; index < 200; index += 1)
      given.send('RECORDS', records({ claimant: `pool/crowd/${index}/records`, recordName: `crowd-${index}` }));
    given.send('RECORDS', records({ claimant: POOL_SET, recordName: 'pool', since: START + 1 })).done('ensure', ensured(WEB));
    expect(carried(given)).toHaveLength(50);
    expect(carried(given)).toContain(POOL_SET);
    const first = carried(given);
    given.done('ensure', ensured(...first));
    expect(carried(given)).toHaveLength(50);
    expect(carried(given).filter((claimant) => first.includes(claimant))).toEqual([]);
  });

  test('does not take the outcome of a set for that of a newer revision of it', () => {
    const given = zone()
      .send('RECORDS', records())
      .send('RECORDS', records({ revision: 2, addresses: [B] }));
    given.done('ensure', ensured(WEB));
    expect(toldBy(given)).toEqual([]);
    expect(given.inputOf('ensureRecords')).toMatchObject({ sets: [{ claimant: WEB, addresses: [B] }] });
    expect(toldBy(given.done('ensure', ensured(WEB)))).toEqual([`${WEB}: RECORDS_APPLIED 2`]);
  });

  test('does not take the outcome of a claim that was given back for that of the next one', () => {
    const given = zone()
      .send('RECORDS', records())
      .send('RECORDS', records({ addresses: [] }))
      .send('RECORDS', records());
    given.done('ensure', ensured(WEB));
    expect([given.state, carried(given)]).toEqual(['Applying', [WEB]]);
  });

  test('answers a claim that it has brought about already, without a job', () => {
    const given = standing().send('RECORDS', records());
    expect([given.state, toldBy(given)]).toEqual(['Idle', [`${WEB}: RECORDS_APPLIED 1`]]);
    given.send('RECORDS', records({ revision: 7 }));
    expect([given.started, toldBy(given)]).toEqual([[], [`${WEB}: RECORDS_APPLIED 7`]]);
  });

  test('forgets a claim that is given back, and writes nothing for it', () => {
    const given = standing().send('RECORDS', records({ addresses: [] }));
    expect([given.state, given.started, given.context.claims]).toEqual(['Idle', [], {}]);
    expect(given.elapse().last.done).toBe(true);
  });

  test('stays a while without claims, so that one that comes back finds it', () => {
    const given = standing()
      .send('RECORDS', records({ addresses: [] }))
      .after(MINUTE)
      .send('RECORDS', records());
    expect([given.state, carried(given)]).toEqual(['Applying', [WEB]]);
  });

  test('ends when nobody ever claims anything', () => {
    expect(zone().elapse().state).toBe('Unclaimed');
  });

  test('knows its provider and its name from its id', () => {
    expect(zoneInput('zone/cloudflare/example.com')).toEqual({
      id: 'zone/cloudflare/example.com',
      provider: 'cloudflare',
      zone: 'example.com',
    });
  });
});

describe('of two claimants of one name', () => {
  const older = records({ claimant: API, since: START - 1 });
  const FAILED = ensured(outcome(WEB, failure('Unavailable')));
  const clash = (...claims: readonly ReturnType<typeof records>[]) => {
    const given = zone();
    for (const claim of claims) given.send('RECORDS', claim);
    return given;
  };

  test('the older has it, and the other is told who', () => {
    const given = clash(older).done('ensure', ensured(API)).send('RECORDS', records());
    expect([given.state, toldBy(given)]).toEqual(['Idle', [`${WEB}: RECORDS_APPLIED 1 Conflict`]]);
    const [effect] = given.last.effects;
    expect(effect).toMatchObject({
      params: { event: { failure: { message: 'web.example.com belongs to NodeDNSRecordSet default/api, which keeps it' } } },
    });
  });

  test('the older has it although it comes later, as long as nothing of the other one stands', () => {
    const given = clash(records()).done('ensure', FAILED).send('RECORDS', older);
    expect([toldBy(given), carried(given)]).toEqual([[`${WEB}: RECORDS_APPLIED 1 Conflict`], [API]]);
    given.done('ensure', ensured(API)).elapse();
    expect(carried(given)).toEqual([API]);
  });

  test('whose records stand keeps it, whoever is older, also when they could not be looked at', () => {
    const given = clash(records()).done('ensure', ensured(WEB)).send('RECORDS', older);
    expect([given.context.claims[WEB]?.winner, given.context.claims[API]?.winner]).toEqual([null, WEB]);
    const failed = clash(records()).done('ensure', ensured(WEB)).elapse().done('ensure', FAILED);
    expect(failed.send('RECORDS', older).context.claims[API]?.winner).toBe(WEB);
    const unlisted = clash(records()).done('ensure', ensured(WEB)).elapse().failed('ensure', failure('NotFound'));
    expect(unlisted.send('RECORDS', older).context.claims[API]?.winner).toBe(WEB);
  });

  test('whoever takes another name, or lost his, has nothing at the next one yet', () => {
    const given = clash(records())
      .done('ensure', ensured(WEB))
      .send('RECORDS', records({ revision: 2, recordName: 'www' }));
    expect(given.send('RECORDS', { ...older, recordName: 'www' }).context.claims[WEB]?.winner).toBe(API);
  });

  test('the older has it although the job with the other one is under way', () => {
    const given = clash(records(), older).done('ensure', ensured(WEB));
    expect([carried(given), given.context.claims[WEB]?.told?.failure?.kind]).toEqual([[API], 'Conflict']);
  });

  test('of the same age the one whose id sorts first has it, in whatever order they come', () => {
    const same = records({ claimant: API });
    for (const claims of [
      [same, records()],
      [records(), same],
    ]) {
      const { context } = clash(...claims);
      expect([context.claims[WEB]?.winner, context.claims[API]?.winner]).toEqual([API, null]);
    }
  });

  test('a name is the same relative, absolute and in capitals', () => {
    for (const recordName of ['web.example.com', 'WEB.Example.com.', 'Web']) {
      expect([recordName, clash(records(), { ...older, recordName }).context.claims[WEB]?.winner]).toEqual([recordName, API]);
    }
    expect(clash(records(), { ...older, recordName: 'web2' }).context.claims[WEB]?.winner).toBeNull();
  });

  test('the other one gets it when the older gives it back', () => {
    const given = clash(older, records())
      .done('ensure', ensured(API))
      .send('RECORDS', { ...older, addresses: [] });
    expect([given.state, carried(given)]).toEqual(['Applying', [WEB]]);
    expect(toldBy(given.done('ensure', ensured(WEB)))).toEqual([`${WEB}: RECORDS_APPLIED 1`]);
  });

  test('the other one gets it when the older takes another name', () => {
    const given = clash(older, records())
      .done('ensure', ensured(API))
      .send('RECORDS', { ...older, revision: 2, recordName: 'api' });
    expect(carried(given)).toEqual([API, WEB]);
  });

  test('what only the real name of the zone could tell is settled once it is known', () => {
    const given = clash({ ...older, recordName: 'web' }, records({ recordName: 'web.example.org' }));
    given.done('ensure', ensured(API));
    expect([given.context.claims[WEB]?.winner, carried(given)]).toEqual([null, [WEB]]);
    given.done('ensure', { zoneName: 'example.org', outcomes: [outcome(WEB, failure('Conflict'))] });
    expect([given.context.claims[WEB]?.winner, given.state]).toEqual([API, 'Idle']);
  });
});

describe('a set that fails', () => {
  const KINDS: readonly (readonly [ErrorKind, number])[] = [
    ['Unavailable', SECOND],
    ['InProgress', SECOND],
    ['RateLimited', SECOND],
    ['NodeInUse', SECOND],
    ['Unauthorized', MINUTE],
    ['Invalid', MINUTE],
    ['NotFound', MINUTE],
    ['Conflict', MINUTE],
    ['Unsupported', MINUTE],
  ];

  test.each(KINDS)('as %s is told to its claimant and tried again after %i ms', (kind, ms) => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure(kind))));
    expect([given.state, toldBy(given), given.timerOf('wake')]).toEqual(['CoolOff', [`${WEB}: RECORDS_APPLIED 1 ${kind}`], ms]);
    given.elapse('wake');
    expect([given.state, carried(given)]).toEqual(['Applying', [WEB]]);
    expect(toldBy(given.done('ensure', ensured(WEB)))).toEqual([`${WEB}: RECORDS_APPLIED 1`]);
    expect([given.state, given.context.claims[WEB]?.attempts]).toEqual(['Idle', 0]);
  });

  test('waits as long as the tables say, and as the provider asks when that is longer', () => {
    const given = zone().send('RECORDS', records());
    const waits = Array.from({ length: 9 }, () => {
      given.done('ensure', ensured(outcome(WEB, failure('Unavailable'))));
      const ms = given.timerOf('wake');
      given.elapse('wake');
      return (ms ?? 0) / SECOND;
    });
    expect(waits).toEqual([1, 1, 5, 5, 10, 10, 10, 60, 60]);
    given.done('ensure', ensured(outcome(WEB, failure('RateLimited', { retryAfterMs: 3_600_000 }))));
    expect(given.timerOf('wake')).toBe(3_600_000);
  });

  test('does not keep the others from being served, nor is it tried with them before its time', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Invalid'))));
    given.send('RECORDS', records({ claimant: API, recordName: 'api' }));
    expect(carried(given)).toEqual([API]);
    given.after(20 * SECOND).done('ensure', ensured(API));
    expect([given.state, given.timerOf('wake')]).toEqual(['CoolOff', 40 * SECOND]);
    expect(carried(given.elapse('wake'))).toEqual([WEB]);
  });

  test('is tried at once when its claimant wants something else', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Invalid'))));
    expect(carried(given.send('RECORDS', records({ revision: 2, ttlSeconds: 300 })))).toEqual([WEB]);
  });

  test('is told once, not at each try that ends the same way', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Unavailable'))))
      .elapse('wake');
    expect(toldBy(given.done('ensure', ensured(outcome(WEB, failure('Unavailable')))))).toEqual([]);
    expect(toldBy(given.elapse('wake').done('ensure', ensured(outcome(WEB, failure('Invalid')))))).toHaveLength(1);
  });

  test('is forgotten when it is given back: nothing waits for its time any more', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, failure('Invalid'))));
    expect(given.send('RECORDS', records({ addresses: [] })).state).toBe('Idle');
  });
});

describe('a zone that cannot be listed', () => {
  test('has every set wait, and tells those that wait', () => {
    const given = zone()
      .send('RECORDS', records())
      .send('RECORDS', records({ claimant: API, recordName: 'api' }));
    given.failed('ensure', failure('NotFound'));
    expect(given.state).toBe('CoolOff');
    expect([...toldBy(given)].sort()).toEqual([`${API}: RECORDS_APPLIED 1 NotFound`, `${WEB}: RECORDS_APPLIED 1 NotFound`]);
    given.send('RECORDS', records({ claimant: POOL_SET, recordName: 'pool' }));
    expect([given.state, toldBy(given)]).toEqual(['CoolOff', [`${POOL_SET}: RECORDS_APPLIED 1 NotFound`]]);
    expect(given.timerOf('wake')).toBe(MINUTE);
    expect(carried(given.elapse('wake'))).toHaveLength(3);
  });

  test('for a moment is no news for sets that stand', () => {
    const given = standing().elapse('verify').failed('ensure', failure('Unavailable'));
    expect([given.state, toldBy(given), given.timerOf('wake')]).toEqual(['CoolOff', [], SECOND]);
    expect(carried(given.elapse('wake'))).toEqual([WEB]);
  });

  test('for want of rights is news for them too', () => {
    const given = standing().elapse('verify').failed('ensure', failure('Unauthorized'));
    expect(toldBy(given)).toEqual([`${WEB}: RECORDS_APPLIED 1 Unauthorized`]);
    expect(toldBy(given.elapse('wake').done('ensure', ensured(WEB)))).toEqual([`${WEB}: RECORDS_APPLIED 1`]);
  });

  test('is asked less and less often, and no verification comes in between', () => {
    const given = zone().send('RECORDS', records());
    const waits = Array.from({ length: 4 }, () => {
      given.failed('ensure', failure('NotFound'));
      const ms = given.timerOf('wake') ?? 0;
      while (given.state === 'CoolOff')
        given.elapse(given.timerOf('wake') === null || (given.timerOf('verify') ?? 0) < (given.timerOf('wake') ?? 0) ? 'verify' : 'wake');
      return ms / MINUTE;
    });
    expect(waits).toEqual([1, 5, 10, 10]);
  });

  test('after a call with unknown outcome is listed again before anything is written, as always', () => {
    const given = zone()
      .send('RECORDS', records())
      .done('ensure', ensured(outcome(WEB, cutOff())));
    expect([given.state, given.timerOf('wake')]).toEqual(['CoolOff', SECOND]);
    expect(given.elapse('wake').started).toEqual(['ensureRecords']);
  });
});

describe('the verification of a zone', () => {
  test('comes every five minutes and carries every set that stands', () => {
    const given = standing()
      .send('RECORDS', records({ claimant: API, recordName: 'api' }))
      .done('ensure', ensured(API));
    expect(given.timerOf('verify')).toBe(VERIFY_EVERY);
    given.elapse('verify');
    expect([given.state, carried(given)]).toEqual(['Applying', [API, WEB]]);
    given.after(SECOND).done('ensure', ensured(API, WEB));
    expect([toldBy(given), given.timerOf('verify')]).toEqual([[], VERIFY_EVERY - SECOND]);
  });

  test('comes as soon as a call of which no answer was heard can have no effect any more', () => {
    const working = () => zone().send('RECORDS', records());
    const unheard = [
      working()
        .done('ensure', ensured(outcome(WEB, cutOff())))
        .elapse('wake')
        .done('ensure', ensured(WEB)),
      working().failed('ensure', cutOff()).elapse('wake').done('ensure', ensured(WEB)),
      working().done('ensure', { ...ensured(WEB), rerun: true }),
      working().send('RESUME').send('RECORDS', records()).done('ensure', ensured(WEB)),
      zone({ unheardUntil: START + CALL_DEADLINE })
        .send('RECORDS', records())
        .done('ensure', ensured(WEB)),
    ];
    for (const given of unheard) {
      expect(given.timerOf('verify')).toBe(START + CALL_DEADLINE - given.now);
      expect(carried(given.elapse('verify'))).toEqual([WEB]);
      expect(given.done('ensure', ensured(WEB)).timerOf('verify')).toBe(VERIFY_EVERY);
    }
  });

  test('comes no sooner in a zone that waits for its first claim', () => {
    expect([zone(), zone({ unheardUntil: START + CALL_DEADLINE })].map((given) => given.timerOf('verify'))).toEqual([
      VERIFY_EVERY,
      VERIFY_EVERY,
    ]);
  });

  test('comes once more when such a call may have an effect after it', () => {
    const given = standing()
      .after(VERIFY_EVERY - SECOND)
      .send('RECORDS', records({ revision: 2, addresses: [B] }));
    given.done('ensure', { ...ensured(WEB), rerun: true });
    expect(given.timerOf('verify')).toBe(SECOND);
    given.elapse('verify').done('ensure', ensured(WEB));
    expect(given.timerOf('verify')).toBe(CALL_DEADLINE - SECOND);
    expect(carried(given.elapse('verify'))).toEqual([WEB]);
    expect(given.done('ensure', ensured(WEB)).timerOf('verify')).toBe(VERIFY_EVERY);
  });

  test('is not put off by claims that come again and again', () => {
    const given = standing();
    for (let revision = 2; revision <= 5; revision += 1) {
      given.after(MINUTE).send('RECORDS', records({ revision, addresses: [A, `203.0.113.${revision}` as Address] }));
      given.done('ensure', ensured(WEB));
    }
    expect(given.timerOf('verify')).toBe(MINUTE);
  });

  test('goes on for the others while one set fails again and again', () => {
    const given = standing().send('RECORDS', records({ claimant: API, recordName: 'api' }));
    given.done('ensure', ensured(outcome(API, failure('Invalid'))));
    given.elapse('wake').done('ensure', ensured(outcome(API, failure('Invalid'))));
    expect([given.state, given.timerOf('wake')]).toEqual(['CoolOff', 5 * MINUTE]);
    expect(carried(given.elapse('verify'))).toEqual([WEB]);
  });

  test('leaves a set alone that belongs to another claimant', () => {
    const given = standing().send('RECORDS', records({ claimant: API, since: START + 1 }));
    expect(carried(given.elapse('verify'))).toEqual([WEB]);
  });

  test('that fails for one set is told, since its records are known to be wrong', () => {
    const given = standing()
      .elapse('verify')
      .done('ensure', ensured(outcome(WEB, failure('Unavailable'))));
    expect([given.state, toldBy(given)]).toEqual(['CoolOff', [`${WEB}: RECORDS_APPLIED 1 Unavailable`]]);
  });
});
