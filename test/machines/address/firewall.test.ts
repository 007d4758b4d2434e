import { describe, expect, test } from 'vitest';
import type { AddressContext } from '../../../machines/address/context.ts';
import type { FirewallPolicy } from '../../../machines/model/firewall-policy.ts';
import { A, cutOff, failure, observed, PROVIDER, refOf } from '../builders.ts';
import { Driven } from '../drive.ts';
import { AFTER, addressInput, FIRST, MARKED, NONE } from './vocabulary.ts';

const managed = (policy: FirewallPolicy, on: string | null = null) =>
  new Driven<AddressContext>('ip', addressInput({ observed: observed(A, on) }), { policy });
const grant = (name: string, spaced = false) => ({ node: refOf(name), spaced });
const refused = { kind: 'Conflict', reason: 'the firewall is full' };

/** What the last event had done at the provider: jobs by name, claims by mode and node. */
const done = ({ last }: Driven<AddressContext>): readonly string[] => [
  ...last.starts.map(({ job }) => job),
  ...last.effects.flatMap((effect) => {
    if (effect.type !== 'claim') return [];
    const { mode, node } = effect.params.event as unknown as { mode: string; node: { name: string } | null };
    return [`${mode} ${node?.name ?? 'nothing'}`];
  }),
];

/** Everything that is done from the grant of node b until the address is stable, when nothing fails. */
function sequence(given: Driven<AddressContext>): readonly string[] {
  const steps = [...done(given.send('NODE_GRANTED', grant('b')))];
  for (let turns = 0; given.state !== 'Stable.Holding'; turns += 1) {
    if (turns > 6) throw new Error(`is still in ${given.state} after ${steps.join(', ')}`);
    if (given.state === 'Assigning') given.done('assign');
    else given.send(given.state === 'FirewallOpening' ? 'OPENED' : 'PRUNED');
    steps.push(...done(given));
  }
  return steps;
}

describe('the firewall of an address', () => {
  test.each<[string, FirewallPolicy, string | null, string[]]>([
    ['opens first when it is to open first', FIRST, 'a', ['open b', 'assign', 'prune b']],
    ['opens after the assignment when it is to open after', AFTER, 'a', ['assign', 'open b', 'prune b']],
    ['is left alone when there is none', NONE, 'a', ['assign']],
    ['is left alone when there is none, whatever the order', { ...NONE, postAllow: true }, 'a', ['assign']],
    ['opens where the address sits already, without an assign: first', FIRST, 'b', ['open b', 'prune b']],
    ['opens where the address sits already, without an assign: after', AFTER, 'b', ['open b', 'prune b']],
    ['is left alone where the address sits already and there is none', NONE, 'b', []],
  ])('%s', (_, policy, on, steps) => expect(sequence(managed(policy, on))).toEqual(steps));

  test('is claimed with all ports, for the address', () => {
    const { last } = managed(FIRST).send('NODE_GRANTED', grant('b'));
    expect(last.effects).toEqual([
      {
        type: 'claim',
        params: {
          to: FIRST.firewall,
          event: { type: 'CLAIM', claimant: addressInput().id, node: refOf('b'), ports: FIRST.ports, mode: 'open' },
        },
      },
    ]);
  });

  const full = { kind: 'Invalid', reason: 'the firewall is full' };
  test.each([
    ['at once where its address waits for it', managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', full), 'FirewallOpening'],
    ['where it serves', managed(FIRST, 'b').send('NODE_GRANTED', grant('b')).send('REFUSED', full), 'FirewallOpening'],
    ['once it gets a turn again', managed(FIRST).send('NODE_GRANTED', grant('b', true)).send('REFUSED', full), 'Unassigned.Waiting'],
    ['not while it waits for something else', managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused), 'CoolOff'],
  ])('that has rules again is claimed anew: %s', (_, given, state) => {
    expect(given.state).toBe('CoolOff');
    given.send('RULES_FREED');
    const [wait] = given.last.delays;
    if (wait?.delayMs === 0) given.send('xstate.after.coolOff.ip.CoolOff');
    expect(given.state).toBe(state);
  });

  test('that was asked for more while its address moved has all of it open once that is pruned', () => {
    const given = managed(FIRST, 'a').send('NODE_GRANTED', grant('b')).send('OPENED');
    const policy = { ...FIRST, ports: [...FIRST.ports, 'udp/443'] };
    given.send('POLICY_OBSERVED', { policy }).done('assign').send('PRUNED');
    expect([given.state, given.context.open?.ports]).toEqual(['Stable.Holding', policy.ports]);
  });

  test('moves first with what was open for it where there is no room for more', () => {
    const given = managed(FIRST, 'a').send('NODE_GRANTED', grant('a')).send('OPENED').send('PRUNED');
    const policy = { ...FIRST, ports: [...FIRST.ports, 'udp/443'] };
    given.send('POLICY_OBSERVED', { policy }).send('REFUSED', full).send('NODE_OBSERVED', { name: 'a', eligible: false });
    const claims = ({ last }: typeof given): readonly unknown[] =>
      last.effects.flatMap((effect) => (effect.type === 'claim' ? [(effect.params.event as unknown as { ports: unknown }).ports] : []));
    expect(claims(given.send('NODE_GRANTED', grant('b')))).toEqual([FIRST.ports]);
    given.send('OPENED');
    expect(given.context.open?.ports).toEqual(FIRST.ports);
    expect(claims(given.done('assign'))).toEqual([policy.ports]);
    given.send('REFUSED', full);
    expect([given.state, given.context.resume]).toEqual(['CoolOff', 'Pruning']);
  });

  test('blocks the move while it cannot be opened: the former holder goes on serving', () => {
    const given = managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused);
    expect([given.state, given.timer, given.context.elected]).toEqual(['CoolOff', 60_000, refOf('b')]);
    expect(done(given.elapse())).toEqual(['open b']);
  });

  test('that cannot be opened gives the grant back in a pool with a cool-off', () => {
    const given = managed(FIRST).send('NODE_GRANTED', grant('b', true)).send('REFUSED', refused);
    expect([given.state, given.context.elected]).toEqual(['CoolOff', null]);
    expect(given.elapse().state).toBe('Unassigned.Waiting');
  });

  test('that cannot be opened after the assignment keeps its address where it is, cool-off or not', () => {
    const given = managed(AFTER).send('NODE_GRANTED', grant('b', true)).done('assign').send('REFUSED', refused);
    expect([given.state, given.context.assigned, given.context.elected]).toEqual(['CoolOff', refOf('b'), refOf('b')]);
  });

  test('opens again before an assign is tried again: its ports may be others by then', () => {
    const given = managed(NONE).send('NODE_GRANTED', grant('b')).failed('assign', cutOff()).send('POLICY_OBSERVED', { policy: FIRST });
    expect(done(given.elapse())).toEqual(['open b']);
    expect(given.send('OPENED').inputOf('assign')).toMatchObject({ inDoubtUntil: given.context.inDoubtUntil });
  });

  test('is neither opened nor pruned after a wait in which a list showed the address elsewhere: it is read first', () => {
    const moved = { observed: observed(A, 'x') };
    const opening = managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused).send('ADDRESS_OBSERVED', moved);
    expect(done(opening.elapse())).toEqual(['find']);
    const pruning = managed(FIRST, 'b').send('NODE_GRANTED', grant('b')).send('OPENED').send('REFUSED', refused);
    expect([pruning.state, pruning.context.known]).toEqual(['Unassigned.Finding', false]);
  });

  test('waits for the assignment from the moment it is told to', () => {
    const opening = managed(FIRST).send('NODE_GRANTED', grant('b'));
    expect(done(opening.send('POLICY_OBSERVED', { policy: AFTER }))).toEqual(['assign']);
    const refusing = managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused).send('POLICY_OBSERVED', { policy: AFTER });
    expect([refusing.state, done(refusing)]).toEqual(['Assigning', ['assign']]);
  });

  test('opens new ports without moving the address', () => {
    const given = managed(FIRST, 'b');
    sequence(given);
    expect(done(given.send('POLICY_OBSERVED', { policy: { ...FIRST, ports: ['tcp/8080'] } }))).toEqual(['open b']);
    expect(done(given.send('OPENED'))).toEqual(['prune b']);
    expect(given.send('PRUNED').state).toBe('Stable.Holding');
  });

  test('is asked anew when the node is lost while it opens, and nothing is closed for that', () => {
    const given = managed(FIRST).send('NODE_GRANTED', grant('b')).send('NODE_OBSERVED', { name: 'b', eligible: false });
    expect([given.state, done(given)]).toEqual(['Unassigned.Waiting', []]);
    expect(done(given.send('NODE_GRANTED', grant('a')))).toEqual(['open a']);
  });

  test('of a node that the address left without us is remembered until it is pruned', () => {
    const drifted = managed(FIRST, 'a');
    drifted.send('NODE_GRANTED', grant('a')).send('OPENED').send('PRUNED');
    drifted.send('ADDRESS_OBSERVED', { observed: observed(A, 'x') }).done('find', observed(A, 'x'));
    expect(drifted.context).toMatchObject({ assigned: null, previous: [refOf('a')] });
    const missing = managed(FIRST, 'a');
    missing.send('NODE_GRANTED', grant('a')).send('OPENED').send('PRUNED');
    missing.send('ADDRESS_OBSERVED', { observed: null }).failed('find', failure('NotFound'));
    expect(missing.context).toMatchObject({ assigned: null, previous: [refOf('a')] });
    missing.send('ADDRESS_OBSERVED', { observed: observed(A) });
    for (const given of [drifted, missing]) {
      expect(sequence(given)).toEqual(['open b', 'assign', 'prune b']);
      expect(given.context).toMatchObject({ assigned: refOf('b'), previous: [] });
    }
  });

  test('of the node that the address comes back to is not pruned', () => {
    const given = managed(FIRST, 'b');
    given.send('NODE_GRANTED', grant('b')).send('OPENED').send('PRUNED');
    given.send('ADDRESS_OBSERVED', { observed: observed(A) }).done('find', observed(A));
    expect(given.context.previous).toEqual([refOf('b')]);
    given.send('NODE_GRANTED', grant('b'));
    expect(given.context.previous).toEqual([]);
  });

  test('is given up last: nothing is claimed any more, then the address goes', () => {
    const given = managed(FIRST, 'b');
    sequence(given);
    expect(done(given.send('RETIRE', { policy: 'Retain' }))).toEqual(['prune nothing']);
    expect(given.send('PRUNED').told).toEqual(['GONE']);
  });

  test('gets no new claim of an address that is given up, whatever its policy becomes', () => {
    const given = managed(FIRST, 'b');
    sequence(given);
    expect(done(given.send('RETIRE', { policy: 'Retain' }))).toEqual(['prune nothing']);
    given.send('POLICY_OBSERVED', { policy: { ...FIRST, ports: ['tcp/8080'] } }).send('POLICY_OBSERVED', { policy: NONE });
    expect([given.state, given.send('PRUNED').state]).toEqual(['Pruning', 'Released']);
  });

  test('that could not be pruned leaves no trace of that once it was', () => {
    const unavailable = { ...refused, kind: 'Unavailable' };
    const given = managed(FIRST, 'b').send('NODE_GRANTED', grant('b')).send('OPENED').send('REFUSED', unavailable);
    expect([given.context.attempts, given.context.failure?.reason]).toEqual([1, 'FirewallNotReady']);
    given.elapse().send('PRUNED');
    expect([given.state, given.context.failure, given.context.attempts]).toEqual(['Stable.Holding', null, 0]);
  });
});

describe('a mark that the policy comes to want', () => {
  const marked = { policy: MARKED };

  test('is put on before the address is assigned, while its firewall is opened', () => {
    const given = managed(FIRST).send('NODE_GRANTED', grant('b')).send('POLICY_OBSERVED', marked);
    expect([given.state, done(given)]).toEqual(['Electing.Marking', ['elect']]);
    expect(done(given.done('elect', { marked: true }))).toEqual(['open b']);
    expect(done(given.send('OPENED'))).toEqual(['assign']);
  });

  test('is put on before the address is assigned, after a wait for its firewall', () => {
    const given = managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused).send('POLICY_OBSERVED', marked);
    expect([given.state, done(given.elapse())]).toEqual(['CoolOff', ['elect']]);
    expect(done(given.done('elect', { marked: true }))).toEqual(['open b']);
  });

  test('is put on when another firewall ends that wait', () => {
    const other = { policy: { ...MARKED, firewall: 'firewall/digitalocean/other' } };
    const given = managed(FIRST).send('NODE_GRANTED', grant('b')).send('REFUSED', refused).send('POLICY_OBSERVED', other);
    expect([given.state, done(given)]).toEqual(['Electing.Marking', ['elect']]);
  });

  test('is put on before the address is assigned again, when it was wanted while an assign failed', () => {
    const policy = { ...NONE, taint: 'NoSchedule' };
    const given = managed(NONE).send('NODE_GRANTED', grant('b')).send('POLICY_OBSERVED', { policy }).failed('assign', cutOff());
    expect(done(given.elapse())).toEqual(['elect']);
    expect(given.done('elect', { marked: true }).inputOf('assign')).toMatchObject({ inDoubtUntil: given.context.inDoubtUntil });
  });

  test('takes the place of one that is being put on', () => {
    const given = managed(MARKED).send('NODE_GRANTED', grant('b'));
    expect(given.inputOf('elect')).toMatchObject({ effect: 'PreferNoSchedule' });
    given.send('POLICY_OBSERVED', { policy: { ...MARKED, taint: 'NoSchedule' } });
    expect([given.state, given.inputOf('elect')]).toMatchObject(['Electing.Marking', { effect: 'NoSchedule' }]);
  });

  test('moves nothing where the address is already', () => {
    const opening = managed(FIRST, 'b').send('NODE_GRANTED', grant('b')).send('POLICY_OBSERVED', marked);
    expect([opening.state, done(opening)]).toEqual(['FirewallOpening', []]);
    expect(opening.send('OPENED').send('PRUNED').state).toBe('Stable.Holding');
  });
});

describe('an address that Jobs drive', () => {
  const about = {
    namespace: 'web',
    name: 'shop',
    uid: 'u',
    serviceNamespace: 'web',
    serviceName: 'shop',
    reclaimPolicy: 'Retain',
  } as const;
  const own = { ...about, firewall: 'edge', region: 'here', ipGroup: 'blue' };
  const others = { ...about, firewall: 'other', region: 'there', ipGroup: 'red' };
  const told = (provider: string) => {
    const given = managed({ ...NONE, subject: own }, 'b')
      .send('NODE_GRANTED', grant('b'))
      .done('find', observed(A, 'b'));
    return given.send('POLICY_OBSERVED', { policy: { ...NONE, subject: others }, provider }).send('RETIRE', { policy: 'Retain' });
  };

  test('is let go by what its own class says, whatever class its RoutedIP names by then', () => {
    expect(told('job.other').inputOf('release')).toMatchObject({ subject: { firewall: 'edge', region: 'here', ipGroup: 'blue' } });
  });

  test('goes by what its own class says now', () => {
    expect(told(PROVIDER).inputOf('release')).toMatchObject({ subject: { firewall: 'other', region: 'there', ipGroup: 'red' } });
  });
});
