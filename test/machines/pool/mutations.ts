import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { ClusterObserved, Decision, Effect, ProviderObserved, Ready } from '../../../machines/events.ts';
import { addressActor } from '../../../machines/model/actor-id.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import * as pool from '../../../machines/pool/context.ts';
import * as granting from '../../../machines/pool/grant.ts';
import * as members from '../../../machines/pool/members.ts';
import * as absences from '../../../machines/pool/node-absence.ts';
import * as facts from '../../../machines/pool/observe.ts';
import * as acquire from '../../../machines/pool/provisioning.ts';
import { A, B, C, cutOff, node, observed, providerIDOf, refOf, SECOND, START } from '../builders.ts';
import { action, type ChartMutation, guard, type Spoil, shown, state } from '../mutations-spoil.ts';
import { assigned, cluster, event, failed, named, provided, ready, spec } from './world.ts';

const observes = (change: Readonly<Record<string, unknown>> = {}) => event('SPEC_OBSERVED', spec(change));
const nodes = (...names: readonly string[]) => event('CLUSTER_OBSERVED', named(...names));
const waits = (address: typeof A) => event('READY', ready(address));
/** The pool lists A and B, and knows two nodes and what the provider has. */
const primed = [observes(), nodes('a', 'b'), event('PROVIDER_OBSERVED', provided(observed(A), observed(B)))];
/** The same with one node. */
const oneNode = [observes(), nodes('a'), event('PROVIDER_OBSERVED', provided(observed(A), observed(B)))];
/** The pool lists A and wants two addresses: it is about to list those that exist. */
const creating = [observes({ ips: [A], desiredIPs: 2 }), nodes('a', 'b'), event('PROVIDER_OBSERVED', provided(observed(A)))];
const intends = event('xstate.done.actor.intend', { output: { knownAddresses: [A], listedAt: START } });
const cut = event('xstate.error.actor.create', { error: cutOff() });
const several = event('xstate.done.actor.reconcile', { output: { found: 'several', addresses: [B, C] } });

/** Grants as if the context were another one in these parts, and writes down what was granted. Where nothing would be granted so it grants as it should:
 *  a chart that could grant and does not would never come to rest. */
export const grants = (view: (context: PoolContext) => Partial<PoolContext>): Spoil =>
  action<PoolContext>('grant', (context, { at }) => {
    const { context: after, effects } = granting.grant({ ...context, ...view(context) }, at);
    if (effects.length === 0) return granting.grant(context, at);
    const granted = effects.flatMap((effect) => (effect.type === 'tell' ? [effect.params.to] : []));
    const members = Object.entries(after.members).filter(([address]) => granted.some((actor) => actor.endsWith(address)));
    return { context: { ...context, members: { ...context.members, ...Object.fromEntries(members) } }, effects };
  });

/** The pool lists A and knows two nodes; A is granted node a, and a node that is not Ready has 30 s to come back. */
const granted = [
  observes({ ips: [A], recoveryGraceSeconds: 30 }),
  nodes('a', 'b'),
  event('PROVIDER_OBSERVED', provided(observed(A))),
  waits(A),
];
const aFails = event('CLUSTER_OBSERVED', cluster(node('a').notReady(), node('b')));
/** Of these nodes A is on a, which is not Ready any more. */
const recovering = [...granted, event('ASSIGNED', assigned(A, refOf('a'))), aFails];
const timeIsOver = event('xstate.after.recovery.pool.Serving.recovering.Waiting', {}, START + 30 * SECOND);
/** The nodes that have time to come back can be had like any other. */
const withAbsent = ({ candidates, absent }: PoolContext): Pick<PoolContext, 'candidates'> => ({
  candidates: [...candidates, ...absent.map(({ node: each }) => each)],
});

/** The pool lists A, one of its nodes a, b and c may be away, and A is on a. */
const holding = [
  observes({ ips: [A], safeHold: { maxUnavailable: 1, windowSeconds: 60 } }),
  nodes('a', 'b', 'c'),
  event('PROVIDER_OBSERVED', provided(observed(A))),
  waits(A),
  event('ASSIGNED', assigned(A, refOf('a'))),
];

/** The pool lists A, drains nodes, and A is on node a. */
const draining = [
  observes({ ips: [A], drainPolicy: 'OnCordon' }),
  nodes('a'),
  event('PROVIDER_OBSERVED', provided(observed(A))),
  waits(A),
  event('ASSIGNED', assigned(A, refOf('a'))),
];
/** The nodes that are about to go can be had like any other. */
const withLeaving = ({ candidates, leaving }: PoolContext): Pick<PoolContext, 'candidates'> => ({
  candidates: [...candidates, ...leaving],
});

/** The pool lists A, which somebody else took off node a that often; it waits for a node. */
const contended = (times: number): readonly MachineEvent[] => [
  observes({ ips: [A], contention: { moves: 2, windowSeconds: 600 } }),
  nodes('a'),
  event('PROVIDER_OBSERVED', provided(observed(A))),
  waits(A),
  ...Array.from({ length: times }, () => [event('ASSIGNED', assigned(A, refOf('a'))), event('READY', ready(A, 'z'))]).flat(),
];
/** Nobody else moves the addresses. */
const uncontested = ({ members: all }: PoolContext): Pick<PoolContext, 'members'> => ({
  members: Object.fromEntries(
    Object.entries(all).map(([address, member]) => [address, { ...member, contest: { ...member.contest, restsSince: null } }]),
  ),
});

/** The pool lists A and B, which are on a and b; c is free, and A is asked to go there. */
const asking = [
  observes(),
  nodes('a', 'b', 'c'),
  event('PROVIDER_OBSERVED', provided(observed(A, 'a'), observed(B, 'b'))),
  event('READY', ready(A, 'a')),
  event('READY', ready(B, 'b')),
  event('ASSIGNED', assigned(A, refOf('a'), false)),
  event('ASSIGNED', assigned(B, refOf('b'), false)),
  event('SPEC_OBSERVED', spec({}, { marks: { moveTo: `${A}=c` } })),
];

const toOther = (effect: Effect): Effect =>
  effect.type === 'tell' ? { ...effect, params: { ...effect.params, to: `pool/default/other${effect.params.to.slice(-15)}` } } : effect;

const lacks = (context: PoolContext): boolean => pool.isPrimed(context) && pool.listed(context).length < (context.spec?.desired ?? 0);

/** For each rule of a pool a defect that it must catch. */
export const POOL_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'what is published serves, and is told only once every address has said where it is': {
    mutation: 'addresses that were not heard yet do not hold the others up',
    spoil: guard<PoolContext>('isUnsettled', () => false),
    events: [
      observes({ dnsRecordSet: { zone: 'example.com', recordName: 'web' } }),
      nodes('a', 'b'),
      event('PROVIDER_OBSERVED', provided(observed(A), observed(B))),
      event('ASSIGNED', assigned(A, refOf('a'))),
      event('xstate.after.naming.pool.Serving.naming.Settling', {}, START + 2 * SECOND),
    ],
  },
  'nothing is started or granted before spec, nodes and provider are known': {
    mutation: 'a pool that was just loaded grants on what it remembers of its nodes',
    spoil: guard<PoolContext>('canGrant', (context, { at }) => granting.decideGrants(context, at).grants.length > 0),
    events: [...primed, event('RESUME'), waits(A)],
  },
  'only addresses that are wanted are started, and each once': {
    mutation: 'whenever the provider is read, every address is started anew',
    spoil: action<PoolContext, ProviderObserved>('observeProvider', (context, fact) =>
      facts.observeProvider({ ...context, members: {} }, fact),
    ),
    events: [...primed, event('PROVIDER_OBSERVED', provided(observed(A), observed(B)))],
  },
  'a node is granted to an address that waits for one, and is on no other': {
    mutation: 'a node that was granted counts as free',
    spoil: grants(({ members }) => ({
      members: Object.fromEntries(Object.entries(members).map(([address, member]) => [address, { ...member, node: null }])),
    })),
    events: [...primed, waits(A), waits(B)],
  },
  'no node is granted that others hold': {
    mutation: 'what other pools hold is not looked at when a node is chosen',
    spoil: grants(() => ({ fullNodes: [] })),
    events: [...primed, event('CLAIMS_OBSERVED', { fullNodes: ['a'] }), waits(A)],
  },
  'only addresses of the pool are told anything': {
    mutation: 'that a node was lost is told to the address of the same number in another pool',
    spoil: action<PoolContext, ClusterObserved>('observeCluster', (context, fact) => {
      const decided = facts.observeCluster(context, fact);
      return { ...decided, effects: decided.effects.map(toOther) };
    }),
    events: [...primed, waits(A), nodes('b')],
  },
  'an address is given up only once, and always left where it is': {
    mutation: 'when a pool is deleted its addresses are to be deleted too',
    spoil: action<PoolContext>('retireAll', (context) => {
      const { effects, ...decided } = members.remove(context);
      const told = effects.flatMap((effect) => (effect.type === 'tell' ? [effect] : []));
      const deletes = told.map(({ type, params }) => ({ type, params: { ...params, event: { ...params.event, policy: 'Delete' } } }));
      return { ...decided, effects: deletes };
    }),
    events: [...primed, event('DELETED')],
  },
  'an address is created only after the list, by one call': {
    mutation: 'a creation that was interrupted is made again',
    spoil: state('Serving.acquiring.Creating', (config) => ({
      ...config,
      on: { RESUME: { target: 'Creating', reenter: true, actions: 'forgetFacts' } },
    })),
    events: [...creating, intends, event('RESUME')],
  },
  'a creation knows what there was before, and that nothing is in doubt': {
    mutation: 'a doubt about a call is written down before there was a call',
    spoil: action<PoolContext, MachineEvent>('noteIntent', (context, { output, at }) => {
      const decided = acquire.intended(context, output as Parameters<typeof acquire.intended>[1]);
      return { ...decided, context: { ...decided.context, acquiring: { ...decided.context.acquiring, inDoubtUntil: at } } };
    }),
    events: [...creating, intends],
  },
  'a creation that was cut off is looked up, from the time at which the list can tell': {
    mutation: 'a list is trusted at once after a creation was cut off',
    spoil: action<PoolContext>('doubtCreation', (context) => ({ context, effects: [] })),
    events: [...creating, intends, cut],
  },
  'whoever lists or creates holds the right to': {
    mutation: 'the addresses that exist are listed without the right to create',
    spoil: action<PoolContext>('intend', (context) => ({ context, effects: [] })),
    events: creating,
  },
  'no creation begins while another pool has that right': {
    mutation: 'whether another pool creates is not looked at when an address is missing',
    spoil: guard<PoolContext>('lacksAddress', lacks),
    events: [event('CLAIMS_OBSERVED', { fullNodes: [pool.CREATE_CLAIM] }), ...creating],
  },
  'nothing is created while it is unclear what was': {
    mutation: 'when it is unclear which address is new, another one is created',
    spoil: guard<PoolContext>('lacksAddress', (context) => lacks(context) && !context.fullNodes.includes(pool.CREATE_CLAIM)),
    events: [...creating, intends, cut, several],
  },
  'an address stands in the spec before it is used': {
    mutation: 'an address is started as soon as it is created',
    spoil: action<PoolContext, MachineEvent>('noteCreated', (context, { output }): Decision<PoolContext> => {
      const { address } = output as { readonly address: typeof B };
      const id = addressActor(context.id, address);
      const input = { id, pool: context.id, provider: '', address, origin: 'Created' as const, observed: null };
      return { ...acquire.obtained(context, address), effects: [{ type: 'spawn', params: { chart: 'ip', id, input } }] };
    }),
    events: [...creating, intends, event('xstate.done.actor.create', { output: { address: B } })],
  },
  'a pool that is deleted or has no valid spec starts nothing and grants nothing': {
    mutation: 'a creation goes on although the spec is not valid any more',
    spoil: guard('isInvalid', () => false),
    events: [...creating, intends, observes({ provider: 'aws' })],
  },
  'a time for the next grant is told exactly while it is awaited, by a timer': {
    mutation: 'the time of the next grant is still told when it is over',
    spoil: action<PoolContext>('forgetGrant', (context) => ({ context, effects: [] })),
    events: [...oneNode, waits(A), event('FAILED', failed(A, 'NodeInUse', refOf('a'))), waits(A), nodes('a', 'b')],
  },
  'an address hears nothing of a node that keeps it': {
    mutation: 'an address hears that its node is lost before the node is given up',
    spoil: action<PoolContext, ClusterObserved>('observeCluster', (context, fact) => {
      const { context: after, effects } = facts.observeCluster(context, fact);
      const lost = after.absent.map(({ node: { name } }) => pool.tell(after, A, { type: 'NODE_OBSERVED', name, eligible: false }));
      return { context: after, effects: [...effects, ...lost] };
    }),
    events: recovering,
  },
  'time to come back is given only to a node on which an address stands': {
    mutation: 'a node has time to come back before the provider has confirmed its address',
    spoil: action<PoolContext, ClusterObserved>(
      'observeCluster',
      shown(facts.observeCluster, ({ members: all }) => ({
        members: Object.fromEntries(Object.entries(all).map(([address, member]) => [address, { ...member, confirmed: true }])),
      })),
    ),
    events: [...granted, aFails],
  },
  'a node that is absent is granted to nobody who is not on it': {
    mutation: 'a node that has time to come back is granted like any other',
    spoil: (chart) =>
      grants(withAbsent)(
        guard<PoolContext>(
          'canGrant',
          (context, { at }) => granting.decideGrants({ ...context, ...withAbsent(context) }, at).grants.length > 0,
        )(chart),
      ),
    events: [...recovering, event('CLUSTER_OBSERVED', cluster(node('a').notReady())), waits(A)],
  },
  'the next look at absent nodes is told exactly while it is awaited, by a timer': {
    mutation: 'the end of the time is still told when the node is back',
    spoil: action<PoolContext>('forgetRecovery', (context) => ({ context, effects: [] })),
    events: [...recovering, nodes('a', 'b')],
  },
  'nobody has time left when it is over, but only nodes that are known are given up': {
    mutation: 'a node is given up although nobody knows whether it is back',
    spoil: action<PoolContext>('giveUp', (context, { at }) => absences.tellMembers({ ...context, absent: [] }, at)),
    events: [...recovering, event('RESUME'), timeIsOver],
  },
  'a machine is asked for when it is time, and keeps nothing when it is gone': {
    mutation: 'nobody listens when the provider says that a machine is gone',
    spoil: action<PoolContext>('noteAnswers', (context, { at }) => absences.noteAnswers(context, { gone: [] }, at)),
    events: [...recovering, event('xstate.done.actor.findNodes', { output: { gone: [providerIDOf('a')] } })],
  },
  'a pool holds exactly while more nodes are absent than allowed, counted within the window when it begins': {
    mutation: 'a pool that holds nothing back counts nodes that went long ago',
    spoil: action<PoolContext, ClusterObserved>('observeCluster', (context, fact) =>
      facts.observeCluster({ ...context, held: context.absent.length > 0 }, fact),
    ),
    events: [...holding, nodes('b', 'c'), event('CLUSTER_OBSERVED', named('c'), START + 61 * SECOND)],
  },
  'while a pool holds, an address hears only of a machine that is gone': {
    mutation: 'an address hears that its node does not match although the pool holds',
    spoil: action<PoolContext, ClusterObserved>('observeCluster', (context, fact) => {
      const { context: after, effects } = facts.observeCluster(context, fact);
      const lost = after.absent.map(({ node: { name } }) => pool.tell(after, A, { type: 'NODE_OBSERVED', name, eligible: false }));
      return { context: after, effects: [...effects, ...lost] };
    }),
    events: [...holding, event('CLUSTER_OBSERVED', named('c'))],
  },
  'a node that is about to go is granted to nobody who is not on it': {
    mutation: 'a node that is about to go is granted like any other',
    spoil: (chart) =>
      grants(withLeaving)(
        guard<PoolContext>(
          'canGrant',
          (context, { at }) => granting.decideGrants({ ...context, ...withLeaving(context) }, at).grants.length > 0,
        )(chart),
      ),
    events: [...draining, event('CLUSTER_OBSERVED', cluster(node('a').cordoned())), waits(A)],
  },
  'no more addresses leave a node that is about to go than there are nodes for them': {
    mutation: 'an address leaves a node that is about to go although there is no other',
    spoil: action<PoolContext, ClusterObserved>('observeCluster', (context, fact) => {
      const { context: after, effects } = facts.observeCluster(context, fact);
      const lost = after.leaving.map(({ name }) => pool.tell(after, A, { type: 'NODE_OBSERVED', name, eligible: false }));
      return { context: after, effects: [...effects, ...lost] };
    }),
    events: [...draining, event('CLUSTER_OBSERVED', cluster(node('a').cordoned()))],
  },
  'nobody stays on a node that is about to go who could leave it now': {
    mutation: 'an address leaves a node that is about to go only when an address waits',
    spoil: guard<PoolContext>(
      'canRelieve',
      (context, { type, at }) => type === 'READY' && granting.decideGrants(context, at).reliefs.length > 0,
    ),
    events: [...draining, event('CLUSTER_OBSERVED', cluster(node('a').cordoned(), node('b')))],
  },
  'an address that is left to somebody else is not moved before its time': {
    mutation: 'an address is taken back however often it was moved',
    spoil: (chart) =>
      grants(uncontested)(
        guard<PoolContext>(
          'canGrant',
          (context, { at }) => granting.decideGrants({ ...context, ...uncontested(context) }, at).grants.length > 0,
        )(chart),
      ),
    events: contended(2),
  },
  'only what somebody else moved counts, and only then, as often as the rule says, is an address left to them': {
    mutation: 'an address that waits for a node counts as moved by somebody else',
    spoil: action<PoolContext, Ready>('noteReady', (context, fact) => {
      const serves = { node: refOf('z'), confirmed: true, eligible: true };
      const all = Object.entries(context.members).map(([address, member]) => [address, { ...member, ...serves }]);
      return members.onReady({ ...context, members: Object.fromEntries(all) }, fact);
    }),
    events: contended(0),
  },
  'a pool that is paused grants only where an address stands, and creates, gives up and publishes nothing': {
    mutation: 'a pool that is paused grants as ever',
    spoil: (chart) =>
      grants(() => ({ marks: null }))(
        guard<PoolContext>(
          'canGrant',
          (context, { at }) => granting.decideGrants({ ...context, marks: null }, at).grants.length > 0,
        )(chart),
      ),
    events: [event('SPEC_OBSERVED', spec({}, { marks: { paused: 'true' } })), ...primed.slice(1), waits(A)],
  },
  'while a pool is paused, only an address that is on its way hears of its node, and only that it is to stay where it is': {
    mutation: 'an address hears that its node does not match although the pool is paused',
    spoil: action<PoolContext, ClusterObserved>(
      'observeCluster',
      shown(facts.observeCluster, () => ({ marks: null })),
    ),
    events: [
      ...granted,
      event('ASSIGNED', assigned(A, refOf('a'))),
      event('SPEC_OBSERVED', spec({ ips: [A] }, { marks: { paused: 'true' } })),
      aFails,
    ],
  },
  'an address leaves a node that it could keep only for the node on which somebody wants it': {
    mutation: 'when one address is asked to go, another one leaves its node as well',
    spoil: action<PoolContext>('relieve', (context, { at }) => {
      const { context: after, effects } = granting.relieve(context, at);
      return { context: after, effects: [...effects, pool.tell(after, B, { type: 'NODE_OBSERVED', name: 'b', eligible: false })] };
    }),
    events: asking,
  },
  'a request is answered once, and counts as done only where the address was confirmed': {
    mutation: 'a request counts as done as soon as the address has left its node',
    spoil: (chart) =>
      action<PoolContext>('relieve', (context, { at }) => {
        const { context: after, effects } = granting.relieve(context, at);
        const done = { done: true, message: 'done' };
        const moves = (after.marks?.moves ?? []).map((move) => (move.begun ? { ...move, answer: done } : move));
        return { context: { ...after, ...(after.marks && { marks: { ...after.marks, moves } }) }, effects };
      })(chart),
    events: asking,
  },
  'nobody waits who could be granted a node now': {
    mutation: 'a node that joins is noticed only when the next address begins to wait',
    spoil: guard<PoolContext>(
      'canGrant',
      (context, { type, at }) => type === 'READY' && pool.isPrimed(context) && granting.decideGrants(context, at).grants.length > 0,
    ),
    events: [observes(), nodes(), event('PROVIDER_OBSERVED', provided(observed(A), observed(B))), waits(A), nodes('a')],
  },
};
