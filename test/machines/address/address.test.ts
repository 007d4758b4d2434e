import { describe, expect, test } from 'vitest';
import type { AddressContext, AddressInput } from '../../../machines/address/context.ts';
import { claimedNodes } from '../../../machines/address/decisions.ts';
import type { ObservedAddress } from '../../../machines/model/types.ts';
import { holderNodes } from '../../../machines/status/routedip.ts';
import { A, cutOff, failure, observed, providerIDOf, refOf, SECOND } from '../builders.ts';
import { CALL_DEADLINE, Driven } from '../drive.ts';
import { addressInput } from './vocabulary.ts';

const address = (change: Partial<AddressInput> = {}) =>
  new Driven<AddressContext>('ip', addressInput({ observed: observed(A), ...change }));
const grant = (name: string, spaced = false) => ({ node: refOf(name), spaced });
const granted = (name = 'a', spaced = false) => address().send('NODE_GRANTED', grant(name, spaced));
const stable = (name = 'a') => granted(name).done('assign');
const lost = (name = 'a') => ({ name, eligible: false });
const paramsOf = (given: Driven<AddressContext>, type: string): unknown =>
  given.last.effects.flatMap((effect) => (effect.type === 'tell' && effect.params.event.type === type ? [effect.params.event] : []))[0];

describe('a new address', () => {
  test.each<[string, ObservedAddress | null, string[], string]>([
    ['is read when nothing is known of it', null, ['find'], 'Unassigned.Finding'],
    ['is read when it was locked: it is on its way', observed(A, 'a', { locked: true }), ['find'], 'Unassigned.Finding'],
    ['is not read again when the provider was', observed(A, 'a'), [], 'Unassigned.Waiting'],
  ])('%s', (_, known, jobs, state) => {
    const given = address({ observed: known });
    expect([given.started, given.state]).toEqual([jobs, state]);
  });

  test('tells the pool that it wants a node, and where it is', () => {
    expect(paramsOf(address({ observed: observed(A, 'x') }), 'READY')).toEqual({
      type: 'READY',
      address: A,
      holder: providerIDOf('x'),
      region: 'nyc3',
    });
  });

  test('is on the node that its status remembers as long as the provider says so, and leaves it as any other', () => {
    const remembered = { epoch: 7, inDoubtUntil: null, on: refOf('x') };
    expect(address({ remembered, observed: observed(A, 'y') }).context.assigned).toBeNull();
    expect(address({ remembered, observed: null }).context.assigned).toBeNull();
    const given = address({ remembered, observed: observed(A, 'x') });
    expect(given.context).toMatchObject({ assigned: refOf('x'), elected: null });
    expect(given.send('NODE_GRANTED', grant('a')).context).toMatchObject({ elected: refOf('a'), previous: [refOf('x')] });
  });

  test('has left the node that its status remembers when others have that by now, and leaves it its mark', () => {
    const remembered = { epoch: 7, inDoubtUntil: null, on: refOf('x'), isTaken: true as const };
    expect(address({ remembered, observed: observed(A, 'y') }).context.previous).toEqual([]);
    const given = address({ remembered, observed: observed(A, 'x') });
    expect(given.context).toMatchObject({ assigned: null, previous: [refOf('x')] });
    expect(claimedNodes(given.context)).toEqual([]);
    expect(holderNodes({ context: given.context, state: 'Unassigned' })).toEqual(['x']);
    expect(given.send('NODE_GRANTED', grant('x')).context).toMatchObject({ elected: refOf('x'), previous: [] });
  });

  test('is read, and not before the end of a doubt that its status remembers', () => {
    const given = address({ remembered: { epoch: 7, inDoubtUntil: 99 } });
    expect(given.inputOf('find')).toMatchObject({ address: A, notBefore: 99 });
    expect(given.done('find', observed(A)).context).toMatchObject({ epoch: 7, inDoubtUntil: null, known: true });
  });

  test('that cannot be read is read again by the back-off table', () => {
    const given = address({ observed: null });
    const waits = [1, 2, 3].map(() => {
      given.failed('find', failure('Unavailable'));
      const wait = given.timer;
      given.elapse();
      return wait;
    });
    expect(waits).toEqual([1000, 1000, 5000]);
    expect(given.state).toBe('Unassigned.Finding');
  });
});

describe('an address that is granted a node', () => {
  test('is assigned to it by one call, then serves', () => {
    const given = granted();
    expect(given.started).toEqual(['assign']);
    expect(given.inputOf('assign')).toMatchObject({ address: A, node: refOf('a'), inDoubtUntil: null });
    given.done('assign');
    expect([given.state, given.started]).toEqual(['Stable.Holding', []]);
    expect(paramsOf(given, 'ASSIGNED')).toEqual({ type: 'ASSIGNED', address: A, node: refOf('a'), moved: true });
    expect(given.context).toMatchObject({ assigned: refOf('a'), holder: providerIDOf('a'), epoch: 1 });
  });

  test('is adopted where it sits already, without a call', () => {
    const given = address({ observed: observed(A, 'a') }).send('NODE_GRANTED', grant('a'));
    expect([given.state, given.started]).toEqual(['Stable.Holding', []]);
    expect(paramsOf(given, 'ASSIGNED')).toMatchObject({ moved: false });
  });

  test('claims that node and the one it stands on', () => {
    const given = stable('a').send('NODE_OBSERVED', lost('a')).send('NODE_GRANTED', grant('b'));
    expect(claimedNodes(given.context)).toEqual(['a', 'b']);
    expect(claimedNodes(given.done('assign').context)).toEqual(['b']);
  });

  test('while it is read gives the grant back, whatever the read says', () => {
    const reading = () =>
      address()
        .send('ADDRESS_OBSERVED', { observed: observed(A, 'x') })
        .send('NODE_GRANTED', grant('b', true));
    expect(reading().state).toBe('Unassigned.Finding');
    expect(reading().done('find', observed(A, 'x')).told).toEqual(['READY']);
    expect(paramsOf(reading().failed('find', failure('Unavailable')), 'FAILED')).toMatchObject({ returned: refOf('b') });
    expect(paramsOf(reading().failed('find', failure('NotFound')), 'FAILED')).toMatchObject({ returned: refOf('b') });
  });
});

describe('an assign that fails', () => {
  test('is tried again by the back-off table until it works, and counts from the start after that', () => {
    const given = granted();
    const waits = Array.from({ length: 14 }, () => {
      given.failed('assign', failure('Unavailable'));
      const wait = given.timer ?? 0;
      given.elapse();
      return wait / SECOND;
    });
    expect(waits).toEqual([1, 1, 5, 5, 10, 10, 10, 60, 60, 60, 60, 60, 300, 300]);
    given.done('assign');
    expect(given.context).toMatchObject({ failure: null, attempts: 0, coolOffUntil: null });
    given.send('NODE_OBSERVED', lost()).send('NODE_GRANTED', grant('b')).failed('assign', failure('Unavailable'));
    expect(given.timer).toBe(SECOND);
  });

  test('waits as long as the provider asks', () => {
    expect(granted().failed('assign', failure('RateLimited', { retryAfterMs: 60_000 })).timer).toBe(60_000);
  });

  test('keeps its grant, and tells the pool so', () => {
    const given = granted().failed('assign', failure('Unavailable'));
    expect(paramsOf(given, 'FAILED')).toEqual({ type: 'FAILED', address: A, kind: 'Unavailable', returned: null, holder: null });
    expect(given.context.elected).toEqual(refOf('a'));
  });

  test('gives its grant back in a pool with a cool-off: another address may use the turn', () => {
    const given = granted('a', true).failed('assign', failure('Unavailable'));
    expect(paramsOf(given, 'FAILED')).toMatchObject({ returned: refOf('a') });
    expect(given.elapse().state).toBe('Unassigned.Waiting');
  });

  test('because the node holds another address goes to another node at once', () => {
    const given = granted().failed('assign', failure('NodeInUse'));
    expect([given.state, given.timer, given.told]).toEqual(['Unassigned.Waiting', null, ['FAILED', 'READY']]);
    expect(paramsOf(given, 'FAILED')).toMatchObject({ kind: 'NodeInUse', returned: refOf('a') });
  });

  test('because the address does not exist makes nothing else of it, and frees the node', () => {
    const given = granted().failed('assign', failure('NotFound'));
    expect([given.state, given.timer]).toEqual(['CoolOff', 60_000]);
    expect(given.context).toMatchObject({ elected: null, holder: null, known: false });
    expect(given.elapse().started).toEqual(['find']);
  });

  test('because of the credentials waits for others, whatever becomes of the node', () => {
    const given = granted().failed('assign', failure('Unauthorized')).send('NODE_OBSERVED', lost());
    expect(given.state).toBe('CoolOff');
    expect(given.send('SECRET_OBSERVED').state).toBe('Unassigned.Waiting');
  });

  test('and loses its node meanwhile does not wait: another node may be had', () => {
    const given = granted().failed('assign', failure('Unavailable')).send('NODE_OBSERVED', lost());
    expect([given.state, given.told, given.timer]).toEqual(['Unassigned.Waiting', ['READY'], null]);
  });
});

describe('an assign of which nobody knows what became', () => {
  test('is in doubt for as long as the call may take effect, and reads before it sends again', () => {
    const given = granted().failed('assign', cutOff());
    const until = given.now + CALL_DEADLINE;
    expect(given.context).toMatchObject({ inDoubtUntil: until, elected: refOf('a') });
    expect(given.elapse().inputOf('assign')).toMatchObject({ node: refOf('a'), inDoubtUntil: until });
    expect(given.done('assign').context.inDoubtUntil).toBeNull();
  });

  test('keeps its node while the doubt lasts, even when that node is lost and the pool spaces its assignments', () => {
    const given = granted('a', true).failed('assign', cutOff()).send('NODE_OBSERVED', lost());
    expect([given.state, given.context.elected]).toEqual(['CoolOff', refOf('a')]);
    expect(given.elapse().inputOf('find')).toMatchObject({ notBefore: given.context.inDoubtUntil });
    expect(given.context.elected).toEqual(refOf('a'));
    expect(given.done('find', observed(A, 'a')).context).toMatchObject({ elected: null, holder: providerIDOf('a'), inDoubtUntil: null });
  });

  test('gives its node back when that refuses it once nothing can take effect any more: where the address is gets read first', () => {
    const given = granted('a', true).failed('assign', cutOff()).elapse().after(CALL_DEADLINE).failed('assign', failure('Unavailable'));
    expect([given.state, given.context.elected, given.elapse().started]).toEqual(['CoolOff', refOf('a'), ['find']]);
    expect([given.done('find', observed(A)).state, given.context.elected]).toEqual(['Unassigned.Waiting', null]);
  });

  test('since the operator was restarted in the middle is asked for again, and reads first', () => {
    const given = granted().after(SECOND).send('RESUME');
    expect(given.inputOf('assign')).toMatchObject({ inDoubtUntil: given.now + CALL_DEADLINE });
  });

  test('does not give its node away when the read fails and the node is lost: the call of before may still reach it', () => {
    const given = granted().send('RESUME').send('NODE_OBSERVED', lost()).failed('assign', failure('Unavailable'));
    expect(given.context.elected).toEqual(refOf('a'));
    expect(paramsOf(given, 'FAILED')).toMatchObject({ returned: null });
    expect(claimedNodes(given.context)).toEqual(['a']);
  });

  test('turns out to have been moved by somebody else: it is read before anything is decided, and its node kept until then', () => {
    const given = granted().send('RESUME').failed('assign', failure('Conflict'));
    expect([given.started, given.context.elected]).toEqual([['find'], refOf('a')]);
    expect(given.done('find', observed(A, 'x')).context).toMatchObject({ elected: null, holder: providerIDOf('x') });
  });

  test('is in doubt when it turns out to be elsewhere after a run of its job was cut off: the call of that one may still take it from there', () => {
    const given = granted().failed('assign', { ...failure('Conflict'), unknownOutcome: true });
    expect([given.state, given.context.inDoubtUntil, given.context.elected]).toEqual([
      'Unassigned.Doubting',
      given.now + CALL_DEADLINE,
      refOf('a'),
    ]);
    expect(paramsOf(given, 'FAILED')).toMatchObject({ returned: null });
  });

  test('is settled when the node turns out to be in use: that is said only after a read', () => {
    const given = granted().send('RESUME').failed('assign', failure('NodeInUse'));
    expect([given.state, given.context.inDoubtUntil]).toEqual(['Unassigned.Waiting', null]);
  });
});

describe('an address whose node is lost', () => {
  test('waits for another one, and stays where it is until then', () => {
    const given = stable().send('NODE_OBSERVED', lost());
    expect([given.state, given.started, given.told]).toEqual(['Unassigned.Waiting', [], ['READY']]);
    expect(given.context).toMatchObject({ assigned: refOf('a'), holder: providerIDOf('a'), elected: null });
  });

  test('serves again without a call when that node comes back first', () => {
    const given = stable().send('NODE_OBSERVED', lost()).send('NODE_GRANTED', grant('a'));
    expect([given.state, given.started]).toEqual(['Stable.Holding', []]);
  });

  test('during an assign awaits the outcome, then wants another node', () => {
    const given = granted().send('NODE_OBSERVED', lost());
    expect(given.state).toBe('Assigning');
    given.done('assign');
    expect([given.state, given.told]).toEqual(['Unassigned.Waiting', ['ASSIGNED', 'READY']]);
    const failed = granted().send('NODE_OBSERVED', lost()).failed('assign', failure('Unavailable'));
    expect([failed.state, failed.timer]).toEqual(['Unassigned.Waiting', null]);
  });

  test('does not hear of nodes that are not its own', () => {
    expect(stable().send('NODE_OBSERVED', lost('b')).state).toBe('Stable.Holding');
    expect(stable().send('NODE_OBSERVED', { name: 'a', eligible: true }).state).toBe('Stable.Holding');
  });

  test('is not stable on it when it had waited for its firewall meanwhile', () => {
    const given = address();
    given.send('POLICY_OBSERVED', { policy: { firewall: 'f', postAllow: false, ports: ['tcp/80'] } }).send('NODE_GRANTED', grant('a'));
    given.send('OPENED').done('assign').send('REFUSED', { kind: 'Unauthorized', reason: 'no token' });
    expect(given.send('NODE_OBSERVED', lost()).state).toBe('CoolOff');
    expect(given.elapse().state).toBe('Unassigned.Waiting');
  });
});

describe('an address that a list shows elsewhere', () => {
  const elsewhere = () => stable().send('ADDRESS_OBSERVED', { observed: observed(A, 'x') });

  test('is read once before anything is done', () => {
    expect([elsewhere().state, elsewhere().started]).toEqual(['Stable.Checking', ['find']]);
    expect(stable().send('ADDRESS_OBSERVED', { observed: null }).state).toBe('Stable.Checking');
  });

  test('stays when the read shows it in its place, or fails', () => {
    expect(elsewhere().done('find', observed(A, 'a')).state).toBe('Stable.Holding');
    expect(elsewhere().failed('find', failure('Unavailable')).state).toBe('Stable.Holding');
  });

  test('is read all the same when its firewall is to open something else meanwhile', () => {
    const policy = { firewall: 'f', postAllow: false, ports: ['tcp/80'] };
    const given = elsewhere().send('POLICY_OBSERVED', { policy });
    expect([given.state, given.started]).toEqual(['Unassigned.Finding', ['find']]);
    expect(given.done('find', observed(A, 'x')).state).toBe('Unassigned.Waiting');
    const inPlace = elsewhere().send('POLICY_OBSERVED', { policy }).done('find', observed(A, 'a'));
    expect(inPlace.send('NODE_GRANTED', grant('a')).state).toBe('FirewallOpening');
    expect(elsewhere().send('POLICY_OBSERVED', { policy: { firewall: null, postAllow: false, ports: [] } }).state).toBe('Stable.Checking');
  });

  test('is brought back when the read agrees', () => {
    const given = elsewhere().done('find', observed(A, 'x'));
    expect([given.state, given.context.holder, given.context.assigned]).toEqual(['Unassigned.Waiting', providerIDOf('x'), null]);
    expect(given.send('NODE_GRANTED', grant('a')).started).toEqual(['assign']);
  });

  test('is in error when the provider does not know it any more', () => {
    expect(elsewhere().failed('find', failure('NotFound')).state).toBe('CoolOff');
  });

  test('is left alone while it is locked: its next report counts', () => {
    expect(stable().send('ADDRESS_OBSERVED', { observed: observed(A, 'x', { locked: true }) }).state).toBe('Stable.Holding');
  });
});

describe('an address that the provider did not know', () => {
  const missing = () => address({ observed: null }).failed('find', failure('NotFound'));

  test('is used again as soon as a list shows it', () => {
    const given = missing().send('ADDRESS_OBSERVED', { observed: observed(A) });
    expect([given.state, given.context.failure, given.context.attempts]).toEqual(['Unassigned.Waiting', null, 0]);
  });

  test('is read first when it comes back locked', () => {
    expect(missing().send('ADDRESS_OBSERVED', { observed: observed(A, 'x', { locked: true }) }).state).toBe('Unassigned.Finding');
  });

  test('stays in error while lists lack it', () => {
    expect(missing().send('ADDRESS_OBSERVED', { observed: null }).state).toBe('CoolOff');
  });
});

describe('an address that is given up', () => {
  test('stays where it is', () => {
    const given = stable().send('RETIRE', { policy: 'Retain' });
    expect([given.state, given.started, given.told, given.last.done]).toEqual(['Released', [], ['GONE'], true]);
  });

  test('is deleted only when we created it and that is asked for', () => {
    expect(stable().send('RETIRE', { policy: 'Delete' }).inputOf('release')).toMatchObject({ address: A, policy: 'Delete' });
    expect(address({ origin: 'Found' }).send('RETIRE', { policy: 'Delete' }).state).toBe('Released');
  });

  test('in the middle of an assign awaits the outcome', () => {
    const given = granted().send('RETIRE', { policy: 'Retain' });
    expect(given.state).toBe('Assigning');
    expect(given.done('assign').told).toEqual(['ASSIGNED', 'GONE']);
    expect(granted().send('RETIRE', { policy: 'Retain' }).failed('assign', failure('Invalid')).state).toBe('Released');
  });

  test('while an assign is under way is not assigned again after a restart: it leaves once the call can take no effect', () => {
    const given = granted().send('RETIRE', { policy: 'Retain' }).send('RESUME');
    expect([given.state, given.started, given.context.coolOffUntil]).toEqual(['CoolOff', [], given.now + CALL_DEADLINE]);
    expect(given.elapse().state).toBe('Released');
  });

  test('leaves only once a call of unknown outcome can have no more effect', () => {
    const left = granted().send('RETIRE', { policy: 'Retain' }).failed('assign', cutOff());
    expect(left.state).toBe('CoolOff');
    expect(left.context.coolOffUntil).toBe(left.context.inDoubtUntil);
    const doubtful = granted().failed('assign', cutOff()).send('RETIRE', { policy: 'Retain' });
    expect(doubtful.state).toBe('CoolOff');
    expect(doubtful.after(15 * SECOND).send('xstate.after.coolOff.ip.CoolOff').state).toBe('Released');
  });

  test('claims its node until then, since the call may still put it there', () => {
    const left = granted().send('RETIRE', { policy: 'Retain' }).failed('assign', cutOff());
    expect(claimedNodes(left.context)).toEqual(['a']);
    expect(claimedNodes(left.elapse().context)).toEqual([]);
  });

  const failing = (kind: 'Unauthorized' | 'NotFound') => stable().send('RETIRE', { policy: 'Delete' }).failed('release', failure(kind));

  test('is not brought back to work by new credentials: its release is tried again', () => {
    expect(failing('Unauthorized').send('SECRET_OBSERVED').started).toEqual(['release']);
  });

  test('is not brought back to work by a list that shows it', () => {
    const given = failing('NotFound').send('ADDRESS_OBSERVED', { observed: observed(A) });
    expect(given.state).toBe('CoolOff');
    expect(given.elapse().started).toEqual(['release']);
  });
});
