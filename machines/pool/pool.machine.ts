import { runs } from '../durable.machine.ts';
import * as pool from './context.ts';
import * as absences from './node-absence.ts';
import { poolSetup } from './pool-setup.machine.ts';
import * as acquire from './provisioning.ts';

/** A pool: owns a set of addresses and the nodes that may hold them. Decides nothing before its spec, its nodes and pods, and the provider are known; then grants nodes and
 *  creates missing addresses in parallel. */
export const poolMachine = (settings: pool.PoolSettings) =>
  poolSetup(settings).createMachine({
    id: 'pool',
    context: ({ input }) => pool.poolContext(input),
    initial: 'Priming',
    on: {
      RESUME: { actions: 'forgetFacts' },
      SPEC_OBSERVED: { actions: 'observeSpec' },
      CLUSTER_OBSERVED: { actions: 'observeCluster' },
      PROVIDER_OBSERVED: { actions: 'observeProvider' },
      CLAIMS_OBSERVED: { actions: 'observeClaims' },
      GROUP_OBSERVED: { actions: 'observeGroup' },
      READY: { actions: 'noteReady' },
      ASSIGNED: { actions: 'noteAssigned' },
      FAILED: { actions: 'noteFailed' },
      GONE: { actions: 'noteGone' },
      DELETED: [
        { guard: 'isForced', target: '.Stopping', actions: ['interrupt', 'retireAll', 'forceAll'] },
        { target: '.Stopping', actions: ['interrupt', 'retireAll'] },
      ],
    },
    states: {
      Priming: {
        description:
          'Waits until the spec is valid and its nodes, its pods and the provider were read. Nothing moves because a cache was empty.',
        always: [
          { guard: 'isPrimed', target: 'Serving', actions: 'staff' },
          { guard: 'hasError', target: 'Invalid' },
        ],
        on: { DELETED: { guard: 'reclaimsFirst', actions: 'noteDeletion' } },
      },
      Invalid: {
        description:
          'The spec is not valid. What is assigned stays, and a valid spec goes on; a creation is accounted for, so that others may create.',
        always: [
          { guard: 'isValid', target: 'Priming' },
          { guard: 'accounts', target: 'Serving' },
        ],
        on: { DELETED: { guard: 'reclaimsFirst', actions: 'noteDeletion' } },
      },
      Serving: {
        description: 'Grants nodes to addresses and creates the addresses that are missing.',
        type: 'parallel',
        always: [
          { guard: 'deletesNow', target: 'Stopping', actions: ['interrupt', 'retireAll'] },
          { guard: 'hasNoUse', target: 'Invalid', actions: 'interrupt' },
        ],
        states: {
          granting: {
            initial: 'Open',
            states: {
              Open: {
                description: 'Grants as long as an address waits and a node can be had.',
                always: [
                  { guard: 'hasAnswer', actions: 'answerMoves' },
                  { guard: 'canGrant', actions: 'grant' },
                  { guard: 'canRelieve', actions: 'relieve' },
                  { guard: 'grantsLater', target: 'Spacing', actions: 'planGrant' },
                ],
              },
              Spacing: {
                description:
                  'The next grant has its time: the cool-off after the last assignment, the back-off of a node, or the rest of a contended address.',
                always: [
                  { guard: 'hasAnswer', target: 'Open' },
                  { guard: 'canGrant', target: 'Open' },
                  { guard: 'canRelieve', target: 'Open' },
                  { guard: 'grantsNever', target: 'Open' },
                  { guard: 'grantsOtherwise', target: 'Spacing', reenter: true, actions: 'planGrant' },
                ],
                after: { nextGrant: 'Open' },
                on: { RESUME: { target: 'Spacing', reenter: true, actions: ['forgetFacts', 'planGrant'] } },
                exit: 'forgetGrant',
              },
            },
          },
          recovering: {
            initial: 'Calm',
            states: {
              Calm: {
                description: 'No node that is absent is waited for.',
                always: { guard: 'givesTime', target: 'Waiting', actions: 'planRecovery' },
              },
              Waiting: {
                description: 'A node that is absent has time to come back, and its address stays on it meanwhile.',
                always: [
                  { guard: 'givesNoTime', target: 'Calm' },
                  { guard: 'givesOtherTime', target: 'Waiting', reenter: true, actions: 'planRecovery' },
                ],
                after: { recovery: { target: 'Calm', actions: 'giveUp' } },
                on: { RESUME: { target: 'Waiting', reenter: true, actions: ['forgetFacts', 'planRecovery'] } },
                exit: 'forgetRecovery',
              },
            },
          },
          asking: {
            initial: 'Silent',
            states: {
              Silent: {
                description: 'Nothing is to be asked of the provider about machines.',
                always: { guard: 'hasQuestion', target: 'Asking', actions: 'ask' },
              },
              Asking: {
                description: 'Asks whether the machines behind absent nodes still exist: one that is gone does not come back.',
                invoke: {
                  ...runs('findNodes', 'findNodes', absences.findNodesInput),
                  onDone: { target: 'Silent', actions: 'noteAnswers' },
                  onError: { target: 'Silent', actions: 'noteSilence' },
                },
                always: { guard: 'isInvalid', target: 'Silent' },
                on: { RESUME: { target: 'Asking', reenter: true, actions: 'forgetFacts' } },
              },
            },
          },
          naming: {
            initial: 'Named',
            states: {
              Named: {
                description: 'The record set, if there is one, was told which addresses serve.',
                always: { guard: 'namesDiffer', target: 'Settling' },
              },
              Settling: {
                description: 'Lets what changes settle: an address that has moved within that time is not taken out and put back.',
                always: { guard: 'namesAgree', target: 'Named' },
                after: {
                  naming: [
                    { guard: 'isUnsettled', target: 'Settling', reenter: true },
                    { target: 'Named', actions: 'name' },
                  ],
                },
                on: { RESUME: { target: 'Settling', reenter: true, actions: 'forgetFacts' } },
              },
            },
          },
          acquiring: {
            initial: 'Complete',
            states: {
              Complete: {
                description: 'As many addresses as wanted, or waits for what is in the way.',
                always: [
                  { guard: 'givesBackLeftOver', actions: 'giveBack' },
                  { guard: 'isLeftOver', target: 'Announcing' },
                  { guard: 'hasUnpublished', target: 'Publishing' },
                  { guard: 'hasIntent', target: 'Reconciling', actions: 'lookUp' },
                  { guard: 'hasSpare', target: 'Publishing', actions: 'reuse' },
                  { guard: 'lacksAddress', target: 'Intending', actions: 'intend' },
                  { guard: 'mustWait', target: 'CoolOff', actions: 'waitAfterRevert' },
                ],
              },
              Intending: {
                description: 'Lists the addresses that exist and records the intent to create one.',
                invoke: {
                  ...runs('intendCreate', 'intend', acquire.intendInput),
                  onDone: [
                    { guard: 'createsNoMore', target: 'Complete', actions: 'dropIntent' },
                    { target: 'Creating', actions: 'noteIntent' },
                  ],
                  onError: { target: 'CoolOff', actions: 'failAcquiring' },
                },
                on: { RESUME: { target: 'Intending', reenter: true, actions: 'forgetFacts' } },
              },
              Creating: {
                description: 'One call creates one address.',
                always: { guard: 'isInvalid', target: 'Reconciling', actions: 'doubtCreation' },
                invoke: {
                  ...runs('create', 'create', acquire.createInput),
                  onDone: { target: 'Complete', actions: 'noteCreated' },
                  onError: [
                    { guard: 'outcomeUnknown', target: 'Reconciling', actions: 'doubtCreation' },
                    { target: 'CoolOff', actions: 'failAcquiring' },
                  ],
                },
                on: { RESUME: { target: 'Reconciling', actions: ['doubtCreation', 'forgetFacts'] } },
              },
              Reconciling: {
                description:
                  'The outcome of a creation is unknown: a list tells which address is new. Never a second creation before that.',
                invoke: {
                  ...runs('reconcileCreate', 'reconcile', acquire.createInput),
                  onDone: [
                    { guard: 'foundNone', target: 'Complete', actions: 'noteNothingMade' },
                    { target: 'Complete', actions: 'noteFound' },
                  ],
                  onError: { target: 'CoolOff', actions: 'failAcquiring' },
                },
                on: { RESUME: { target: 'Reconciling', reenter: true, actions: 'forgetFacts' } },
              },
              Publishing: {
                description: 'Writes the new address into spec.ips, before it is used.',
                invoke: {
                  ...runs('publish', 'publish', acquire.publishInput),
                  onDone: { target: 'Complete', actions: 'notePublished' },
                  onError: [
                    { guard: 'isNotOurs', target: 'Complete', actions: 'disown' },
                    { target: 'CoolOff', actions: 'failAcquiring' },
                  ],
                },
                on: { RESUME: { target: 'Publishing', reenter: true, actions: 'forgetFacts' } },
              },
              Announcing: {
                description: 'Tells people of an address that was made for a RoutedIP that has another one by now. The address stays.',
                invoke: {
                  ...runs('announce', 'announce', acquire.announceInput),
                  onDone: { target: 'Complete', actions: 'conclude' },
                  onError: { target: 'CoolOff', actions: 'failAcquiring' },
                },
                on: { RESUME: { target: 'Announcing', reenter: true, actions: 'forgetFacts' } },
              },
              CoolOff: {
                description: 'Waits after an error; the addresses that exist keep working.',
                always: { guard: 'acquiresAgain', target: 'Complete' },
                after: { coolOff: 'Complete' },
                on: {
                  GROUP_OBSERVED: { guard: 'isOfferedAnew', target: 'Complete', actions: 'observeGroup' },
                  SECRET_OBSERVED: { guard: 'awaitsChange', target: 'Complete' },
                  RESUME: { target: 'CoolOff', reenter: true, actions: 'forgetFacts' },
                },
              },
            },
          },
        },
      },
      Stopping: {
        description: 'The pool is deleted: its addresses are released where they are.',
        initial: 'Concluding',
        on: { DELETED: [{ guard: 'isForced', actions: 'forceAll' }, {}] },
        states: {
          Concluding: {
            description: 'A creation that is remembered is looked up when its turn has come.',
            always: [
              { guard: 'givesBack', target: 'Releasing', actions: 'giveBack' },
              { guard: 'leavesAddress', target: 'Announcing' },
              { guard: 'mustConclude', target: 'Reconciling', actions: 'lookUp' },
              { guard: 'hasConcluded', target: 'Releasing' },
            ],
          },
          Reconciling: {
            description: 'An address may just have been created, or may still be: a list tells which one is new.',
            invoke: {
              ...runs('reconcileCreate', 'reconcile', acquire.createInput),
              onDone: [
                { guard: 'foundNone', target: 'Releasing', actions: 'noteNothingMade' },
                { target: 'Found', actions: 'noteFound' },
              ],
              onError: [
                { guard: 'givesUp', target: 'Announcing' },
                { target: 'CoolOff', actions: 'failAcquiring' },
              ],
            },
            on: { RESUME: { target: 'Reconciling', reenter: true } },
          },
          Found: {
            description: 'What was made is given back where the class says so, else told.',
            always: [{ guard: 'givesBack', target: 'Releasing', actions: 'giveBack' }, { target: 'Announcing' }],
          },
          CoolOff: {
            description: 'Waits after an error, then lists again where something may have been made.',
            after: { coolOff: 'Concluding' },
            on: { RESUME: { target: 'CoolOff', reenter: true } },
          },
          Announcing: {
            description: 'Tells people of an address that nobody owns any more. The address stays.',
            invoke: {
              ...runs('announce', 'announce', acquire.announceInput),
              onDone: { target: 'Releasing', actions: 'conclude' },
              onError: { target: 'Releasing', actions: 'conclude' },
            },
            on: { RESUME: { target: 'Announcing', reenter: true } },
          },
          Releasing: {
            description: 'Waits until each of its addresses has ended what is under way.',
            always: [
              { guard: 'leavesAddress', target: 'Announcing' },
              { guard: 'isEmpty', target: 'Clearing' },
            ],
          },
          Clearing: {
            description: 'Waits until no node bears an annotation of the pool any more.',
            on: { CLEARED: { target: '#pool.Gone' } },
          },
        },
      },
      Gone: { type: 'final', description: 'Nothing is left to do; the records go.' },
    },
  });
