import type { MachineEvent, Step } from '../../../actors/runtime/step.ts';
import type { NodeGranted, NodeObserved, RecordsWanted } from '../../../machines/events.ts';
import type { CreateInput, FindNodesInput, FoundNodes } from '../../../machines/jobs.ts';
import { addressActor, recordSetActor } from '../../../machines/model/actor-id.ts';
import type { ActorId, Address } from '../../../machines/model/types.ts';
import { moved, restsUntil } from '../../../machines/policy/contention.ts';
import { absenceOf } from '../../../machines/policy/recovery-grace.ts';
import { isPaused } from '../../../machines/pool/annotations.ts';
import type { Member } from '../../../machines/pool/assignment.ts';
import { CREATE_CLAIM, isPrimed, type PoolContext, wanted } from '../../../machines/pool/context.ts';
import { rightTaken } from '../../../machines/pool/creation.ts';
import { decideGrants } from '../../../machines/pool/grant.ts';
import { isHeld, keeping } from '../../../machines/pool/node-absence.ts';
import type { Edge } from '../explore.ts';

const contextOf = (step: Step): PoolContext => step.snapshot.context as PoolContext;
const inside = (step: Step, state: string): boolean => JSON.stringify(step.snapshot.value).includes(`"${state}"`);
const spawned = (step: Step): readonly ActorId[] =>
  step.effects.flatMap((effect) => (effect.type === 'spawn' && effect.params.chart === 'ip' ? [effect.params.id] : []));
const sends = (step: Step, type: string): readonly { readonly to: ActorId; readonly event: unknown }[] =>
  step.effects.flatMap((effect) => (effect.type === 'tell' && effect.params.event.type === type ? [effect.params] : []));
const grantsOf = (step: Step) => sends(step, 'NODE_GRANTED').map(({ to, event }) => ({ to, node: (event as NodeGranted).node }));
const actorsOf = (context: PoolContext): readonly ActorId[] =>
  Object.keys(context.members).map((address) => addressActor(context.id, address as Address));
const started = (step: Step, job: string): boolean => step.starts.some((start) => start.job === job);

const memberOf = (step: Step, actor: ActorId): readonly [string, Member | undefined] => {
  const [address = '', member] = Object.entries(contextOf(step).members).find(([each]) => actor.endsWith(`/${each}`)) ?? [];
  return [address, member];
};
/** The event says that an address is elsewhere than on the node on which it serves. */
const isTakenAway = ({ node, confirmed, eligible }: Member, event: MachineEvent, whose: string): boolean => {
  const { type, address, holder, kind, returned } = event;
  if (address !== whose) return false;
  if (type === 'FAILED') return kind === 'Conflict' && returned !== null;
  return type === 'READY' && node !== null && confirmed && eligible && holder !== node.providerID;
};

/** Each holds for every event in every state. */
export const POOL_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'nothing is started or granted before spec, nodes and provider are known': ({ after }) =>
    isPrimed(contextOf(after)) || (spawned(after).length === 0 && grantsOf(after).length === 0),

  'only addresses that are wanted are started, and each once': ({ before, event, after }) => {
    const goal = wanted(contextOf(after)).map((address) => addressActor(contextOf(after).id, address));
    const former = actorsOf(contextOf(before)).filter((actor) => event.type !== 'GONE' || !actor.endsWith(String(event.address)));
    return spawned(after).every((actor) => goal.includes(actor) && !former.includes(actor));
  },

  'a node is granted to an address that waits for one, and is on no other': ({ after }) => {
    const nodes = Object.values(contextOf(after).members).flatMap(({ node }) => (node ? [node.name] : []));
    const granted = grantsOf(after).map(({ to }) => to);
    return new Set(granted).size === granted.length && (granted.length === 0 || new Set(nodes).size === nodes.length);
  },

  'no node is granted that others hold': ({ after }) =>
    grantsOf(after).every(({ node }) => !contextOf(after).fullNodes.includes(node.name)),

  'only addresses of the pool are told anything': ({ before, after }) => {
    const ours = [recordSetActor(contextOf(after).id), ...actorsOf(contextOf(before)), ...actorsOf(contextOf(after))];
    return after.effects.every((effect) => effect.type !== 'tell' || ours.includes(effect.params.to));
  },

  'what is published serves, and is told only once every address has said where it is': ({ after }) =>
    sends(after, 'RECORDS_WANTED').every(({ event }) => {
      const { members } = contextOf(after);
      const { target, addresses } = event as RecordsWanted;
      const serves = addresses.every((address) => members[address]?.confirmed && members[address]?.eligible);
      return serves && (target === null || Object.values(members).every(({ heard, retiring }) => heard || retiring));
    }),

  'an address is given up only once, and always left where it is': ({ before, after }) =>
    sends(after, 'RETIRE').every(({ to, event }) => {
      const member = Object.entries(contextOf(before).members).find(
        ([address]) => addressActor(contextOf(before).id, address as Address) === to,
      )?.[1];
      return member?.retiring === false && (event as { policy: string }).policy === 'Retain';
    }),

  'an address is created only after the list, by one call': ({ event, after }) =>
    !started(after, 'create') || event.type === 'xstate.done.actor.intend',

  'a creation knows what there was before, and that nothing is in doubt': ({ after }) =>
    after.starts.every(
      ({ job, input }) => job !== 'create' || ((input as CreateInput).inDoubtUntil === null && contextOf(after).acquiring.intent !== null),
    ),

  'a creation that was cut off is looked up, from the time at which the list can tell': ({ before, after }) => {
    const wasOpen = inside(before, 'Creating') && !inside(after, 'Creating');
    const { intent, inDoubtUntil, unpublished } = contextOf(after).acquiring;
    return !wasOpen || intent === null || unpublished !== null || inDoubtUntil !== null;
  },

  'whoever lists or creates holds the right to': ({ after }) =>
    !['Intending', 'Creating', 'Reconciling'].some((state) => inside(after, state)) || rightTaken(contextOf(after)).includes(CREATE_CLAIM),

  'no creation begins while another pool has that right': ({ before, after }) =>
    !started(after, 'intendCreate') || !contextOf(after).fullNodes.includes(CREATE_CLAIM) || inside(before, 'Intending'),

  'nothing is created while it is unclear what was': ({ after }) =>
    contextOf(after).acquiring.unclear.length === 0 || !(started(after, 'create') || started(after, 'intendCreate')),

  'an address stands in the spec before it is used': ({ after }) => {
    const { spec, acquiring } = contextOf(after);
    const listed = [...(spec?.ips ?? []), ...acquiring.published].map((address) => addressActor(contextOf(after).id, address));
    return spawned(after).every((actor) => listed.includes(actor));
  },

  'a pool that is deleted or has no valid spec starts nothing and grants nothing': ({ after }) =>
    (!contextOf(after).deleted && contextOf(after).error === null) ||
    // But what became of a creation that was under way is found out, and told or published.
    (after.starts.every(({ job }) => ['reconcileCreate', contextOf(after).deleted ? 'announce' : 'publish'].includes(job)) &&
      !inside(after, 'Intending') &&
      !inside(after, 'Creating') &&
      spawned(after).length === 0 &&
      grantsOf(after).length === 0),

  'a time for the next grant is told exactly while it is awaited, by a timer': ({ before, after }) => {
    const awaits = inside(after, 'Spacing');
    const moves = contextOf(before).grantAt !== contextOf(after).grantAt;
    return awaits === (contextOf(after).grantAt !== null) && (!awaits || !moves || after.delays.length > 0);
  },

  'an address hears nothing of a node that keeps it': ({ event, after }) =>
    sends(after, 'NODE_OBSERVED').every(({ event: told }) => {
      const { name, eligible } = told as NodeObserved;
      return eligible || keeping(contextOf(after), event.at).every((node) => node.name !== name);
    }),

  'time to come back is given only to a node on which an address stands': ({ before, event, after }) =>
    isHeld(contextOf(after)) ||
    keeping(contextOf(after), event.at).every(({ name, providerID }) => {
      const isNew = contextOf(before).absent.every(({ node }) => node.name !== name || node.providerID !== providerID);
      const { members, candidates, leaving } = contextOf(before);
      const matched = [...candidates, ...leaving].some((node) => node.name === name && node.providerID === providerID);
      const serves = ({ node, holder, retiring, confirmed, eligible }: Member) =>
        !retiring && (confirmed ? eligible && node?.name === name && node.providerID === providerID : matched && holder === providerID);
      return !isNew || Object.values(members).some(serves);
    }),

  'a node that is absent is granted to nobody who is not on it': ({ after }) =>
    grantsOf(after).every(({ to, node: { name, providerID } }) => {
      const [, member] = memberOf(after, to);
      return contextOf(after).absent.every(({ node }) => node.name !== name) || member?.holder === providerID;
    }),

  'the next look at absent nodes is told exactly while it is awaited, by a timer': ({ before, after }) => {
    const awaits = JSON.stringify(after.snapshot.value).includes('"recovering":"Waiting"');
    const moves = contextOf(before).recoverAt !== contextOf(after).recoverAt;
    return awaits === (contextOf(after).recoverAt !== null) && (!awaits || !moves || after.delays.length > 0);
  },

  'nobody has time left when it is over, but only nodes that are known are given up': ({ event, after }) => {
    if (!event.type.startsWith('xstate.after.recovery.')) return true;
    const { members, absent } = contextOf(after);
    if (!isPrimed(contextOf(after))) return sends(after, 'NODE_OBSERVED').length === 0;
    const kept = keeping(contextOf(after), event.at).map(({ name }) => name);
    const isOver = ({ node, eligible }: Member) => node && eligible && absenceOf(absent, node) && !kept.includes(node.name);
    return !Object.values(members).some(isOver);
  },

  'a machine is asked for when it is time, and keeps nothing when it is gone': ({ event, after }) => {
    const { absent } = contextOf(after);
    const asked = after.starts.flatMap(({ job, input }) => (job === 'findNodes' ? (input as FindNodesInput).nodes : []));
    const gone = event.type === 'xstate.done.actor.findNodes' ? (event.output as FoundNodes).gone : [];
    return (
      asked.every((ref) => event.type === 'RESUME' || (absenceOf(absent, ref)?.askAt ?? event.at + 1) <= event.at) &&
      absent.every(({ node }) => !gone.includes(node.providerID))
    );
  },

  'a pool holds exactly while more nodes are absent than allowed, counted within the window when it begins': ({ before, event, after }) => {
    if (event.type !== 'CLUSTER_OBSERVED') return true;
    const { absent, held, spec: known } = contextOf(after);
    const rules = known?.safeHold ?? null;
    if (!rules) return !held;
    const counted = contextOf(before).held ? absent : absent.filter(({ since }) => event.at - since < rules.windowMs);
    return held === counted.length > rules.maxUnavailable;
  },

  'while a pool holds, an address hears only of a machine that is gone': ({ before, event, after }) =>
    !isHeld(contextOf(after)) ||
    sends(after, 'NODE_OBSERVED').every(({ event: told }) => {
      const { name, eligible } = told as NodeObserved;
      const gone = event.type === 'xstate.done.actor.findNodes' ? (event.output as FoundNodes).gone : [];
      return eligible || contextOf(before).absent.some(({ node }) => node.name === name && gone.includes(node.providerID));
    }),

  'a node that is about to go is granted to nobody who is not on it': ({ after }) =>
    grantsOf(after).every(({ to, node: { name, providerID } }) => {
      const [, member] = memberOf(after, to);
      return contextOf(after).leaving.every((node) => node.name !== name) || member?.holder === providerID;
    }),

  'no more addresses leave a node that is about to go than there are nodes for them': ({ after }) => {
    const { leaving, candidates, members } = contextOf(after);
    const goes = (name: string) => leaving.some((node) => node.name === name);
    const told = sends(after, 'NODE_OBSERVED').filter(
      ({ event }) => !(event as NodeObserved).eligible && goes((event as NodeObserved).name),
    );
    const taken = Object.values(members).flatMap(({ node }) => (node ? [node.name] : []));
    return told.length <= candidates.filter(({ name }) => !taken.includes(name)).length;
  },

  'nobody stays on a node that is about to go who could leave it now': ({ event, after }) =>
    !inside(after, 'Serving') || !isPrimed(contextOf(after)) || decideGrants(contextOf(after), event.at).reliefs.length === 0,

  'an address that is left to somebody else is not moved before its time': ({ before, event, after }) =>
    grantsOf(after).every(({ to, node }) => {
      const [address, member] = memberOf(before, to);
      if (!member) return true;
      const rules = contextOf(after).spec?.contention ?? null;
      const contest = isTakenAway(member, event, address) ? moved(member.contest, rules, event.at) : member.contest;
      const holder = event.type === 'READY' && event.address === address ? event.holder : member.holder;
      return holder === node.providerID || restsUntil(contest, rules, event.at) === null;
    }),

  'only what somebody else moved counts, and only then, as often as the rule says, is an address left to them': ({
    before,
    event,
    after,
  }) =>
    Object.entries(contextOf(after).members).every(([address, { contest }]) => {
      const member = contextOf(before).members[address as Address];
      const moves = contextOf(after).spec?.contention?.moves ?? 0;
      const rests = member !== undefined && member.contest.restsSince !== null;
      if (contest.restsSince !== null && !rests && contest.moves.length < moves) return false;
      const isNews = contest.moves.length > (member?.contest.moves.length ?? 0);
      return !isNews || (member !== undefined && (rests || isTakenAway(member, event, address)));
    }),

  'a pool that is paused grants only where an address stands, and creates, gives up and publishes nothing': ({ event, after }) => {
    if (!isPaused(contextOf(after)) || contextOf(after).deleted) return true;
    const stands = grantsOf(after).every(({ to, node }) => memberOf(after, to)[1]?.holder === node.providerID);
    const begins = event.type !== 'RESUME' && started(after, 'intendCreate');
    return stands && !begins && [...sends(after, 'RETIRE'), ...sends(after, 'RECORDS_WANTED')].length === 0;
  },

  'while a pool is paused, only an address that is on its way hears of its node, and only that it is to stay where it is': ({
    before,
    after,
  }) =>
    !isPaused(contextOf(after)) ||
    sends(after, 'NODE_OBSERVED').every(({ to, event: told }) => {
      const member = memberOf(before, to)[1];
      return member !== undefined && !member.confirmed && !(told as NodeObserved).eligible;
    }),

  'an address leaves a node that it could keep only for the node on which somebody wants it': ({ before, after }) =>
    sends(after, 'NODE_OBSERVED').every(({ to, event: told }) => {
      const { name, eligible } = told as NodeObserved;
      const { candidates, marks, members } = contextOf(after);
      if (eligible || isPaused(contextOf(after)) || candidates.every((node) => node.name !== name)) return true;
      const [address] = memberOf(before, to);
      const taken = Object.values(members).flatMap(({ node }) => (node ? [node.name] : []));
      const isFree = (node: string) => candidates.some((each) => each.name === node) && taken.filter((each) => each === node).length <= 1;
      return (marks?.moves ?? []).some((move) => move.address === address && move.begun && isFree(move.node));
    }),

  'a request is answered once, and counts as done only where the address was confirmed': ({ before, after }) =>
    (contextOf(after).marks?.moves ?? []).every(({ text, address, node, answer }) => {
      const former = contextOf(before).marks?.moves?.find((move) => move.text === text)?.answer ?? null;
      if (former !== null) return JSON.stringify(answer) === JSON.stringify(former);
      const member = contextOf(after).members[address as Address];
      return answer?.done !== true || (member?.confirmed === true && member.node?.name === node);
    }),

  'nobody waits who could be granted a node now': ({ event, after }) =>
    !inside(after, 'Serving') || !isPrimed(contextOf(after)) || decideGrants(contextOf(after), event.at).grants.length === 0,
};

export const brokenByPool = (edge: Edge): readonly string[] =>
  Object.entries(POOL_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
