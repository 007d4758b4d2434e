import type { Step } from '../../../actors/runtime/step.ts';
import type { AddressContext } from '../../../machines/address/context.ts';
import { confirmedHere } from '../../../machines/address/decisions.ts';
import { opens } from '../../../machines/address/firewall-claim.ts';
import type { Claim, Failed } from '../../../machines/events.ts';
import type { AssignInput, FindInput } from '../../../machines/jobs.ts';
import type { Edge } from '../explore.ts';

/** What a firewall has said so far: for which node, ports and firewall all is open. */
export type Opened = string | null;

const contextOf = (step: Step): AddressContext => step.snapshot.context as AddressContext;
const claimOf = ({ elected, policy }: AddressContext): string => JSON.stringify([elected?.name, policy.firewall, policy.ports]);
const claims = (step: Step): readonly Claim[] =>
  step.effects.flatMap((effect) => (effect.type === 'claim' ? [effect.params.event as Claim] : []));
const claimsTo = (step: Step): readonly (Claim & { readonly to: string })[] =>
  step.effects.flatMap((effect) => (effect.type === 'claim' ? [{ ...(effect.params.event as Claim), to: effect.params.to }] : []));
/** The address is given up, or on no node, or nothing of it is to be open in that firewall any more. */
const leaves = ({ retiring, elected, policy }: AddressContext, firewall: string): boolean =>
  retiring !== null || elected === null || policy.firewall !== firewall || policy.ports.length === 0;
const isDoubting = ({ snapshot }: Step): boolean => JSON.stringify(snapshot.value) === '{"Unassigned":"Doubting"}';
const isLookingAgain = ({ snapshot }: Step): boolean => JSON.stringify(snapshot.value) === '{"Unassigned":"LookingAgain"}';
const inputs = <I>(step: Step, name: string): readonly I[] => step.starts.flatMap(({ job, input }) => (job === name ? [input as I] : []));

export const opened = (was: Opened, { before, event }: Edge): Opened =>
  event.type === 'OPENED' && before.snapshot.value === 'FirewallOpening' ? claimOf(contextOf(before)) : was;

const isForced = (event: { readonly type: string; readonly force?: unknown }): boolean => event.type === 'RETIRE' && event.force === true;

type Rule = (edge: Edge, opened: Opened) => boolean;

/** Nothing of an assign in doubt can take effect any more, and a read has failed or has not come. */
const isOver = ({ inDoubtUntil }: AddressContext, { type, at }: Edge['event']): boolean =>
  inDoubtUntil !== null && (type.startsWith('xstate.after.doubt.') || (type === 'xstate.error.actor.find' && at >= inDoubtUntil));

const returns = (effect: Step['effects'][number], node: string | undefined): boolean =>
  effect.type === 'tell' && effect.params.event.type === 'FAILED' && (effect.params.event as unknown as Failed).returned?.name === node;

/** Each holds for every event in every state. */
export const RULES: Readonly<Record<string, Rule>> = {
  'nothing is closed before the address is confirmed on its node, unless it is given up, or on none': ({ after }) => {
    const { retiring, elected, assigned } = contextOf(after);
    const isDone = confirmedHere(contextOf(after)) || retiring !== null || (elected === null && assigned === null);
    return claims(after).every(({ mode }) => mode === 'open' || isDone);
  },

  'the former node keeps its rules until the next one is confirmed': ({ after }) =>
    claimsTo(after).every(
      ({ to, mode, node }) => mode === 'open' || leaves(contextOf(after), to) || node?.name === contextOf(after).assigned?.name,
    ),

  'an address that is given up, or on none, claims nothing, any other one its node and all its ports': ({ after }) =>
    claimsTo(after).every(({ to, node, ports, claimant }) => {
      const { elected, policy, id } = contextOf(after);
      const wanted = leaves(contextOf(after), to) ? [null, []] : [elected?.name, policy.ports];
      return claimant === id && JSON.stringify([node?.name ?? null, ports]) === JSON.stringify(wanted);
    }),

  'no assign is issued before its firewall is open, when the firewall comes first': ({ before, event, after }, open) => {
    const { policy } = contextOf(after);
    if (inputs(after, 'assign').length === 0 || policy.firewall === null || policy.postAllow || policy.ports.length === 0) return true;
    // One that is under way already is only asked for again.
    return open === claimOf(contextOf(after)) || (event.type === 'RESUME' && before.snapshot.value === 'Assigning');
  },

  'no firewall is touched before the assignment is confirmed, when the firewall comes after': ({ after }) =>
    claims(after).every(({ mode }) => mode === 'prune' || !contextOf(after).policy.postAllow || confirmedHere(contextOf(after))),

  'one assign at once: only after its outcome, or on a restart, is another one issued': ({ before, event, after }) => {
    const issued = inputs(after, 'assign').length;
    return issued <= 1 && (issued === 0 || !before.invoking.has('assign') || event.type === 'RESUME');
  },

  'nothing but its outcome ends an assign, or a person who wants the address gone, or a restart when it is given up or wanted on none': ({
    before,
    event,
    after,
  }) => {
    const { retiring, parked } = contextOf(before);
    const isCutOff = event.type === 'RESUME' && (retiring !== null || Boolean(parked));
    return (
      !before.invoking.has('assign') || after.invoking.has('assign') || event.type.endsWith('.actor.assign') || isForced(event) || isCutOff
    );
  },

  'a firewall on which the address has claims is left before the address is released, unless a person wants it gone': ({ event, after }) =>
    after.snapshot.value !== 'Released' || contextOf(after).claimed.length === 0 || isForced(event),

  'an assign goes to the granted node, and knows what is in doubt; an ineligible node only when that is in doubt': ({ after }) =>
    inputs<AssignInput>(after, 'assign').every(({ node, inDoubtUntil }) => {
      const { elected, eligible, inDoubtUntil: doubt } = contextOf(after);
      return node.name === elected?.name && inDoubtUntil === doubt && (eligible || doubt !== null);
    }),

  'nothing is assigned and nothing closed while what is known may be void': ({ before, after }) => {
    const { known, retiring } = contextOf(after);
    const acts =
      (inputs(after, 'assign').length > 0 && !before.invoking.has('assign')) || claims(after).some(({ mode }) => mode === 'prune');
    return known || retiring !== null || !acts;
  },

  'a read is not trusted before the end of a doubt': ({ after }) =>
    inputs<FindInput>(after, 'find').every(({ notBefore }) => notBefore === contextOf(after).inDoubtUntil),

  'while an assign in doubt may take effect its node stays claimed': ({ before, event, after }) => {
    const [was, { inDoubtUntil, elected, retiring }] = [contextOf(before), contextOf(after)];
    const isOfAssign = !before.invoking.has('unassign');
    const isKept = inDoubtUntil === null || elected !== null || retiring !== null || !isOfAssign;
    const wasGivenUp = was.inDoubtUntil !== null && was.elected === null;
    return isKept || wasGivenUp || isOver(was, event);
  },

  'once it cannot, and nobody could read the address, its node is claimed no more, and the pool hears of it': ({
    before,
    event,
    after,
  }) => {
    const was = contextOf(before);
    if (was.elected === null || !isOver(was, event)) return true;
    return contextOf(after).elected === null && after.effects.some((effect) => returns(effect, was.elected?.name));
  },

  'a doubt ends only by what the provider says, or with the address': ({ before, event, after }) => {
    const ends = contextOf(before).inDoubtUntil !== null && contextOf(after).inDoubtUntil === null;
    // One that is no longer wanted is not read again: its wait lasts as long as a call can take effect.
    const isOver = contextOf(after).retiring !== null && event.type.startsWith('xstate.after.');
    return !ends || /\.actor\.(find|assign)$/.test(event.type) || isOver || event.type === 'ADDRESS_OBSERVED';
  },

  'a node that the address left is remembered until its rules are pruned': ({ before, after }) => {
    const [left, { assigned, elected, previous, retiring }] = [contextOf(before).assigned, contextOf(after)];
    const stays = left === null || [assigned, elected].some((node) => node?.name === left.name);
    const isOver = retiring !== null || JSON.stringify(after.snapshot.value).includes('Stable');
    return stays || isOver || previous.some(({ name }) => name === left.name);
  },

  'where the address is assigned changes only by what the provider says': ({ before, event, after }) => {
    const [was, is] = [contextOf(before), contextOf(after)];
    if (was.assigned?.name === is.assigned?.name) return true;
    if (is.assigned === null) return /\.actor\.(find|assign|unassign)$/.test(event.type) || event.type === 'ADDRESS_OBSERVED';
    return event.type === 'xstate.done.actor.assign' || (event.type === 'NODE_GRANTED' && was.holder === is.assigned.providerID);
  },

  'an address leaves its node only where somebody wants it on none, once, and while nothing is in doubt': ({ before, event, after }) => {
    if (inputs(after, 'unassign').length === 0) return true;
    const { parked, retiring, holder, inDoubtUntil, elected } = contextOf(after);
    const isNews = contextOf(before).parked !== 'done' || event.type === 'PARK';
    return parked === 'asked' && retiring === null && holder !== null && inDoubtUntil === null && elected === null && isNews;
  },

  'one that is wanted on no node is not assigned': ({ after }) =>
    (!contextOf(after).parked || inputs(after, 'assign').length === 0) &&
    (!contextOf(after).parked || !JSON.stringify(after.snapshot.value).includes('Stable')),

  'only an address of ours that is to be deleted is given to the provider': ({ after }) =>
    after.starts.every(({ job }) => ['find', 'assign', 'unassign', 'release', 'elect'].includes(job)) &&
    (inputs(after, 'release').length === 0 || (contextOf(after).retiring === 'Delete' && contextOf(after).origin === 'Created')),

  'a stable address is confirmed on an eligible node, and nothing is wrong with it': ({ after }) => {
    const { elected, eligible, holder, inDoubtUntil, failure, attempts, coolOffUntil, previous } = contextOf(after);
    if (typeof after.snapshot.value !== 'object' || !('Stable' in (after.snapshot.value as object))) return true;
    const clean = inDoubtUntil === null && failure === null && attempts === 0 && coolOffUntil === null && previous.length === 0;
    return clean && eligible && confirmedHere(contextOf(after)) && holder === elected?.providerID;
  },

  'a stable address has claims on the firewall of its policy, when there is anything to be open, and on no other': ({ after }) => {
    if (!JSON.stringify(after.snapshot.value).includes('Stable')) return true;
    const { claimed, policy } = contextOf(after);
    return claimed.join() === (opens(contextOf(after)) ? policy.firewall : '');
  },

  'an address that is given up gets no node and is not assigned again': ({ before, after }) => {
    if (contextOf(before).retiring === null) return true;
    const isLettingGo = after.invoking.has('unassign');
    const gone = isLettingGo || ['Assigning', 'Pruning', 'CoolOff', 'Releasing', 'Released'].includes(String(after.snapshot.value));
    return gone && contextOf(after).retiring !== null && inputs(after, 'assign').length === 0;
  },

  'a wait has an end, and a timer for it': ({ before, event, after }) => {
    if (isDoubting(after)) return isDoubting(before) || after.delays.length === 1;
    if (isLookingAgain(after)) return (isLookingAgain(before) && event.type !== 'RESUME') || after.delays.length === 1;
    if (after.snapshot.value !== 'CoolOff') return after.delays.length === 0;
    const enters = before.snapshot.value !== 'CoolOff';
    return contextOf(after).coolOffUntil !== null && (!enters || after.delays.length === 1);
  },
};

/** The rules that an edge breaks. */
export const broken = (edge: Edge, open: Opened): readonly string[] =>
  Object.entries(RULES).flatMap(([rule, holds]) => (holds(edge, open) ? [] : [rule]));
