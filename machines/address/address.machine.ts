import { setup } from 'xstate';
import { durables, EFFECTS, runs, take } from '../durable.machine.ts';
import type { Decision } from '../events.ts';
import { type AddressContext, type AddressInput, type AddressSettings, type AnyAddressEvent, addressContext } from './context.ts';
import * as ip from './decisions.ts';
import * as walls from './firewall-claim.ts';
import { ipGuards } from './guards.machine.ts';
import * as parking from './parking.ts';
import * as release from './release.ts';

/** The lifecycle of one address, for any kind of owner: Unassigned → Electing → FirewallOpening → Assigning → Pruning → Stable, plus CoolOff, and Released at the end. An
 *  address without a firewall passes through FirewallOpening and Pruning without stopping. */
export const ipMachine = (settings: AddressSettings) => {
  const base = setup({
    types: {} as { context: AddressContext; events: AnyAddressEvent; input: AddressInput },
    actors: durables('find', 'assign', 'unassign', 'release', 'elect'),
    actions: EFFECTS,
    delays: {
      coolOff: ({ context, event }) => ip.coolOffLeft(settings)(context, event.at),
      doubt: ({ context, event }) => ip.doubtLeft(settings)(context, event.at),
      nextLook: settings.verifyEveryMs,
    },
  });

  const decide = (decision: (context: AddressContext, event: AnyAddressEvent) => Decision<AddressContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => take(enqueue, decision(context, event)));

  const finding = {
    ...runs('find', 'find', ip.findInput),
    onDone: { target: 'Waiting', actions: 'learn' },
    onError: [
      { guard: 'notFound', target: '#ip.CoolOff', actions: 'forget' },
      { target: '#ip.CoolOff', actions: 'coolOffToFind' },
    ],
  } as const;

  const awaitsGrant = {
    NODE_GRANTED: [
      { guard: 'isParked', target: 'Waiting', reenter: true },
      { guard: 'wasFoundLongAgo', target: 'Finding', actions: 'noteGrant' },
      { target: '#ip.Electing', actions: 'elect' },
    ],
    ADDRESS_OBSERVED: { guard: 'differs', target: 'Finding' },
    RESUME: { target: 'Waiting', reenter: true },
  } as const;

  return base
    .extend({
      actions: {
        learn: decide(ip.learn),
        awaitNode: decide(ip.awaitNode),
        elect: decide(ip.elect),
        noteGrant: decide(ip.noteGrant),
        adopt: decide(ip.adopt),
        confirm: decide(ip.confirm),
        question: decide(ip.question),
        noteNode: decide(ip.noteNode),
        notePolicy: decide(ip.notePolicy),
        noteOpened: decide(walls.noteOpened),
        noteUnopened: decide(walls.noteUnopened),
        notePruned: decide(walls.notePruned),
        noteDeferral: decide(walls.noteDeferral),
        abandon: decide(walls.abandon),
        claimOpen: decide(walls.claimOpen),
        claimPrune: decide(walls.claimPrune),
        settle: decide(ip.settle),
        doubt: decide(ip.doubt(settings)),
        giveBack: decide(ip.giveBack(settings)),
        yieldNode: decide(ip.yieldNode),
        forget: decide(ip.forget(settings)),
        coolOffToFind: decide(ip.fail(settings, 'Unassigned', 'nothing')),
        coolOffToOpen: decide(ip.fail(settings, 'FirewallOpening', 'grant')),
        coolOffToAssign: decide(ip.fail(settings, 'Assigning', 'grant')),
        coolOffForOthers: decide(ip.fail(settings, 'Assigning', 'nothing')),
        coolOffToPrune: decide(ip.fail(settings, 'Pruning', 'grant')),
        coolOffToRelease: decide(ip.fail(settings, 'Releasing', 'grant')),
        retire: decide(release.retire),
        leave: decide(ip.leave(settings)),
        awaitDoubt: decide(ip.awaitDoubt),
        endDoubt: decide(ip.endDoubt),
        endWait: decide(ip.endWait),
        sayGone: decide(release.sayGone),
        notePark: decide(parking.notePark),
        letGo: decide(parking.letGo(settings)),
        coolOffToLetGo: decide(parking.letGoFails(settings)),
      },
      guards: ipGuards(settings),
    })
    .createMachine({
      id: 'ip',
      context: ({ input }) => addressContext(input),
      initial: 'Unassigned',
      on: {
        NODE_OBSERVED: { actions: 'noteNode' },
        POLICY_OBSERVED: { actions: 'notePolicy' },
        PARK: [{ guard: 'parks', target: '.Unassigned', actions: 'notePark' }, { actions: 'notePark' }],
        RETIRE: [
          { guard: 'isForced', target: '.Released', actions: ['retire', 'abandon'] },
          { target: '.Pruning', actions: ['retire', 'leave'] },
        ],
      },
      states: {
        Unassigned: {
          description:
            'Serves through no eligible node. It may still be attached to the last one: nothing is detached without a successor.',
          initial: 'Knowing',
          states: {
            Knowing: {
              always: [{ guard: 'isKnown', target: 'Waiting' }, { guard: 'claimsInDoubt', target: 'Doubting' }, { target: 'Finding' }],
            },
            Doubting: {
              description:
                'An assign may still take effect: its node is kept from others until the provider was read, or until nothing can take effect any more and nobody could read it.',
              invoke: finding,
              after: { doubt: { target: 'Finding', actions: 'yieldNode' } },
              on: { NODE_GRANTED: { actions: 'noteGrant' }, RESUME: { target: 'Doubting', reenter: true } },
            },
            Finding: {
              description: 'Reads the address at the provider.',
              invoke: finding,
              on: { NODE_GRANTED: { actions: 'noteGrant' }, RESUME: { target: 'Finding', reenter: true } },
            },
            Waiting: {
              description: 'Is known, and waits for the pool to grant a node.',
              entry: 'awaitNode',
              always: [
                { guard: 'mustLetGo', target: 'LettingGo' },
                { guard: 'leavesPorts', target: '#ip.Pruning' },
                { guard: 'isUnlisted', target: 'LookingAgain' },
              ],
              on: awaitsGrant,
            },
            LettingGo: {
              description: 'Somebody wants it on no node: it is taken off the one that it is on.',
              invoke: {
                ...runs('unassign', 'unassign', parking.unassignInput),
                onDone: [
                  { guard: 'isRetiring', target: '#ip.Pruning', actions: ['letGo', 'leave'] },
                  { target: 'Knowing', actions: 'letGo' },
                ],
                onError: [
                  { guard: 'isRetiring', target: '#ip.Pruning', actions: 'leave' },
                  { guard: 'notFound', target: '#ip.CoolOff', actions: 'forget' },
                  { target: '#ip.CoolOff', actions: 'coolOffToLetGo' },
                ],
              },
              on: {
                PARK: { actions: 'notePark' },
                RETIRE: [{ guard: 'isForced', target: '#ip.Released', actions: ['retire', 'abandon'] }, { actions: 'retire' }],
                NODE_GRANTED: { actions: 'noteGrant' },
                RESUME: [
                  { guard: 'isRetiring', target: '#ip.Pruning', actions: ['doubt', 'leave'] },
                  { target: 'Finding', actions: 'doubt' },
                ],
              },
            },
            LookingAgain: {
              description:
                'The same, of an address that somebody else may need where it is, and that nobody lists: a Job looks from time to time whether it is free.',
              after: { nextLook: 'Finding' },
              on: awaitsGrant,
            },
          },
        },
        Electing: {
          description: 'Took the grant. Decides what is to be done first: nothing, when the address sits on that node already.',
          initial: 'Choosing',
          states: {
            Choosing: {
              always: [
                { guard: 'holdsAlreadyAndOpens', target: '#ip.FirewallOpening', actions: 'adopt' },
                { guard: 'holdsAlready', target: '#ip.Pruning', actions: 'adopt' },
                { guard: 'marks', target: 'Marking' },
                { target: 'Going' },
              ],
            },
            Marking: {
              description:
                'Marks the node as a holder, so that Pods that need not be there go elsewhere. A mark that cannot be put on keeps nothing back.',
              invoke: {
                ...runs('elect', 'elect', ip.electInput),
                onDone: 'Going',
                onError: 'Going',
              },
              on: {
                NODE_OBSERVED: [{ guard: 'losesNode', target: '#ip.Unassigned', actions: 'noteNode' }, { actions: 'noteNode' }],
                POLICY_OBSERVED: [
                  { guard: 'marksNoMore', target: 'Going', actions: 'notePolicy' },
                  { guard: 'marksOtherwise', target: 'Marking', reenter: true, actions: 'notePolicy' },
                  { actions: 'notePolicy' },
                ],
                RESUME: { target: 'Marking', reenter: true },
              },
            },
            Going: { always: [{ guard: 'opensFirst', target: '#ip.FirewallOpening' }, { target: '#ip.Assigning' }] },
          },
        },
        FirewallOpening: {
          description: 'Claims its ports on the granted node. Additive only: the former holder keeps serving.',
          entry: 'claimOpen',
          always: [
            { guard: 'opensNothingMore', target: 'Pruning' },
            { guard: 'opensNothingYet', target: 'Assigning' },
          ],
          on: {
            OPENED: [
              { guard: 'confirmedHere', target: 'Pruning', actions: 'noteOpened' },
              { target: 'Assigning', actions: 'noteOpened' },
            ],
            REFUSED: [
              { guard: 'nodeInUseAndUnconfirmed', target: 'Unassigned', actions: ['noteUnopened', 'giveBack'] },
              { guard: 'yieldsAndUnconfirmed', target: 'CoolOff', actions: 'coolOffForOthers' },
              { target: 'CoolOff', actions: 'coolOffToOpen' },
            ],
            NODE_OBSERVED: [{ guard: 'losesNode', target: 'Unassigned', actions: 'noteNode' }, { actions: 'noteNode' }],
            POLICY_OBSERVED: [
              { guard: 'marksOtherwise', target: 'Electing', actions: 'notePolicy' },
              { guard: 'policyMatters', target: 'FirewallOpening', reenter: true, actions: 'notePolicy' },
              { actions: 'notePolicy' },
            ],
            RESUME: { target: 'FirewallOpening', reenter: true },
          },
        },
        Assigning: {
          description:
            'One assign is under way, until the provider shows the node as holder. Nothing interrupts it: the outcome is awaited. After a restart it is asked for again, unless the address is no longer wanted.',
          invoke: {
            ...runs('assign', 'assign', ip.assignInput),
            onDone: [
              { guard: 'isRetiring', target: 'Pruning', actions: ['confirm', 'leave'] },
              { guard: 'isParked', target: 'Unassigned', actions: 'confirm' },
              { guard: 'nodeLost', target: 'Unassigned', actions: 'confirm' },
              { guard: 'opensAfter', target: 'FirewallOpening', actions: 'confirm' },
              { target: 'Pruning', actions: 'confirm' },
            ],
            onError: [
              { guard: 'isRetiring', target: 'Pruning', actions: 'leave' },
              { guard: 'notFound', target: 'CoolOff', actions: 'forget' },
              { guard: 'nodeInUse', target: 'Unassigned', actions: 'giveBack' },
              { guard: 'isElsewhere', target: 'Unassigned', actions: ['giveBack', 'question'] },
              { guard: 'nodeLostAndSettled', target: 'Unassigned', actions: 'giveBack' },
              { guard: 'yieldsAndSettled', target: 'CoolOff', actions: 'coolOffForOthers' },
              { target: 'CoolOff', actions: 'coolOffToAssign' },
            ],
          },
          on: {
            RETIRE: [{ guard: 'isForced', target: 'Released', actions: ['retire', 'abandon'] }, { actions: 'retire' }],
            PARK: { actions: 'notePark' },
            RESUME: [
              { guard: 'isRetiring', target: 'Pruning', actions: ['doubt', 'leave'] },
              { guard: 'isParked', target: 'Unassigned', actions: 'doubt' },
              { target: 'Assigning', reenter: true, actions: 'doubt' },
            ],
          },
        },
        Pruning: {
          description: 'Gives up what only the former holder needed. Nothing is removed before the address is confirmed on its node.',
          entry: 'claimPrune',
          always: [
            { guard: 'opensUnclaimed', target: 'FirewallOpening' },
            { guard: 'leavesInDoubt', target: 'CoolOff', actions: 'awaitDoubt' },
            { guard: 'prunesNothingAndReleases', target: 'Releasing' },
            { guard: 'prunesNothingAndRetires', target: 'Released' },
            { guard: 'prunesNothingOnNone', target: 'Unassigned', actions: 'settle' },
            { guard: 'prunesNothing', target: 'Stable', actions: 'settle' },
          ],
          on: {
            PRUNED: [
              { guard: 'prunesMore', target: 'Pruning', reenter: true, actions: 'notePruned' },
              { guard: 'mustRelease', target: 'Releasing', actions: 'notePruned' },
              { guard: 'isRetiring', target: 'Released', actions: 'notePruned' },
              { guard: 'isOnNone', target: 'Unassigned', actions: ['notePruned', 'settle'] },
              { target: 'Stable', actions: ['notePruned', 'settle'] },
            ],
            REFUSED: [
              { guard: 'isElsewhereAndStays', target: 'Unassigned', actions: ['noteDeferral', 'question'] },
              { target: 'CoolOff', actions: 'coolOffToPrune' },
            ],
            NODE_OBSERVED: [{ guard: 'losesNode', target: 'Unassigned', actions: 'noteNode' }, { actions: 'noteNode' }],
            POLICY_OBSERVED: [
              { guard: 'isRetiring', actions: 'notePolicy' },
              { guard: 'policyMatters', target: 'FirewallOpening', actions: 'notePolicy' },
              { actions: 'notePolicy' },
            ],
            RETIRE: [
              { guard: 'isForced', target: 'Released', actions: ['retire', 'abandon'] },
              { target: 'Pruning', reenter: true, actions: ['retire', 'leave'] },
            ],
            RESUME: { target: 'Pruning', reenter: true },
          },
        },
        Stable: {
          description:
            'The provider confirmed the address on the granted node, and that node is eligible. A better candidate changes nothing.',
          initial: 'Holding',
          on: {
            NODE_OBSERVED: [{ guard: 'losesNode', target: 'Unassigned', actions: 'noteNode' }, { actions: 'noteNode' }],
            POLICY_OBSERVED: [{ guard: 'policyMatters', target: 'FirewallOpening', actions: 'notePolicy' }, { actions: 'notePolicy' }],
          },
          states: {
            Holding: {
              description: 'Holds until a fact says otherwise.',
              on: { ADDRESS_OBSERVED: { guard: 'differs', target: 'Checking' } },
            },
            Checking: {
              description: 'A list showed the address elsewhere or not at all: one read decides.',
              invoke: {
                ...runs('find', 'find', ip.findInput),
                onDone: [{ guard: 'differs', target: '#ip.Unassigned', actions: 'learn' }, { target: 'Holding' }],
                onError: [{ guard: 'notFound', target: '#ip.CoolOff', actions: 'forget' }, { target: 'Holding' }],
              },
              on: {
                NODE_OBSERVED: { guard: 'losesNode', target: '#ip.Unassigned', actions: ['noteNode', 'question'] },
                POLICY_OBSERVED: { guard: 'policyMatters', target: '#ip.Unassigned', actions: ['notePolicy', 'question'] },
                RESUME: { target: 'Checking', reenter: true },
              },
            },
          },
        },
        CoolOff: {
          description:
            'Waits after an error, then goes on where it was. One that is no longer wanted waits here until no call of ours can have an effect.',
          after: {
            coolOff: [
              { guard: 'resumesOpening', target: 'FirewallOpening' },
              { guard: 'resumesAssigning', target: 'Electing' },
              { guard: 'resumesPruning', target: 'Pruning', actions: 'endDoubt' },
              { guard: 'resumesReleasing', target: 'Releasing' },
              { target: 'Unassigned' },
            ],
          },
          on: {
            NODE_OBSERVED: [
              { guard: 'losesNodeAndMayMove', target: 'Unassigned', actions: 'noteNode' },
              { guard: 'regainsNodeAndOpens', target: 'Electing', actions: 'noteNode' },
              { actions: 'noteNode' },
            ],
            ADDRESS_OBSERVED: [
              { guard: 'reappears', target: 'Unassigned', actions: 'learn' },
              { guard: 'differsAndSettled', actions: 'question' },
            ],
            POLICY_OBSERVED: [
              { guard: 'endsJobWaitAndRetires', target: 'Pruning', actions: ['notePolicy', 'endWait'] },
              { guard: 'endsJobWait', target: 'Unassigned', actions: ['notePolicy', 'endWait'] },
              { guard: 'endsFirewallWait', target: 'Electing', actions: 'notePolicy' },
              { actions: 'notePolicy' },
            ],
            PARK: [
              { guard: 'parks', target: 'Unassigned', actions: 'notePark' },
              { guard: 'mayBeGranted', target: 'Unassigned', actions: 'notePark' },
              { actions: 'notePark' },
            ],
            RULES_FREED: { guard: 'awaitsRules', target: 'CoolOff', reenter: true, actions: 'endWait' },
            SECRET_OBSERVED: [
              { guard: 'unauthorizedAndRetiring', target: 'Pruning' },
              { guard: 'unauthorized', target: 'Unassigned' },
              { guard: 'awaitsChange', target: 'CoolOff', reenter: true, actions: 'endWait' },
            ],
            RESUME: { target: 'CoolOff', reenter: true },
          },
        },
        Releasing: {
          description:
            'Gives an address that we created back to the provider, and one of an IPGroup to the group, or notes that it is kept.',
          invoke: {
            ...runs('release', 'release', release.releaseInput),
            onDone: 'Released',
            onError: { target: 'CoolOff', actions: 'coolOffToRelease' },
          },
          on: {
            RETIRE: [{ guard: 'isForced', target: 'Released', actions: ['retire', 'abandon'] }, {}],
            RESUME: { target: 'Releasing', reenter: true },
          },
        },
        Released: { type: 'final', description: 'Is no longer wanted; its record goes.', entry: 'sayGone' },
      },
    });
};
