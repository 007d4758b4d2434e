import type { FirewallContext } from '../../../machines/firewall/context.ts';
import * as firewall from '../../../machines/firewall/decisions.ts';
import type { FirewallChange, FirewallFound } from '../../../machines/jobs.ts';
import { failure, refOf, START } from '../builders.ts';
import { action, type ChartMutation, guard, state } from '../mutations-spoil.ts';
import * as words from './vocabulary.ts';

type Context = FirewallContext;

/** Web was heard, opened its port on a, and has nothing to wait for. */
const opened = [words.webOpens, words.bare, words.opened];
/** Then it moved to b, and nobody claims any more what was open before: it is being removed. */
const pruning = [...opened, words.webPrunes, words.full];

/** For each rule of a firewall a defect that it must catch. */
export const FIREWALL_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': {
    mutation: 'a claim that comes while a job runs has the firewall looked at once more',
    spoil: state('Opening', (config) => ({ ...config, on: { ...config.on, CLAIM: { target: 'Looking', actions: 'noteClaim' } } })),
    events: [words.webOpens, words.bare, words.apiOpens],
  },
  'nothing but its outcome, a restart, or what has to be opened while a Job removes, ends a job': {
    mutation: 'a claim that comes while a job runs ends the wait for it',
    spoil: state('Pruning', (config) => ({ ...config, on: { ...config.on, CLAIM: { target: 'Resting', actions: 'noteClaim' } } })),
    events: [...pruning, words.webOpens],
  },
  'it ends only when its account does, while nothing is claimed, waited for or ours, and no call of ours can have an effect': {
    mutation: 'it ends with its account, whatever is open for whomever',
    spoil: guard('isUnused', () => true),
    events: [...opened, words.deleted],
  },
  'a job that removes knows all that is claimed, by whomever': {
    mutation: 'the pruning is told the claims of those that wait for it',
    spoil: state('Pruning', (config) => ({
      ...config,
      invoke: {
        ...config.invoke,
        input: ({ context }: { context: Context }) => firewall.pruneInput({ ...context, claims: {} }),
      },
    })),
    events: pruning,
  },
  'a job that adds knows all that is claimed, and what was there; what it adds counts as ours before it is sent': {
    mutation: 'what was added counts as ours only once the job is done',
    spoil: action<Context>('plan', (context, event) => {
      const planned = firewall.plan(context, event as never);
      return { ...planned, context: { ...planned.context, owned: context.owned } };
    }),
    events: [words.webOpens, words.bare],
  },
  'nothing is tried for a claim that was refused, before it is made anew': {
    mutation: 'a job that adds tries all that is claimed',
    spoil: state('Opening', (config) => ({
      ...config,
      invoke: { ...config.invoke, input: ({ context }: { context: Context }) => firewall.pruneInput(context) },
    })),
    events: [words.apiOpens, words.bare, words.openedInPart, words.webOpens, words.bare],
  },
  'what the provider did not take keeps nobody waiting but those who need it': {
    mutation: 'what the provider did not take of one claim is refused to all that wait',
    spoil: action<Context>('opened', (context) =>
      firewall.refuse(context, { type: 'xstate.error.actor.open', error: failure('Invalid'), at: START }),
    ),
    events: [words.webOpens, words.apiOpens, words.bare, words.openedInPart],
  },
  'what had to stay is not tried again at once, unless somebody waits for it': {
    mutation: 'what had to stay is forgotten to have had to',
    spoil: action<Context>('pruned', (context, event) => {
      const noted = firewall.pruned(context, event as never);
      return { ...noted, context: { ...noted.context, deferred: null } };
    }),
    events: [...opened, words.webLeaves, words.prunedButOne, words.prunedButOne],
  },
  'what is ours is forgotten only when it was removed, or not taken': {
    mutation: 'a claim that is given back takes what is ours with it',
    spoil: action<Context>('noteClaim', (context, event) => {
      const noted = firewall.noteClaim(context, event as never);
      return { ...noted, context: { ...noted.context, owned: { ports: [], nodes: [] } } };
    }),
    events: [...opened, words.pruned, words.webLeaves],
  },
  'nothing is told to be open before it was looked at or added': {
    mutation: 'a claim is answered when it is made',
    spoil: action<Context>('noteClaim', (context, event) => {
      const noted = firewall.noteClaim(context, event as never);
      return firewall.opened({ ...noted.context, working: Object.values(noted.context.waiting) }, event as never);
    }),
    events: [words.webOpens],
  },
  'nothing is told to be pruned while something of ours is left that nobody claims, but what could not be removed': {
    mutation: 'whoever waits for a pruning is told that it is done',
    spoil: guard<Context>('isPruned', ({ waiting }) => Object.values(waiting).some(({ mode, isOpen }) => mode === 'prune' && isOpen)),
    events: [words.webLeaves],
  },
  'an answer is to the claim that its claimant made last, and ends the wait for it': {
    mutation: 'whoever is answered goes on waiting',
    spoil: action<Context>('opened', (context, event) => {
      const answered = firewall.opened(context, event as never);
      return { ...answered, context: { ...answered.context, waiting: context.waiting } };
    }),
    events: opened,
  },
  'a claim is forgotten only when a newer one takes its place': {
    mutation: 'a failure has everybody forget what was claimed',
    spoil: action<Context>('refuse', (context, event) => {
      const refused = firewall.refuse(context, event as never);
      return { ...refused, context: { ...refused.context, claims: {} } };
    }),
    events: [words.webOpens, words.failed('look')],
  },
  'whoever asks for more rules than are for his namespace is told at once, and what was added for him stays': {
    mutation: 'all that is asked for is tried, however few rules are free',
    spoil: action<Context>('plan', (context, event) => {
      const { freeRules: _, ...output } = (event as unknown as { output: FirewallFound }).output;
      return firewall.plan(context, { ...(event as object), output } as never);
    }),
    events: [words.apiOpens, words.crowded],
  },
  'rules that are free again are told to those who were refused for want of them': {
    mutation: 'those who were refused wait for their next try, whatever is free',
    spoil: action<Context>('pruned', (context, event) => {
      const { freeRules: _, ...output } = (event as unknown as { output: FirewallChange }).output;
      return firewall.pruned(context, { ...(event as object), output } as never);
    }),
    events: [words.webOpens, words.apiOpens, words.crowded, words.opened, words.webLeaves, words.prunedToRoom],
  },
  'what counts as open was told to be open, and all of it is': {
    mutation: 'whatever is claimed counts as open',
    spoil: action<Context>('noteClaim', (context, event) => {
      const noted = firewall.noteClaim(context, event as never);
      const claims = Object.fromEntries(Object.entries(noted.context.claims).map(([id, held]) => [id, { ...held, isOpen: true }]));
      return { ...noted, context: { ...noted.context, claims } };
    }),
    events: [words.webOpens],
  },
  'a pruning that is over has nothing left to do': {
    mutation: 'what is left is never done with',
    spoil: guard<Context>('mustPrune', ({ failure }) => failure === null),
    events: [...opened, words.pruned, words.bare, words.opened, words.pruned],
  },
  'while it opens a claimant keeps what it had': {
    mutation: 'a claim that opens takes the place of all that was claimed before',
    spoil: action<Context>('noteClaim', (context, event) => firewall.noteClaim(context, { ...(event as object), mode: 'prune' } as never)),
    events: [...opened, { ...words.webOpens, claimId: 'w9', node: refOf('b') }],
  },
  'whoever waits is answered by a job that runs, or is waited for': {
    mutation: 'a claim that comes while the firewall rests waits for the end of the rest',
    spoil: state('Idle', (config) => ({ ...config, always: [] })),
    events: [words.webOpens],
  },
  'nobody is told that it is open on a node where it is not applied, and whoever has waited for half a minute that the node does not serve':
    {
      mutation: 'what was added counts as open, whatever is applied',
      spoil: action<Context>('opened', (context, event) => {
        const { pendingOn: _, ...output } = (event as unknown as { output: FirewallChange }).output;
        return firewall.opened({ ...context, found: null }, { ...(event as object), output } as never);
      }),
      events: [words.webOpens, words.bare, words.openedLate],
    },
  'what is left of ours is removed at last, with nobody waiting for it, but for the last rule': {
    mutation: 'what nobody waits for is left',
    spoil: guard<Context>('mustPrune', ({ waiting }) => Object.values(waiting).some(({ isOpen }) => isOpen)),
    events: [...pruning, words.failed('prune'), words.rested],
  },
  'what somebody took out of it does not count as open any more, and is looked at at once where nothing is under way': {
    mutation: 'what a list shows is passed over',
    spoil: guard<Context>('observesLoss', () => false),
    events: [...opened, words.pruned, words.taken],
  },
  'what was lost is put back at last, with nobody waiting for it': {
    mutation: 'what could not be put back is left',
    spoil: guard<Context>(
      'mustRest',
      ({ claims, failure, waiting }) => Object.keys(claims).length === 0 && failure !== null && Object.keys(waiting).length === 0,
    ),
    events: [...opened, words.pruned, words.taken, words.failed('look')],
  },
  'a call of which no answer was heard is waited out': {
    mutation: 'a pruning that goes on after a restart trusts that the call of before has ended',
    spoil: action<Context>('doubtPruning', (context) => ({ context, effects: [] })),
    events: [...pruning, words.resumed],
  },
  'nothing is looked at or told to be open that may still be removed unheard, and nothing removed that may still be added': {
    mutation: 'a claim is looked at at once, whatever may still be removed',
    spoil: guard<Context>('mustOpen', firewall.mustOpen),
    events: [...pruning, words.unheard('prune'), words.webOpens],
  },
  'a failure is told to all that wait, once': {
    mutation: 'a failure is told to those that the job covered, and the others wait on',
    spoil: action<Context>('refuse', (context, event) => firewall.refuse({ ...context, waiting: {} }, event as never)),
    events: [words.webOpens, words.failed('look')],
  },
};
