import { setup } from 'xstate';
import { asking, durables, EFFECTS, runs, take } from '../durable.machine.ts';
import type { Decision } from '../events.ts';
import type { AnyFirewallEvent, FirewallContext, FirewallMachineInput } from './context.ts';
import type { FirewallSettings } from './decisions.ts';
import * as firewall from './decisions.ts';
import * as losses from './drift.ts';
import * as doubts from './in-doubt.ts';
import { isLate, LOOK_EVERY_MS, onlyApplies } from './pending.ts';

/** One firewall at a provider: holds the claims of all addresses that share it, and runs one job at a time. Adds before it removes, and removes only what it added itself and
 *  is unclaimed. What it is about to add counts as its own before the call, so that a crash leaves nothing behind. */
export const firewallMachine = (settings: FirewallSettings) => {
  const base = setup({
    types: {} as { context: FirewallContext; events: AnyFirewallEvent; input: FirewallMachineInput },
    actors: durables('findFirewall', 'openFirewall', 'prune'),
    actions: EFFECTS,
    delays: {
      applied: LOOK_EVERY_MS,
      rest: ({ context }) => firewall.restLeft(settings)(context),
      doubt: ({ context, event }) => doubts.doubtLeft(settings)(context, event.at),
    },
  });
  const decide = (decision: (context: FirewallContext, event: AnyFirewallEvent) => Decision<FirewallContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => take(enqueue, decision(context, event)));
  const asks = asking<FirewallContext, AnyFirewallEvent>();

  return base
    .extend({
      actions: {
        noteClaim: decide(firewall.noteClaim),
        begin: decide(firewall.begin),
        beginPruning: decide(firewall.beginPruning),
        leavePruning: decide(firewall.leavePruning),
        plan: decide(firewall.plan),
        opened: decide(firewall.opened),
        pruned: decide(firewall.pruned),
        answerPruned: decide(firewall.answerPruned),
        refuse: decide(firewall.refuse),
        retry: decide(firewall.retry),
        noteLoss: decide(losses.noteLoss),
        doubtOpening: decide(doubts.doubt(settings, 'open')),
        doubtPruning: decide(doubts.doubt(settings, 'prune')),
        doubtOpeningIfUnknown: decide(doubts.doubtIfUnknown(settings, 'open')),
        doubtPruningIfUnknown: decide(doubts.doubtIfUnknown(settings, 'prune')),
        endDoubt: decide(doubts.endDoubt),
      },
      guards: {
        mustOpen: asks((context) => firewall.mustOpen(context) && !doubts.doubtsOpen(context)),
        isPruned: asks(firewall.isPruned),
        mustPrune: asks((context) => firewall.mustPrune(context) && !doubts.doubtsPruned(context)),
        isInDoubt: asks(doubts.isInDoubt),
        mustMend: asks(losses.mustMend),
        observesLoss: asks(losses.observesLoss),
        mustRest: asks(firewall.mustRest),
        isOpen: asks(firewall.isOpen),
        isOpenAndLate: asks((context, event) => firewall.isOpen(context) && isLate(context, event)),
        isLate: asks(isLate),
        appliesNothing: asks((context) => !onlyApplies(context)),
        isUnused: asks(firewall.isUnused),
        opensMeanwhile: asks(firewall.opensMeanwhile),
      },
    })
    .createMachine({
      id: 'firewall',
      context: ({ input }) => firewall.firewallContext(input),
      initial: 'Idle',
      on: { CLAIM: { actions: 'noteClaim' } },
      states: {
        Idle: {
          description: 'Nobody waits for an answer, or only for claimants that were not heard since a load.',
          always: [
            { guard: 'mustOpen', target: 'Looking' },
            { guard: 'isPruned', target: 'Idle', reenter: true, actions: 'answerPruned' },
            { guard: 'mustPrune', target: 'Pruning' },
            { guard: 'isInDoubt', target: 'Doubting' },
            { guard: 'mustMend', target: 'Looking' },
            { guard: 'mustRest', target: 'Resting' },
          ],
          on: {
            FIREWALL_OBSERVED: { guard: 'observesLoss', target: 'Looking', actions: 'noteLoss' },
            DELETED: { guard: 'isUnused', target: 'Ended' },
          },
        },
        Looking: {
          description: 'Reads what is open, to know what is missing: only that is added, and only that is ours.',
          invoke: {
            ...runs('findFirewall', 'look', firewall.lookInput),
            onDone: { target: 'Deciding', actions: 'plan' },
            onError: { target: 'Idle', actions: ['begin', 'refuse'] },
          },
          on: { RESUME: { target: 'Looking', reenter: true } },
        },
        Deciding: {
          description: 'Nothing has to be added when all is there.',
          always: [
            { guard: 'isOpenAndLate', target: 'Applying', actions: 'opened' },
            { guard: 'isOpen', target: 'Idle', actions: 'opened' },
            { target: 'Opening' },
          ],
        },
        Opening: {
          description: 'Adds what is claimed and missing. Claims that come meanwhile are served by the next job.',
          invoke: {
            ...runs('openFirewall', 'open', firewall.openInput),
            onDone: [
              { guard: 'isLate', target: 'Applying', actions: ['opened', 'doubtOpeningIfUnknown'] },
              { target: 'Idle', actions: ['opened', 'doubtOpeningIfUnknown'] },
            ],
            onError: { target: 'Idle', actions: ['refuse', 'doubtOpeningIfUnknown'] },
          },
          on: { RESUME: { target: 'Looking', actions: 'doubtOpening' } },
        },
        Applying: {
          description:
            'Everything was added, and somebody waits for the provider to apply it on its node. Whatever else is to be done does not wait for that.',
          always: [
            { guard: 'isPruned', target: 'Applying', reenter: true, actions: 'answerPruned' },
            { guard: 'mustPrune', target: 'Pruning' },
            { guard: 'appliesNothing', target: 'Idle' },
          ],
          after: { applied: 'Looking' },
          on: {
            FIREWALL_OBSERVED: { guard: 'observesLoss', target: 'Looking', actions: 'noteLoss' },
            CLAIM: { target: 'Idle', actions: 'noteClaim' },
            RESUME: { target: 'Looking' },
          },
        },
        Pruning: {
          description: 'Removes what we added and nobody claims any more.',
          entry: 'beginPruning',
          invoke: {
            ...runs('prune', 'prune', firewall.pruneInput),
            onDone: { target: 'Idle', actions: ['pruned', 'doubtPruningIfUnknown'] },
            onError: { target: 'Idle', actions: ['refuse', 'leavePruning', 'doubtPruningIfUnknown'] },
          },
          on: {
            CLAIM: [{ guard: 'opensMeanwhile', target: 'Idle', actions: ['noteClaim', 'leavePruning'] }, { actions: 'noteClaim' }],
            RESUME: { target: 'Pruning', reenter: true, actions: 'doubtPruning' },
          },
        },
        Doubting: {
          description:
            'A call of which no answer was heard may still close something, or open it: until it cannot any more, nothing counts as open, or as closed.',
          after: { doubt: { target: 'Idle', actions: 'endDoubt' } },
          on: {
            CLAIM: { target: 'Idle', actions: 'noteClaim' },
            RESUME: { target: 'Doubting', reenter: true },
          },
        },
        Resting: {
          description: 'Something was left, or is missing, that nobody waits for: it is removed, or put back, after a wait.',
          after: { rest: { target: 'Idle', actions: 'retry' } },
          on: {
            FIREWALL_OBSERVED: { guard: 'observesLoss', target: 'Looking', actions: 'noteLoss' },
            CLAIM: { target: 'Idle', actions: 'noteClaim' },
            SECRET_OBSERVED: { target: 'Idle', actions: 'retry' },
            RESUME: { target: 'Resting', reenter: true },
          },
        },
        Ended: {
          type: 'final',
          description: 'Nobody uses its account any more, nothing of it is claimed, and nothing in it is ours; its record goes.',
        },
      },
    });
};
