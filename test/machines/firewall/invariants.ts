import type { Step } from '../../../actors/runtime/step.ts';
import type { Held } from '../../../machines/firewall/claims.ts';
import type { FirewallContext } from '../../../machines/firewall/context.ts';
import type { FirewallChange, FirewallFound, FirewallInput, FirewallOwned } from '../../../machines/jobs.ts';
import { portText } from '../../../machines/model/port.ts';
import type { ProviderID } from '../../../machines/model/types.ts';
import type { Edge } from '../explore.ts';

const contextOf = ({ snapshot }: Step): FirewallContext => snapshot.context as FirewallContext;
const jobsOf = (after: Step, name: string): readonly FirewallInput[] =>
  after.starts.flatMap(({ job, input }) => (job === name ? [input as FirewallInput] : []));

interface Answer {
  readonly to: string;
  readonly type: string;
  readonly claimId: string;
}
const answersOf = ({ effects }: Step): readonly Answer[] =>
  effects.flatMap((effect) =>
    effect.type === 'tell' && 'claimId' in effect.params.event
      ? [{ ...(effect.params.event as Omit<Answer, 'to'>), to: effect.params.to }]
      : [],
  );

const effectsOf = ({ effects }: Step, type: string): string[] =>
  effects.flatMap((effect) => (effect.type === 'tell' && effect.params.event.type === type ? [effect.params.to] : []));
const without = (held: Held, beyond: readonly string[] = []): readonly string[] => held.ports.filter((port) => !beyond.includes(port));

const claimedIn = ({ claims }: FirewallContext): FirewallOwned => ({
  ports: Object.values(claims).flatMap(({ ports }) => ports),
  nodes: Object.values(claims).flatMap(({ nodes }) => nodes.map(({ providerID }) => providerID)),
});
/** Without the claims that were refused. */
const unrefused = (context: FirewallContext): FirewallContext => ({
  ...context,
  claims: Object.fromEntries(Object.entries(context.claims).filter(([id]) => !context.refused?.includes(id))),
});
const covers = (all: FirewallOwned, some: FirewallOwned): boolean =>
  some.ports.every((port) => all.ports.includes(port)) && some.nodes.every((node) => all.nodes.includes(node));
const wantedBy = ({ claims }: FirewallInput): FirewallOwned => ({
  ports: claims.map(portText),
  nodes: claims.map(({ node }) => node.providerID),
});

const textOf = (held: Held | undefined): string => {
  const { ports = [], nodes = [], beyond = [], exclusive } = held ?? {};
  return JSON.stringify({ ports: [...ports, ...beyond].sort(), nodes: beyond.length > 0 ? null : nodes, exclusive });
};
const isWithin = (some: Held, all: Held): boolean =>
  some.nodes.every(({ name }) => all.nodes.some((node) => node.name === name)) && some.ports.every((port) => all.ports.includes(port));

/** Something comes next, with nobody asking for it. */
const goesOn = ({ invoking, snapshot }: Step): boolean =>
  invoking.size > 0 || ['Resting', 'Doubting', 'Applying'].includes(String(snapshot.value));

/** Each holds for every event in every state of a firewall. */
export const FIREWALL_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': ({ before, event, after }) =>
    after.starts.length <= 1 &&
    (after.starts.length === 0 || before.invoking.size === 0 || after.invoking.size === 1) &&
    (after.starts.length === 0 ||
      before.invoking.size === 0 ||
      event.type === 'RESUME' ||
      event.type.includes('.actor.') ||
      (before.invoking.has('prune') && contextOf(before).byJobs)),

  'nothing but its outcome, a restart, or what has to be opened while a Job removes, ends a job': ({ before, event, after }) =>
    [...before.invoking].every((id) => {
      const meanwhile = id === 'prune' && event.type === 'CLAIM' && event.mode === 'open' && contextOf(before).byJobs;
      return after.invoking.has(id) || event.type.endsWith(`.actor.${id}`) || event.type === 'RESUME' || meanwhile;
    }),

  'it ends only when its account does, while nothing is claimed, waited for or ours, and no call of ours can have an effect': ({
    before,
    event,
    after,
  }) => {
    if (!after.done || before.done) return true;
    const { claims, waiting, owned, doubt = null } = contextOf(before);
    const left = [...Object.keys(claims), ...Object.keys(waiting), ...owned.ports, ...owned.nodes, ...before.invoking];
    return event.type === 'DELETED' && left.length === 0 && doubt === null;
  },

  'a job that removes knows all that is claimed, by whomever': ({ after }) =>
    jobsOf(after, 'prune').every((input) => covers(wantedBy(input), claimedIn(contextOf(after)))),

  'a job that adds knows all that is claimed, and what was there; what it adds counts as ours before it is sent': ({ after }) =>
    jobsOf(after, 'openFirewall').every((input) => {
      const { ports, nodes } = wantedBy(input);
      const { found, owned } = input;
      if (found === null || !covers(wantedBy(input), claimedIn(unrefused(contextOf(after))))) return false;
      const added = {
        ports: ports.filter((port) => !found.ports.includes(port)),
        nodes: nodes.filter((node) => !found.nodes.includes(node)),
      };
      return covers(owned, added) && covers(contextOf(after).owned, added);
    }),

  'nothing is tried for a claim that was refused, before it is made anew': ({ after }) =>
    jobsOf(after, 'openFirewall').every((input) => covers(claimedIn(unrefused(contextOf(after))), wantedBy(input))),

  'what the provider did not take keeps nobody waiting but those who need it': ({ before, event, after }) => {
    const { refused } = (event.output ?? {}) as Partial<FirewallChange>;
    if (event.type !== 'xstate.done.actor.open' || refused === undefined) return true;
    const { claims, working, waiting } = contextOf(before);
    const needs = (id: string): boolean => claims[id]?.ports.some((port) => refused.ports.includes(port)) ?? false;
    const covered = working.filter(({ claimant, claimId }) => waiting[claimant]?.claimId === claimId).map(({ claimant }) => claimant);
    const told = answersOf(after).filter(({ type }) => type === 'REFUSED');
    return (
      told
        .map(({ to }) => to)
        .sort()
        .join() === covered.filter(needs).sort().join() && covered.filter(needs).every((id) => contextOf(after).refused?.includes(id))
    );
  },

  'what had to stay is not tried again at once, unless somebody waits for it': ({ event, after }) => {
    const { deferred = null } = (event.output ?? {}) as Partial<FirewallChange>;
    const isDeferred = event.type === 'xstate.done.actor.prune' && deferred !== null;
    const { byJobs, waiting } = contextOf(after);
    // A Job has to be run for each claim that becomes less, whatever is left.
    return !isDeferred || byJobs || jobsOf(after, 'prune').length === 0 || Object.keys(waiting).length > 0;
  },

  'what is ours is forgotten only when it was removed, or not taken': ({ before, event, after }) => {
    const { refused } = (event.output ?? {}) as Partial<FirewallChange>;
    const { owned } = contextOf(before);
    const kept = { ports: owned.ports.filter((port) => !refused?.ports.includes(port)), nodes: owned.nodes };
    return event.type === 'xstate.done.actor.prune' || covers(contextOf(after).owned, kept);
  },

  'nothing is told to be open before it was looked at or added': ({ event, after }) =>
    answersOf(after).every(({ type }) => type !== 'OPENED' || /^xstate\.done\.actor\.(look|open)$/.test(event.type)),

  'nothing is told to be pruned while something of ours is left that nobody claims, but what could not be removed': ({ event, after }) => {
    const isLeft = !covers(claimedIn(contextOf(after)), contextOf(after).owned);
    const isTold = answersOf(after).some(({ type }) => type === 'PRUNED');
    return !isTold || event.type === 'xstate.done.actor.prune' || !isLeft;
  },

  'an answer is to the claim that its claimant made last, and ends the wait for it': ({ before, event, after }) =>
    answersOf(after).every(({ to, claimId }) => {
      const asked = event.type === 'CLAIM' && event.claimant === to ? event.claimId : contextOf(before).waiting[to]?.claimId;
      return claimId === asked && contextOf(after).waiting[to]?.claimId !== claimId;
    }),

  'a claim is forgotten only when a newer one takes its place': ({ before, event, after }) =>
    Object.entries(contextOf(before).claims).every(([id, held]) => {
      const now = contextOf(after).claims[id];
      if (event.type === 'CLAIM' && event.claimant === id) return true;
      // Whoever is told that his node does not serve goes elsewhere.
      const isGivenUp =
        answersOf(after).some(({ to, type }) => to === id && type === 'REFUSED') &&
        contextOf(after).hanging?.includes(held.nodes.at(-1)?.providerID ?? ('' as ProviderID));
      if (isGivenUp) return true;
      return now !== undefined && textOf({ ...held, beyond: now.beyond ?? [], ports: without(held, now.beyond) }) === textOf(now);
    }),

  'whoever asks for more rules than are for his namespace is told at once, and what was added for him stays': ({
    before,
    event,
    after,
  }) => {
    const { freeRules, ports } = (event.output ?? {}) as Partial<FirewallFound>;
    if (event.type !== 'xstate.done.actor.look' || freeRules === undefined || !ports) return true;
    const { owned, waiting, claims } = contextOf(before);
    const added = contextOf(after).owned.ports.filter((port) => !ports.includes(port) && !owned.ports.includes(port));
    const told = answersOf(after).flatMap(({ to, type }) => (type === 'REFUSED' ? [to] : []));
    const refused = Object.entries(contextOf(after).claims).flatMap(([id, held]) => (held.beyond && held !== claims[id] ? [id] : []));
    const kept = refused.every((id) =>
      (claims[id]?.ports ?? [])
        .filter((port) => owned.ports.includes(port))
        .every((port) => contextOf(after).claims[id]?.ports.includes(port)),
    );
    return (
      added.length <= freeRules &&
      told.sort().join() ===
        refused
          .filter((id) => waiting[id])
          .sort()
          .join() &&
      kept
    );
  },

  'rules that are free again are told to those who were refused for want of them': ({ before, event, after }) => {
    const { freeRules = 0 } = (event.output ?? {}) as Partial<FirewallChange>;
    if (event.type !== 'xstate.done.actor.prune' || freeRules < 20 || contextOf(before).owned.ports.length === 0) return true;
    const refused = Object.entries(contextOf(before).claims).flatMap(([id, { beyond }]) => (beyond ? [id] : []));
    return effectsOf(after, 'RULES_FREED').sort().join() === refused.sort().join();
  },

  'what counts as open was told to be open, and all of it is': ({ before, event, after }) =>
    Object.entries(contextOf(after).claims).every(([id, held]) => {
      const had = contextOf(before).claims[id];
      if (!held.isOpen) return true;
      return had?.isOpen ? isWithin(held, had) : /^xstate\.done\.actor\.(look|open)$/.test(event.type);
    }),

  'a pruning that is over has nothing left to do': ({ before, event, after }) => {
    const context = contextOf(after);
    const isAgain = event.type === 'xstate.done.actor.prune' && after.invoking.has('prune');
    if (!isAgain || contextOf(before).hasShrunk) return true;
    const keepsOne = Boolean(context.deferred) && Object.keys(context.waiting).length === 0;
    return !keepsOne && !covers(claimedIn(context), context.owned);
  },

  'while it opens a claimant keeps what it had': ({ before, event, after }) => {
    if (event.type !== 'CLAIM' || event.mode !== 'open') return true;
    const had = contextOf(before).claims[String(event.claimant)];
    const has = contextOf(after).claims[String(event.claimant)];
    return (
      had === undefined ||
      (had.nodes.every(({ name }) => has?.nodes.some((node) => node.name === name)) && had.ports.every((port) => has?.ports.includes(port)))
    );
  },

  'whoever waits is answered by a job that runs, or is waited for': ({ after }) => {
    const { waiting } = contextOf(after);
    const isAwaited = after.snapshot.value === 'Doubting' || after.snapshot.value === 'Applying';
    return after.invoking.size > 0 || isAwaited || Object.keys(waiting).length === 0;
  },

  'nobody is told that it is open on a node where it is not applied, and whoever has waited for half a minute that the node does not serve':
    ({ before, event, after }) => {
      const { pendingOn = [] } = (event.output ?? {}) as Partial<FirewallChange & FirewallFound>;
      const isOver = !after.invoking.has('open') && /^xstate\.done\.actor\.(look|open)$/.test(event.type);
      const { claims, waiting } = contextOf(before);
      const late = Object.values(waiting).filter(
        ({ claimant, isOpen }) => !isOpen && pendingOn.includes(claims[claimant]?.nodes.at(-1)?.providerID ?? ('' as ProviderID)),
      );
      const now = contextOf(after);
      return late.every((ask) => {
        if (!isOver || contextOf(before).refused?.includes(ask.claimant)) return true;
        const told = answersOf(after).find(({ to }) => to === ask.claimant);
        const isLong = event.at - (ask.since ?? event.at) >= 30_000;
        if (now.claims[ask.claimant]?.isOpen && !claims[ask.claimant]?.isOpen) return false;
        return isLong ? told?.type === 'REFUSED' : told === undefined || told.type === 'REFUSED';
      });
    },

  'what is left of ours is removed at last, with nobody waiting for it, but for the last rule': ({ after }) => {
    const context = contextOf(after);
    if (context.deferred && context.owned.ports.length > 0 && covers(claimedIn(context), { ...context.owned, ports: [] })) return true;
    if (covers(claimedIn(context), context.owned)) return true;
    return goesOn(after);
  },

  'what somebody took out of it does not count as open any more, and is looked at at once where nothing is under way': ({
    before,
    event,
    after,
  }) => {
    const { byJobs } = contextOf(before);
    if (event.type !== 'FIREWALL_OBSERVED' || byJobs || before.invoking.size > 0 || before.snapshot.value === 'Doubting') return true;
    const { ports, nodes } = (event.found ?? { ports: [], nodes: [] }) as FirewallOwned;
    const lost = Object.entries(unrefused(contextOf(before)).claims).filter(
      ([, held]) => held.isOpen && !covers({ ports, nodes }, { ports: held.ports, nodes: held.nodes.map(({ providerID }) => providerID) }),
    );
    return lost.length === 0 || (after.invoking.has('look') && lost.every(([id]) => contextOf(after).claims[id]?.isOpen === false));
  },

  'what was lost is put back at last, with nobody waiting for it': ({ after }) => {
    const context = contextOf(after);
    const { ports, nodes } = claimedIn(unrefused(context));
    const { lost } = context;
    return !lost || !(lost.ports.some((port) => ports.includes(port)) || lost.nodes.some((node) => nodes.includes(node))) || goesOn(after);
  },

  'a call of which no answer was heard is waited out': ({ before, event, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    const [job] = (['open', 'prune'] as const).filter((id) => before.invoking.has(id));
    const { unknownOutcome = false } = (event.error ?? {}) as { readonly unknownOutcome?: boolean };
    const isUnheard = event.type === 'RESUME' || unknownOutcome || (event.output as FirewallChange | undefined)?.rerun === true;
    if (job && isUnheard && !was.byJobs) return is.doubt?.of === job;
    return !was.doubt || Boolean(is.doubt) || event.type.startsWith('xstate.after.doubt.');
  },

  'nothing is looked at or told to be open that may still be removed unheard, and nothing removed that may still be added': ({
    before,
    after,
  }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    const isOpened = Object.entries(is.claims).some(([id, { isOpen }]) => isOpen && was.claims[id]?.isOpen !== true);
    const opens = isOpened || answersOf(after).some(({ type }) => type === 'OPENED') || after.invoking.has('look');
    const of = is.doubt?.of;
    return (of === undefined || of === 'open' || !opens) && (of === undefined || of === 'prune' || !after.invoking.has('prune'));
  },

  'a failure is told to all that wait, once': ({ before, event, after }) => {
    if (!event.type.startsWith('xstate.error.')) return true;
    const told = answersOf(after).filter(({ type }) => type === 'REFUSED');
    return told.length === Object.keys(contextOf(before).waiting).length && Object.keys(contextOf(after).waiting).length === 0;
  },
};

export const brokenByFirewall = (edge: Edge): readonly string[] =>
  Object.entries(FIREWALL_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
