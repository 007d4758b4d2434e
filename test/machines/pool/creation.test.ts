import { describe, expect, test } from 'vitest';
import type { CreateIntent } from '../../../machines/jobs.ts';
import { CREATE_CLAIM, type PoolContext } from '../../../machines/pool/context.ts';
import { rightTaken } from '../../../machines/pool/creation.ts';
import { A, B, C, cutOff, failure, observed, PROVIDER, SECOND, START } from '../builders.ts';
import { CALL_DEADLINE, Driven } from '../drive.ts';
import { assigned, named, poolInput, primed, provided, ready, spec, toldIn } from './world.ts';

const acquiring = ({ state }: Driven<PoolContext>): string => /acquiring\.(\w+)/.exec(state)?.[1] ?? state;
const lacking = (desiredIPs = 2) => primed({ ips: [A], desiredIPs }, ['a', 'b'], [observed(A)]);
const intent: CreateIntent = { knownAddresses: [A], listedAt: START };
const creating = (desiredIPs = 2) => lacking(desiredIPs).done('intend', intent);
const inDoubt = () => creating().failed('create', cutOff());
const claims = ({ context }: Driven<PoolContext>) => rightTaken(context);

describe('a pool that lacks an address', () => {
  test('notes what there is, creates one, publishes it, and only then starts it', () => {
    const pool = lacking();
    expect([acquiring(pool), pool.started]).toEqual(['Intending', ['intendCreate']]);
    expect(pool.inputOf('intendCreate')).toMatchObject({ provider: PROVIDER, region: 'nyc3', owner: { name: 'ingress' } });
    pool.done('intend', intent);
    expect(pool.inputOf('create')).toMatchObject({ region: 'nyc3', intent: { ...intent, region: 'nyc3' }, inDoubtUntil: null });
    pool.done('create', { address: B });
    expect([pool.started, toldIn(pool)]).toEqual([['publish'], []]);
    expect(pool.inputOf('publish')).toMatchObject({ address: B });
    pool.done('publish', { ips: [A, B], generation: 2 });
    expect([acquiring(pool), toldIn(pool)]).toEqual(['Complete', [`spawn ${B}`]]);
    expect(pool.context.acquiring).toMatchObject({ intent: null, unpublished: null, published: [B] });
  });

  test('creates one at a time until it has enough', () => {
    const pool = creating(3)
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 });
    expect([acquiring(pool), toldIn(pool)]).toEqual(['Intending', [`spawn ${B}`]]);
    pool
      .done('intend', { ...intent, knownAddresses: [A, B] })
      .done('create', { address: C })
      .done('publish', { ips: [A, B, C], generation: 3 });
    expect([acquiring(pool), Object.keys(pool.context.members)]).toEqual(['Complete', [A, B, C]]);
  });

  test('starts a new address as ours, without reading it: nobody had time to attach it', () => {
    const pool = creating()
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 });
    const [spawned] = pool.last.effects.flatMap((effect) => (effect.type === 'spawn' ? [effect.params.input] : []));
    expect(spawned).toMatchObject({ address: B, origin: 'Created', observed: { providerID: null, locked: false } });
  });

  test('takes a spec that does not list the new address yet for what it is: old', () => {
    const pool = creating()
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 });
    expect(toldIn(pool.send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 })))).toEqual([]);
    pool.send('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 2 }, { generation: 2 }));
    expect([toldIn(pool), pool.context.acquiring.published]).toEqual([[], []]);
  });

  test('does not use one that a person took out of the spec before any spec with it was seen', () => {
    const seenLater = creating()
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 })
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 1 }, { generation: 3 }));
    expect([toldIn(seenLater), seenLater.context.acquiring.published]).toEqual([[`RETIRE ${B}`], []]);
    const seenBefore = creating()
      .done('create', { address: B })
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 1 }, { generation: 3 }))
      .done('publish', { ips: [A, B], generation: 2 });
    expect([toldIn(seenBefore), seenBefore.context.acquiring.published]).toEqual([[], []]);
  });

  test('uses one again that it created and the spec lost, before it creates another', () => {
    const pool = creating()
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 });
    pool.send('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 2 }, { generation: 2 }));
    pool.send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }, { generation: 3 }));
    expect([acquiring(pool), pool.inputOf('publish')]).toMatchObject(['Publishing', { address: B, mayBeGone: true }]);
  });

  test('does not use one again that somebody deleted: it creates another', () => {
    const pool = creating()
      .done('create', { address: B })
      .done('publish', { ips: [A, B], generation: 2 });
    pool.send('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 2 }, { generation: 2 }));
    pool.send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }, { generation: 3 }));
    pool.failed('publish', failure('NotFound'));
    expect([acquiring(pool), pool.context.created, pool.context.acquiring.unpublished]).toEqual(['Intending', [], null]);
    expect(pool.context.acquiring.failure).toBeNull();
  });

  test('does not doubt one that it has just made', () => {
    const pool = creating().done('create', { address: B });
    expect(pool.inputOf('publish')).toMatchObject({ address: B, mayBeGone: false });
    expect(pool.inputOf('publish')).not.toHaveProperty('mayBeOthers');
    pool.failed('publish', failure('NotFound'));
    expect([acquiring(pool), pool.context.acquiring.unpublished, pool.context.created]).toEqual(['CoolOff', B, [B]]);
  });

  test('gives up one of which a list told when another object has it by now, and looks once more', () => {
    const pool = creating()
      .failed('create', failure('Unavailable', { unknownOutcome: true }))
      .done('reconcile', { found: 'one', address: B });
    expect([acquiring(pool), pool.inputOf('publish')]).toMatchObject(['Publishing', { address: B, mayBeOthers: true }]);
    pool.failed('publish', failure('Conflict'));
    expect([acquiring(pool), pool.context.created, pool.context.acquiring.unpublished]).toEqual(['Reconciling', [], null]);
  });

  test('lists anew when the call waited too long to be sent, and is in no trouble', () => {
    const pool = creating().done('create', { address: null });
    expect([acquiring(pool), pool.context.acquiring]).toMatchObject(['Intending', { intent: null, failure: null, attempts: 0 }]);
  });

  test('creates nothing before it is primed, and nothing when it lacks none', () => {
    const pool = new Driven<PoolContext>('pool', poolInput()).send('SPEC_OBSERVED', spec({ desiredIPs: 3 }));
    expect(pool.started).toEqual([]);
    expect(acquiring(primed())).toBe('Complete');
  });

  test('creates none any more when it lacks none once the others are listed', () => {
    const pool = lacking();
    pool.send('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 2 }, { generation: 2 })).done('intend', intent);
    expect([acquiring(pool), pool.started, pool.context.acquiring.intending]).toEqual(['Complete', [], false]);
  });

  test('goes on serving the addresses that it has', () => {
    const pool = creating().send('READY', ready(A));
    expect(pool.context.members[A]?.node?.name).toBe('a');
    expect(acquiring(pool.send('ASSIGNED', assigned(A, { name: 'a', providerID: observed(A, 'a').providerID ?? ('' as never) })))).toBe(
      'Creating',
    );
  });
});

describe('the right to create', () => {
  test('is held from before the list until the address is published', () => {
    const pool = lacking();
    const held = [claims(pool)];
    held.push(claims(pool.done('intend', intent)), claims(pool.done('create', { address: B })));
    expect(held).toEqual([[CREATE_CLAIM], [CREATE_CLAIM], [CREATE_CLAIM]]);
    expect(claims(pool.done('publish', { ips: [A, B], generation: 2 }))).toEqual([]);
  });

  test('is waited for while another pool has it', () => {
    const pool = new Driven<PoolContext>('pool', poolInput())
      .send('CLAIMS_OBSERVED', { fullNodes: [CREATE_CLAIM] })
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }))
      .send('CLUSTER_OBSERVED', named('a'))
      .send('PROVIDER_OBSERVED', provided(observed(A)));
    expect([acquiring(pool), claims(pool)]).toEqual(['Complete', []]);
    expect(acquiring(pool.send('CLAIMS_OBSERVED', { fullNodes: [] }))).toBe('Intending');
  });
});

describe('a creation that fails', () => {
  test('is tried again by the back-off table, from the list on; what exists goes on working', () => {
    const pool = creating().failed('create', failure('Unavailable'));
    expect([acquiring(pool), pool.timer, pool.context.acquiring.intent]).toEqual(['CoolOff', SECOND, null]);
    expect(pool.elapse().started).toEqual(['intendCreate']);
    expect(pool.failed('intend', failure('Invalid')).timer).toBe(300 * SECOND);
  });

  test('leaves no trace once an address was made', () => {
    const pool = creating().failed('create', failure('Unavailable')).elapse().done('intend', intent);
    pool.done('create', { address: B }).done('publish', { ips: [A, B], generation: 2 });
    expect(pool.context.acquiring).toMatchObject({ failure: null, attempts: 0, until: null });
  });

  test('is no trouble any more when nothing is lacking', () => {
    const pool = creating()
      .failed('create', failure('Invalid'))
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 1 }, { generation: 2 }));
    expect(pool.context.acquiring.failure).toBeNull();
    expect(acquiring(pool)).toBe('Complete');
  });

  test('to be published is published again, and not created again', () => {
    const pool = creating().done('create', { address: B }).failed('publish', failure('Unavailable'));
    expect(pool.context.acquiring).toMatchObject({ unpublished: B });
    expect(pool.elapse().started).toEqual(['publish']);
  });

  test('is no trouble when nothing is lacking by the time that it fails', () => {
    const enough = spec({ ips: [A], desiredIPs: 1 }, { generation: 2 });
    const pool = creating().send('SPEC_OBSERVED', enough).failed('create', failure('Unavailable'));
    expect([acquiring(pool), pool.context.acquiring]).toMatchObject([
      'Complete',
      { failure: null, attempts: 0, until: null, intent: null },
    ]);
    const listing = lacking().send('SPEC_OBSERVED', enough).failed('intend', failure('Unavailable'));
    expect([acquiring(listing), listing.context.acquiring]).toMatchObject(['Complete', { failure: null, intending: false }]);
    const doubtful = creating().send('SPEC_OBSERVED', enough).failed('create', cutOff()).failed('reconcile', failure('Unavailable'));
    expect([acquiring(doubtful), doubtful.context.acquiring.failure]).toMatchObject(['CoolOff', { kind: 'Unavailable' }]);
  });
});

describe('a creation under way when the pool is deleted', () => {
  const deleted = () => creating().after(SECOND).send('DELETED').send('GONE', { address: A });
  const messageOf = (pool: Driven<PoolContext>) => (pool.inputOf('announce') as { message: string } | undefined)?.message;

  test('is looked up, not made, before the pool is gone, by the right that it holds', () => {
    const pool = deleted();
    expect([pool.state, pool.last.done, claims(pool)]).toEqual(['Stopping.Reconciling', false, [CREATE_CLAIM]]);
    const asked = creating().after(SECOND).send('DELETED');
    expect(asked.inputOf('reconcileCreate')).toMatchObject({
      intent: { knownAddresses: [A] },
      inDoubtUntil: START + SECOND + CALL_DEADLINE,
    });
    expect(asked.started).toEqual(['reconcileCreate']);
  });

  test('ends with the pool when it never took effect', () => {
    const pool = deleted().done('reconcile', { found: 'none' });
    expect([pool.state, pool.started]).toEqual(['Stopping.Clearing', []]);
  });

  test('of which a list tells an address is told, with how to be rid of it, before the pool is gone; the address stays', () => {
    const pool = deleted().done('reconcile', { found: 'one', address: B });
    expect([pool.state, pool.started]).toEqual(['Stopping.Announcing', ['announce']]);
    expect(pool.inputOf('announce')).toMatchObject({ owner: { name: 'ingress' }, reason: 'AddressLeft' });
    expect(messageOf(pool)).toContain(`${B} may have been made for this pool. If nobody else made it`);
    expect(messageOf(pool)).toContain('doctl compute reserved-ip delete');
    expect([pool.done('announce').send('CLEARED').state, claims(pool)]).toEqual(['Gone', []]);
  });

  test('that nobody can tell from the creations of others names them all', () => {
    const pool = deleted().done('reconcile', { found: 'several', addresses: [B, C] });
    expect(messageOf(pool)).toMatch(new RegExp(`^one of ${B}, ${C} may have been made`));
    expect(pool.failed('announce', failure('Unavailable')).send('CLEARED').state).toBe('Gone');
  });

  test('that has an address already, and has not listed it, tells of it at once', () => {
    const pool = creating().done('create', { address: B }).send('DELETED');
    expect(pool.started).toEqual(['announce']);
    expect(messageOf(pool)).toContain(`${B} was made for this pool, which was deleted meanwhile`);
    expect(messageOf(pool)).toContain(`doctl compute reserved-ip delete ${B}`);
    const unclear = inDoubt()
      .done('reconcile', { found: 'several', addresses: [B, C] })
      .send('DELETED');
    expect([unclear.started, messageOf(unclear)?.startsWith('one of')]).toEqual([['announce'], true]);
  });

  test('is looked up again when that failed, and given up with a word an hour after its doubt', () => {
    const pool = deleted().failed('reconcile', failure('Unauthorized'));
    expect([pool.state, pool.elapse().started]).toEqual(['Stopping.CoolOff', ['reconcileCreate']]);
    pool.after(3_600_000).failed('reconcile', failure('Unauthorized'));
    expect(pool.state).toBe('Stopping.Announcing');
    expect(messageOf(pool)).toMatch(/^an address may have been made for this pool at digitalocean in nyc3/);
  });

  test('does not keep the addresses of the pool from being released meanwhile', () => {
    const pool = creating().send('DELETED');
    expect(toldIn(pool)).toEqual([`RETIRE ${A}`]);
    pool.done('reconcile', { found: 'none' });
    expect(pool.state).toBe('Stopping.Releasing');
    expect(pool.send('GONE', { address: A }).state).toBe('Stopping.Clearing');
  });

  test('is none while the list before it is read: nothing was sent', () => {
    expect(lacking().send('DELETED').state).toBe('Stopping.Releasing');
  });
});

describe('a creation of which nobody knows what became', () => {
  test('is looked up in a list that cannot miss it', () => {
    expect(inDoubt().inputOf('reconcileCreate')).toMatchObject({ intent: { knownAddresses: [A] }, inDoubtUntil: START + CALL_DEADLINE });
  });

  test('is ours when there is one new address', () => {
    const pool = inDoubt().done('reconcile', { found: 'one', address: B });
    expect([pool.started, pool.context.created]).toEqual([['publish'], [B]]);
  });

  test('never took effect when there is none, and may be made again', () => {
    expect(inDoubt().done('reconcile', { found: 'none' }).started).toEqual(['intendCreate']);
  });

  test('is left to a person when there are several: nothing more is created', () => {
    const pool = inDoubt().done('reconcile', { found: 'several', addresses: [B, C] });
    expect([acquiring(pool), pool.started, claims(pool)]).toEqual(['Complete', [], []]);
    pool.send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 3 }, { generation: 2 }));
    expect([acquiring(pool), pool.started]).toEqual(['Complete', []]);
    pool.send('SPEC_OBSERVED', spec({ ips: [A, C], desiredIPs: 3 }, { generation: 3 }));
    expect([acquiring(pool), pool.context.acquiring.unclear]).toEqual(['Intending', []]);
  });

  test('is not mixed up with an address that the spec lists and that somebody made again meanwhile', () => {
    const pool = primed({ ips: [A, B], desiredIPs: 3 }, ['a', 'b', 'c'], [observed(A)]);
    pool.done('intend', intent).failed('create', cutOff());
    expect(pool.inputOf('reconcileCreate')).toMatchObject({ intent: { knownAddresses: [A, B] } });
    const later = inDoubt().send('SPEC_OBSERVED', spec({ ips: [A, B], desiredIPs: 3 }, { generation: 2 }));
    for (const finding of [
      { found: 'one', address: B },
      { found: 'several', addresses: [B, C] },
    ]) {
      later.done('reconcile', finding);
      expect([acquiring(later), later.started, later.context.created, later.context.acquiring.unclear]).toEqual([
        'Reconciling',
        ['reconcileCreate'],
        [],
        [],
      ]);
      expect(later.inputOf('reconcileCreate')).toMatchObject({ intent: { knownAddresses: [A, B] }, inDoubtUntil: START + CALL_DEADLINE });
    }
    later.done('reconcile', { found: 'one', address: C });
    expect(later.context.created).toEqual([C]);
  });

  test('is looked up again when that failed', () => {
    const pool = inDoubt().failed('reconcile', failure('Unavailable'));
    expect(pool.elapse().inputOf('reconcileCreate')).toMatchObject({ inDoubtUntil: START + CALL_DEADLINE });
  });

  test('since the operator was restarted in the middle is looked up, never made again', () => {
    const pool = creating().after(SECOND).send('RESUME');
    expect(pool.inputOf('reconcileCreate')).toMatchObject({ inDoubtUntil: START + SECOND + CALL_DEADLINE });
  });

  test('since the spec was not valid for a moment is looked up, never made again', () => {
    const pool = creating().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    expect(pool.inputOf('reconcileCreate')).toMatchObject({ provider: PROVIDER, inDoubtUntil: START + CALL_DEADLINE });
    pool.after(SECOND).send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }, { generation: 3 }));
    pool.send('CLUSTER_OBSERVED', named('a', 'b'));
    expect([acquiring(pool), pool.started]).toEqual(['Reconciling', []]);
    pool.done('reconcile', { found: 'one', address: B });
    expect([acquiring(pool), pool.started]).toEqual(['Publishing', ['publish']]);
  });

  test('while the spec is not valid gives the right to create back once it is known what became of it', () => {
    const pool = creating().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    expect(claims(pool)).toEqual([CREATE_CLAIM]);
    pool.done('reconcile', { found: 'one', address: B });
    expect([pool.inputOf('publish'), claims(pool)]).toMatchObject([{ address: B }, [CREATE_CLAIM]]);
    pool.done('publish', { ips: [A, B], generation: 3 });
    expect([pool.state, claims(pool), toldIn(pool)]).toEqual(['Invalid', [], []]);
    const vain = creating().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    expect([vain.done('reconcile', { found: 'none' }).state, claims(vain)]).toEqual(['Invalid', []]);
    const listing = lacking().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    expect([listing.state, claims(listing)]).toEqual(['Invalid', []]);
  });

  test('that nobody can look up while the spec is not valid is looked up again after the wait', () => {
    const pool = creating().send('SPEC_OBSERVED', spec({ provider: 'aws' }, { generation: 2 }));
    pool.failed('reconcile', failure('Unavailable'));
    expect([acquiring(pool), claims(pool)]).toEqual(['CoolOff', [CREATE_CLAIM]]);
    expect(pool.elapse().started).toEqual(['reconcileCreate']);
    expect(claims(pool.done('reconcile', { found: 'several', addresses: [B, C] }))).toEqual([]);
  });

  const remembered = {
    lastAssignmentAt: null,
    intent: { ...intent, region: 'nyc3' },
    inDoubtUntil: START + CALL_DEADLINE,
    created: [],
    addresses: {},
    absent: [],
    held: false,
  };

  test('since the records were lost is looked up before anything is created', () => {
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered }));
    expect(claims(pool)).toEqual([CREATE_CLAIM]);
    pool
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }))
      .send('CLUSTER_OBSERVED', named('a'))
      .send('PROVIDER_OBSERVED', provided(observed(A), observed(B)));
    expect([pool.started, claims(pool)]).toEqual([['reconcileCreate'], [CREATE_CLAIM]]);
  });

  test('since the records were lost is looked up after that of another pool, and its addresses are served meanwhile', () => {
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered }))
      .send('CLAIMS_OBSERVED', { fullNodes: [CREATE_CLAIM] })
      .send('SPEC_OBSERVED', spec({ ips: [A], desiredIPs: 2 }))
      .send('CLUSTER_OBSERVED', named('a'))
      .send('PROVIDER_OBSERVED', provided(observed(A), observed(B)));
    expect([pool.started, claims(pool), Object.keys(pool.context.members)]).toEqual([[], [], [A]]);
    pool.send('CLAIMS_OBSERVED', { fullNodes: [] });
    expect([pool.started, claims(pool)]).toEqual([['reconcileCreate'], [CREATE_CLAIM]]);
    // From here on it has the right, whatever it hears.
    pool.send('CLAIMS_OBSERVED', { fullNodes: [CREATE_CLAIM] });
    expect(claims(pool)).toEqual([CREATE_CLAIM]);
  });

  test('since the records were lost holds up a pool that is deleted, until it was looked up after that of another one', () => {
    const pool = new Driven<PoolContext>('pool', poolInput({ remembered, provider: PROVIDER }))
      .send('CLAIMS_OBSERVED', { fullNodes: [CREATE_CLAIM] })
      .send('DELETED');
    expect([pool.state, pool.started, claims(pool)]).toEqual(['Stopping.Concluding', [], []]);
    pool.send('CLAIMS_OBSERVED', { fullNodes: [] });
    expect([pool.started, claims(pool)]).toEqual([['reconcileCreate'], [CREATE_CLAIM]]);
  });
});
