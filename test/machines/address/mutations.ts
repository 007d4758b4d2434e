import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { AddressContext, AnyAddressEvent } from '../../../machines/address/context.ts';
import * as ip from '../../../machines/address/decisions.ts';
import * as walls from '../../../machines/address/firewall-claim.ts';
import { FLIPOP_BACKOFF } from '../../../machines/model/backoff.ts';
import { A, cutOff, failure, observed, refOf, START } from '../builders.ts';
import { CALL_DEADLINE } from '../drive.ts';
import { action, type ChartMutation, guard, shown, state } from '../mutations-spoil.ts';
import { AFTER, FIRST, NONE, policyIs } from './vocabulary.ts';

const event = (type: string, fields: Readonly<Record<string, unknown>> = {}): MachineEvent => ({ ...fields, type, at: START });
const granted = (name: string) => event('NODE_GRANTED', { node: refOf(name), spaced: false });
const lost = (name: string) => event('NODE_OBSERVED', { name, eligible: false });
const found = event('xstate.done.actor.find', { output: observed(A) });
const assigned = event('xstate.done.actor.assign', { output: {} });
const fails = (error = failure('Unavailable')) => event('xstate.error.actor.assign', { error });
const opens = event('OPENED', { claimId: 'claim' });
const retires = event('RETIRE', { policy: 'Retain' });
const parks = event('PARK', { parked: true });
const letGo = event('xstate.done.actor.unassign', { output: { providerID: null } });
const foundOn = (name: string) => event('xstate.done.actor.find', { output: observed(A, name) });
const seenOn = (name: string) => event('ADDRESS_OBSERVED', { observed: observed(A, name) });
const waited = event('xstate.after.coolOff.ip.CoolOff');

/** The address is known and the node granted. */
const toAssigning = [found, granted('a')];
/** The same with a firewall that is to be opened first. */
const toOpening = [policyIs(FIRST), found, granted('a')];

const is = (claim: (context: AddressContext) => boolean) => claim;

/** For each rule of an address a defect that it must catch. */
export const IP_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'nothing is closed before the address is confirmed on its node, unless it is given up, or on none': {
    mutation: 'what is open counts as what is confirmed: from the opening it goes straight to the pruning',
    spoil: guard('confirmedHere', () => true),
    events: [...toOpening, opens],
  },
  'the former node keeps its rules until the next one is confirmed': {
    mutation: 'the pruning keeps the former node instead of the present one',
    spoil: action(
      'claimPrune',
      shown(walls.claimPrune, ({ previous, elected }) => ({ elected: previous[0] ?? elected })),
    ),
    events: [...toOpening, opens, assigned, event('PRUNED', { claimId: 'claim' }), lost('a'), granted('b'), opens, assigned],
  },
  'a firewall on which the address has claims is left before the address is released, unless a person wants it gone': {
    mutation: 'what has to be left is asked of the policy, which may name no firewall any more',
    spoil: guard(
      'prunesNothingAndRetires',
      is(({ policy, retiring }) => policy.firewall === null && retiring !== null),
    ),
    events: [...toOpening, opens, assigned, policyIs(NONE), retires],
  },
  'an address that is given up, or on none, claims nothing, any other one its node and all its ports': {
    mutation: 'an address that is given up keeps its claims',
    spoil: action(
      'claimPrune',
      shown(walls.claimPrune, ({ assigned }) => ({ retiring: null, elected: assigned })),
    ),
    events: [...toOpening, opens, assigned, retires],
  },
  'no assign is issued before its firewall is open, when the firewall comes first': {
    mutation: 'the order of firewall and assign is not asked for: the assign comes first',
    spoil: guard('opensFirst', () => false),
    events: toOpening,
  },
  'no firewall is touched before the assignment is confirmed, when the firewall comes after': {
    mutation: 'an opening that has begun goes on although it is to come after the assignment by now',
    spoil: action(
      'claimOpen',
      shown(walls.claimOpen, ({ policy }) => ({ policy: { ...policy, postAllow: false } })),
    ),
    events: [...toOpening, policyIs(AFTER)],
  },
  'one assign at once: only after its outcome, or on a restart, is another one issued': {
    mutation: 'a grant that comes while an assign is under way is taken at once',
    spoil: state('Assigning', (config) => ({
      ...config,
      on: { ...config.on, NODE_GRANTED: { target: 'Assigning', reenter: true, actions: 'elect' } },
    })),
    events: [...toAssigning, granted('b')],
  },
  'nothing but its outcome ends an assign, or a person who wants the address gone, or a restart when it is given up or wanted on none': {
    mutation: 'an address that is given up does not wait for the assign that is under way',
    spoil: state('Assigning', ({ on: { RETIRE: _, ...on } = {}, ...config }) => ({ ...config, on })),
    events: [...toAssigning, retires],
  },
  'an assign goes to the granted node, and knows what is in doubt; an ineligible node only when that is in doubt': {
    mutation: 'after a wait the assign goes on, although its node was lost meanwhile',
    spoil: guard(
      'resumesAssigning',
      is(({ resume, known }) => resume === 'Assigning' && known),
    ),
    events: [...toAssigning, fails(failure('Unauthorized')), lost('a'), waited],
  },
  'nothing is assigned and nothing closed while what is known may be void': {
    mutation: 'after a wait the assign goes on, although the address was seen elsewhere meanwhile',
    spoil: guard(
      'resumesAssigning',
      is(({ resume, eligible }) => resume === 'Assigning' && eligible),
    ),
    events: [...toAssigning, fails(), event('ADDRESS_OBSERVED', { observed: observed(A, 'b') }), waited],
  },
  'a read is not trusted before the end of a doubt': {
    mutation: 'a read is made at once, whatever is still under way',
    spoil: state('Unassigned.Doubting', (config) => ({
      ...config,
      invoke: {
        ...config.invoke,
        input: ({ context }: { context: AddressContext }) => ip.findInput({ ...context, inDoubtUntil: null }),
      },
    })),
    events: [...toAssigning, fails(cutOff()), lost('a'), waited],
  },
  'while an assign in doubt may take effect its node stays claimed': {
    mutation: 'a grant is given back while an earlier assign is in doubt',
    spoil: action(
      'giveBack',
      shown(ip.giveBack({ backoff: FLIPOP_BACKOFF, verifyEveryMs: 300_000, callDeadlineMs: CALL_DEADLINE }), () => ({
        inDoubtUntil: null,
      })),
    ),
    events: [...toAssigning, fails(cutOff()), waited, fails(failure('Conflict'))],
  },
  'once it cannot, and nobody could read the address, its node is claimed no more, and the pool hears of it': {
    mutation: 'the node is kept for as long as nobody reads the address',
    spoil: action('yieldNode', (context) => ({ context, effects: [] })),
    events: [...toAssigning, fails(cutOff()), lost('a'), waited, event('xstate.after.doubt.ip.Unassigned.Doubting')],
  },
  'a doubt ends only by what the provider says, or with the address': {
    mutation: 'nothing is in doubt any more once the node is lost',
    spoil: action<AddressContext, AnyAddressEvent>('noteNode', (context, given) => ip.noteNode({ ...context, inDoubtUntil: null }, given)),
    events: [...toAssigning, fails(cutOff()), lost('a')],
  },
  'a node that the address left is remembered until its rules are pruned': {
    mutation: 'what a read shows takes the place of what was known, and nobody remembers it',
    spoil: action<AddressContext, AnyAddressEvent>('learn', (context, given) => {
      const decided = ip.learn(context, given);
      return { ...decided, context: { ...decided.context, previous: [] } };
    }),
    events: [
      ...toAssigning,
      assigned,
      lost('a'),
      event('ADDRESS_OBSERVED', { observed: observed(A, 'b') }),
      event('xstate.done.actor.find', { output: observed(A, 'b') }),
    ],
  },
  'where the address is assigned changes only by what the provider says': {
    mutation: 'a node that is lost counts as one that the address has left',
    spoil: action<AddressContext, AnyAddressEvent>('noteNode', (context, given) => ip.noteNode({ ...context, assigned: null }, given)),
    events: [...toAssigning, assigned, lost('a')],
  },
  'an address leaves its node only where somebody wants it on none, once, and while nothing is in doubt': {
    mutation: 'one that was let go is let go again wherever somebody puts it',
    spoil: guard(
      'mustLetGo',
      is(({ parked, holder }) => Boolean(parked) && holder !== null),
    ),
    events: [foundOn('a'), granted('a'), parks, letGo, seenOn('b'), foundOn('b')],
  },
  'one that is wanted on no node is not assigned': {
    mutation: 'a wait of before goes on to the assignment',
    spoil: guard(
      'resumesAssigning',
      is(({ resume, eligible, known }) => resume === 'Assigning' && eligible && known),
    ),
    events: [...toAssigning, parks, fails(), waited],
  },
  'only an address of ours that is to be deleted is given to the provider': {
    mutation: 'an address that is given up is released at the provider, whatever its policy says',
    spoil: guard(
      'prunesNothingAndReleases',
      is(({ claimed, retiring }) => claimed.length === 0 && retiring !== null),
    ),
    events: [found, retires],
  },
  'a stable address is confirmed on an eligible node, and nothing is wrong with it': {
    mutation: 'a node that was lost while the assign was under way is not noticed',
    spoil: guard('nodeLost', () => false),
    events: [...toAssigning, lost('a'), assigned],
  },
  'a stable address has claims on the firewall of its policy, when there is anything to be open, and on no other': {
    mutation: 'a firewall that comes into the policy while the assign is under way is thought to be open',
    spoil: (chart) => {
      const asPolicySays = guard(
        'opensAfter',
        is((context) => walls.opens(context) && context.policy.postAllow),
      );
      return asPolicySays(guard('opensUnclaimed', () => false)(chart));
    },
    events: [...toAssigning, policyIs(FIRST), assigned, event('PRUNED', { claimId: 'claim' })],
  },
  'an address that is given up gets no node and is not assigned again': {
    mutation: 'that the address was given up while an assign was under way is forgotten',
    spoil: guard('isRetiring', () => false),
    events: [...toAssigning, retires, fails(failure('NodeInUse'))],
  },
  'a wait has an end, and a timer for it': {
    mutation: 'a wait ends only by a fact',
    spoil: state('CoolOff', ({ after: _, ...config }) => config),
    events: [...toAssigning, fails()],
  },
};
