import { setup } from 'xstate';
import { durable } from './durable.machine.ts';
import type { Decision, SpawnedChart } from './events.ts';
import type { AnyFirewallEvent, FirewallContext, FirewallMachineInput } from './firewall.ts';
import * as firewall from './firewall.ts';

/** One firewall at a provider: holds the claims of all addresses that share it, and runs one job at a time. Adds before it removes, and removes only
 *  what it added itself and nobody claims. */
export const firewallMachine = () => {
  const base = setup({
    types: {} as { context: FirewallContext; events: AnyFirewallEvent; input: FirewallMachineInput },
    actors: { openFirewall: durable('openFirewall'), prune: durable('prune') },
    actions: {
      tell: (_, _params: { to: string; event: { type: string } }) => {},
      spawn: (_, _params: { chart: SpawnedChart; id: string; input: unknown }) => {},
      claim: (_, _params: { to: string; event: { type: 'CLAIM' } }) => {},
    },
  });
  const decide = (decision: (context: FirewallContext, event: AnyFirewallEvent) => Decision<FirewallContext>) =>
    base.enqueueActions(({ context, event, enqueue }) => {
      const decided = decision(context, event);
      enqueue.assign(decided.context);
      for (const effect of decided.effects) enqueue(effect);
    });
  const asks =
    (claim: (context: FirewallContext) => boolean) =>
    ({ context }: { context: FirewallContext }) =>
      claim(context);

  return base
    .extend({
      actions: {
        noteClaim: decide(firewall.noteClaim),
        begin: decide(firewall.begin),
        opened: decide(firewall.opened),
        pruned: decide(firewall.pruned),
        refuse: decide(firewall.refuse),
      },
      guards: { mustOpen: asks(firewall.mustOpen), mayPrune: asks(firewall.mayPrune) },
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
            { guard: 'mustOpen', target: 'Opening' },
            { guard: 'mayPrune', target: 'Pruning' },
          ],
        },
        Opening: {
          description: 'Adds what is claimed and missing. Claims that come meanwhile are served by the next job.',
          entry: 'begin',
          invoke: {
            src: 'openFirewall',
            id: 'open',
            input: ({ context }) => firewall.firewallInput(context),
            onDone: { target: 'Idle', actions: 'opened' },
            onError: { target: 'Idle', actions: 'refuse' },
          },
          on: { RESUME: { target: 'Opening', reenter: true } },
        },
        Pruning: {
          description: 'Removes what we added and nobody claims any more.',
          entry: 'begin',
          invoke: {
            src: 'prune',
            id: 'prune',
            input: ({ context }) => firewall.firewallInput(context),
            onDone: { target: 'Idle', actions: 'pruned' },
            onError: { target: 'Idle', actions: 'refuse' },
          },
          on: { RESUME: { target: 'Pruning', reenter: true } },
        },
      },
    });
};
