import { type BackoffTables, backoffMs } from './backoff.ts';
import type {
  Assigned,
  ClaimsObserved,
  ClusterObserved,
  Decision,
  Effect,
  Failed,
  ProviderObserved,
  Ready,
  SpecObserved,
} from './events.ts';
import type { Member } from './grants.ts';
import type { AddressInput } from './ip.ts';
import type { ObjectRef } from './jobs.ts';
import { matching, queryOf } from './match.ts';
import type { ActorId, Address, Candidate, JobFailure, NodeRef, ObservedAddress, ProviderID } from './types.ts';
import { checkPoolSpec, type PoolSpec } from './validate.ts';

/** What a pool remembers: the least that decides. */
export interface PoolContext {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  readonly generation: number;
  /** The last valid spec; null before the first one. */
  readonly spec: PoolSpec | null;
  /** Why the present spec is not valid; null when it is. */
  readonly error: string | null;
  /** Addresses of the spec that belong to an older pool, by its name. */
  readonly conflicts: Readonly<Record<Address, string>>;
  /** The selectors under which `candidates` were found; null before the first fact. */
  readonly query: string | null;
  /** Eligible nodes, the next one first. */
  readonly candidates: readonly Candidate[];
  readonly members: Readonly<Record<Address, Member>>;
  /** Provider of the present members. */
  readonly provider: string;
  readonly nextRank: number;
  /** By node: when it is tried again, and the failures so far. */
  readonly backOff: Readonly<Record<string, NodeBackOff>>;
  /** Nodes that others hold. `#create` among them: another pool is creating an address. */
  readonly fullNodes: readonly string[];
  /** What the provider reported of all addresses of the token when it was last told; null before. Used to start addresses, then dropped. */
  readonly provided: Readonly<Record<Address, ObservedAddress>> | null;
  /** Holders of addresses that are no members, as last reported. */
  readonly occupied: readonly ProviderID[];
  readonly lastAssignmentAt: number | null;
  readonly acquiring: Acquiring;
  /** Addresses that this pool created, wanted or not: used again before another is created. */
  readonly created: readonly Address[];
  readonly remembered: Readonly<Record<Address, { readonly epoch: number; readonly inDoubtUntil: number | null }>>;
  /** The time for which the next grant is set; null for none. */
  readonly grantAt: number | null;
  readonly deleted: boolean;
}

export interface NodeBackOff {
  /** When it began; absent in records of before. */
  readonly since?: number;
  readonly until: number;
  readonly attempts: number;
}

/** How far the creation of an address has come. */
export interface Acquiring {
  /** True while the addresses that exist are listed before a creation: from there on nobody else may create. */
  readonly intending: boolean;
  /** Written before the call; null while none is under way. Kept while `unclear`, so that a rebuild finds the same. */
  readonly intent: { readonly knownAddresses: readonly Address[]; readonly listedAt: number; readonly region: string } | null;
  /** Time (ms since the epoch) from which a list can tell what became of the call; null before the call. */
  readonly inDoubtUntil: number | null;
  /** Exists at the provider, but does not stand in `spec.ips` yet. */
  readonly unpublished: Address | null;
  /** Published, but not yet seen in an observed spec. */
  readonly published: readonly Address[];
  /** More than one address may be ours: a person decides. */
  readonly unclear: readonly Address[];
  readonly failure: JobFailure | null;
  readonly attempts: number;
  readonly until: number | null;
}

export interface PoolInput {
  readonly id: ActorId;
  readonly ref: ObjectRef;
  /** What the object's status remembers, when the records were lost. */
  readonly remembered?: RememberedPool;
}

export interface RememberedPool {
  readonly lastAssignmentAt: number | null;
  readonly intent: Acquiring['intent'];
  /** Time (ms since the epoch) until which a creation that was under way may still take effect. */
  readonly inDoubtUntil: number;
  readonly created: readonly Address[];
  readonly addresses: PoolContext['remembered'];
}

export interface PoolSettings {
  readonly backoff: BackoffTables;
  readonly callDeadlineMs: number;
}

/** Stands in the claims for the right to create an address: lists from before and after tell a new one only while nobody else creates. */
export const CREATE_CLAIM = '#create';

/** Stands in the claims for an address: one actor runs it at a time. A pool that is to have an address of another one waits until that one let it go. */
export const addressClaim = (address: Address): string => `@${address}`;

export const NOT_ACQUIRING: Acquiring = {
  intending: false,
  intent: null,
  inDoubtUntil: null,
  unpublished: null,
  published: [],
  unclear: [],
  failure: null,
  attempts: 0,
  until: null,
};

export const poolContext = ({ id, ref, remembered }: PoolInput): PoolContext => ({
  id,
  ref,
  generation: 0,
  spec: null,
  error: null,
  conflicts: {},
  query: null,
  candidates: [],
  members: {},
  provider: '',
  nextRank: 1,
  backOff: {},
  fullNodes: [],
  provided: null,
  occupied: [],
  lastAssignmentAt: remembered?.lastAssignmentAt ?? null,
  acquiring: { ...NOT_ACQUIRING, ...(remembered?.intent && { intent: remembered.intent, inDoubtUntil: remembered.inDoubtUntil }) },
  created: remembered?.created ?? [],
  remembered: remembered?.addresses ?? {},
  grantAt: null,
  deleted: false,
});

export type Next = Decision<PoolContext>;
export const next = (context: PoolContext, effects: readonly Effect[] = []): Next => ({ context, effects });

export const addressActor = (pool: ActorId, address: Address): ActorId => `${pool}/ip/${address}`;

export const tell = (
  context: PoolContext,
  address: Address,
  event: { readonly type: string; readonly [field: string]: unknown },
): Effect => ({
  type: 'tell',
  params: { to: addressActor(context.id, address), event },
});

// ---------------------------------------------------------------- claims about the pool

export const isValid = ({ spec, error }: PoolContext): boolean => spec !== null && error === null;

/** Everything that has to be known before anything moves: a valid spec, the nodes and pods under its selectors, and the provider. */
export const isPrimed = (context: PoolContext): boolean =>
  isValid(context) && context.provided !== null && context.spec !== null && context.query === queryOf(context.spec.match);

/** The addresses that the spec asks for: those it lists, up to the number it wants, with those just published. */
export const listed = ({ spec, acquiring }: PoolContext): readonly Address[] =>
  spec ? [...spec.ips, ...acquiring.published.filter((address) => !spec.ips.includes(address))] : [];

export const wanted = (context: PoolContext): readonly Address[] =>
  listed(context)
    .slice(0, context.spec?.desired ?? 0)
    .filter((address) => context.conflicts[address] === undefined);

const lacks = (context: PoolContext): boolean => listed(context).length < (context.spec?.desired ?? 0);

export const lacksAddress = (context: PoolContext): boolean =>
  isPrimed(context) && lacks(context) && context.acquiring.unclear.length === 0 && !context.fullNodes.includes(CREATE_CLAIM);

/** A creation is under way, or its outcome has to be looked up. */
export const isCreating = ({ intent, unclear }: Acquiring): boolean => intent !== null && unclear.length === 0;

/** An address of ours that the spec lost, e.g. when a manifest was applied again. */
export const spare = (context: PoolContext): Address | null =>
  context.created.find((address) => !listed(context).includes(address)) ?? null;

const memberless = (context: PoolContext, address: Address): boolean => context.members[address] === undefined;

// ---------------------------------------------------------------- facts

/** Takes the spec over when it is valid, else only says why not: what is assigned stays. Its nodes count as unknown from then on: an invalid selector
 *  watches nothing, so what was known of them ages unseen until they are told again. */
export function observeSpec(context: PoolContext, event: SpecObserved): Next {
  if (event.generation < context.generation) return next(context);
  const checked = checkPoolSpec(event.spec, event.registry);
  const { conflicts } = event;
  if (!checked.spec) return next({ ...context, generation: event.generation, conflicts, error: checked.error, query: null });
  const { spec } = checked;
  const published = context.acquiring.published.filter((address) => !spec.ips.includes(address));
  const settled = context.acquiring.unclear.some((address) => spec.ips.includes(address));
  const acquiring = { ...context.acquiring, published, ...(settled && { unclear: [], intent: null }) };
  const observed = { ...context, generation: event.generation, spec, conflicts, error: null, acquiring };
  // What kept an address from being created is no trouble any more once none is missing.
  return staff(lacks(observed) ? observed : { ...observed, acquiring: { ...acquiring, failure: null, attempts: 0 } });
}

/** Puts the matching nodes in line: those known keep their places, new ones join by name. Tells each address whose node changed, and forgets the
 *  back-off of nodes that are gone. */
export function observeCluster(context: PoolContext, event: ClusterObserved): Next {
  const { spec } = context;
  if (!spec || event.query !== queryOf(spec.match)) return next(context);
  const found = matching(event.nodes, event.pods, spec.match).filter(({ providerID }) => providerID.startsWith(spec.providerIDPrefix));
  const byName = new Map(found.map((node) => [node.name, node]));
  const known = context.candidates.flatMap(({ name }) => byName.get(name) ?? []);
  const names = new Set(known.map(({ name }) => name));
  const candidates = [...known, ...found.filter(({ name }) => !names.has(name))];
  const there = new Set(event.nodes.map(({ name }) => name));
  const backOff = Object.fromEntries(Object.entries(context.backOff).filter(([name]) => there.has(name)));
  return staff(tellMembers({ ...context, query: event.query, candidates, backOff }));
}

/** What the provider reports of all addresses: lets the members that wait for it start. */
export function observeProvider(context: PoolContext, event: ProviderObserved): Next {
  const provided = Object.fromEntries(event.addresses.map((observed) => [observed.address, observed]));
  return staff({ ...context, provided, occupied: occupiedBy(context, event.addresses) });
}

/** After a load: the nodes may have changed since, and are told again. Nothing is granted or created before. */
export const forgetFacts = (context: PoolContext): Next => next({ ...context, query: null });

export const observeClaims = (context: PoolContext, event: ClaimsObserved): Next => staff({ ...context, fullNodes: event.fullNodes });

const occupiedBy = (context: PoolContext, observed: readonly ObservedAddress[]): readonly ProviderID[] => {
  const members = new Set<string>(wanted(context));
  return observed.flatMap(({ address, providerID }) => (providerID && !members.has(address) ? [providerID] : [])).sort();
};

function tellMembers(context: PoolContext): Next {
  const effects: Effect[] = [];
  const members: Record<Address, Member> = { ...context.members };
  const eligible = new Set(context.candidates.map(({ name, providerID }) => `${name} ${providerID}`));
  for (const [address, member] of entries(context.members)) {
    if (!member.node) continue;
    const now = eligible.has(`${member.node.name} ${member.node.providerID}`);
    if (now === member.eligible) continue;
    members[address] = { ...member, eligible: now };
    effects.push(tell(context, address, { type: 'NODE_OBSERVED', name: member.node.name, eligible: now }));
  }
  return next({ ...context, members }, effects);
}

const entries = (members: PoolContext['members']): [Address, Member][] => Object.entries(members) as [Address, Member][];

// ---------------------------------------------------------------- members

/** Starts an address for each one wanted, retires those not wanted any more. Does nothing before the provider was read. */
export function staff(input: PoolContext | Next): Next {
  const { context, effects } = 'context' in input ? input : next(input);
  if (!isPrimed(context) || !context.spec || context.deleted) return next(context, effects);
  const goal = new Set(Object.keys(context.members).length === 0 || context.provider === context.spec.provider ? wanted(context) : []);
  const retired = entries(context.members).filter(([address, member]) => !goal.has(address) && !member.retiring);
  const members: Record<Address, Member> = { ...context.members };
  const added: Effect[] = [];
  for (const [address, member] of retired) {
    members[address] = { ...member, retiring: true, ready: false };
    added.push(tell(context, address, { type: 'RETIRE', policy: 'Retain' }));
  }
  let rank = context.nextRank;
  for (const address of goal) {
    if (!memberless(context, address) || context.fullNodes.includes(addressClaim(address))) continue;
    members[address] = newMember(rank, context.provided?.[address] ?? null);
    rank += 1;
    added.push({ type: 'spawn', params: { chart: 'ip', id: addressActor(context.id, address), input: addressInput(context, address) } });
  }
  return next({ ...context, members, nextRank: rank, provider: context.spec.provider, provided: {}, remembered: {} }, [
    ...effects,
    ...added,
  ]);
}

const newMember = (rank: number, observed: ObservedAddress | null): Member => ({
  rank,
  ready: false,
  holder: observed?.providerID ?? null,
  region: observed?.region ?? '',
  node: null,
  stands: null,
  confirmed: false,
  eligible: false,
  retiring: false,
});

function addressInput(context: PoolContext, address: Address): AddressInput {
  const remembered = context.remembered[address];
  return {
    id: addressActor(context.id, address),
    pool: context.id,
    provider: context.spec?.provider ?? '',
    address,
    origin: context.created.includes(address) ? 'Created' : 'Found',
    observed: context.provided?.[address] ?? null,
    ...(remembered && { remembered }),
  };
}

const withMember = (context: PoolContext, address: Address, change: Partial<Member>): PoolContext => {
  const member = context.members[address];
  return member ? { ...context, members: { ...context.members, [address]: { ...member, ...change } } } : context;
};

/** The address wants a node. One that lost its node goes to the end of the line, so that a recovering node can get its own address back;
 *  a node that lost its address while it matches goes to the head of its line. */
export function onReady(context: PoolContext, { address, holder, region }: Ready): Next {
  const member = context.members[address];
  if (!member || member.retiring) return next(context);
  const rank = member.node ? context.nextRank : member.rank;
  const freed = freeNode(context, member.node, holder);
  return next({
    ...withMember(freed, address, {
      ready: true,
      holder,
      region,
      node: null,
      stands: standsStill(member, holder),
      confirmed: false,
      eligible: false,
      rank,
    }),
    nextRank: Math.max(context.nextRank, rank + 1),
  });
}

const standsStill = ({ stands }: Member, holder: ProviderID | null): NodeRef | null =>
  stands && stands.providerID === holder ? stands : null;

const freeNode = (context: PoolContext, node: NodeRef | null, holder: ProviderID | null): PoolContext => {
  if (!node || node.providerID === holder) return context;
  const freed = context.candidates.filter(({ name }) => name === node.name);
  return { ...context, candidates: [...freed, ...context.candidates.filter(({ name }) => name !== node.name)] };
};

/** The provider confirmed the address on the node. The cool-off counts from here, unless nothing was moved. */
export function onAssigned(context: PoolContext, { address, node, moved, at }: Assigned): Next {
  const { [node.name]: _, ...backOff } = context.backOff;
  const confirmed = withMember(context, address, { node, stands: node, confirmed: true, ready: false, holder: node.providerID });
  return next({ ...confirmed, backOff, lastAssignmentAt: moved ? at : context.lastAssignmentAt });
}

/** The address waits after an error. A grant given back puts the node in back-off as well, unless the error says nothing about the node. */
export const onFailed =
  ({ backoff }: PoolSettings) =>
  (context: PoolContext, { address, kind, returned, holder, at }: Failed): Next => {
    const member = context.members[address];
    if (!member) return next(context);
    const gone = kind === 'NotFound';
    const given = withMember(context, address, {
      holder,
      stands: standsStill(member, holder),
      ready: false,
      ...((returned || gone) && { node: null, confirmed: false, eligible: false, rank: context.nextRank }),
    });
    const ranked = { ...given, nextRank: context.nextRank + 1 };
    if (gone) return next(freeNode(ranked, member.node, null));
    if (!returned || kind === 'Unauthorized' || kind === 'RateLimited') return next(ranked);
    const attempts = (context.backOff[returned.name]?.attempts ?? 0) + 1;
    const until = at + backoffMs(backoff, { kind, retryAfterMs: null }, attempts);
    return next({ ...ranked, backOff: { ...context.backOff, [returned.name]: { since: at, until, attempts } } });
  };

export function onGone(context: PoolContext, { address }: { readonly address: Address }): Next {
  const member = context.members[address];
  if (!member) return next(context);
  const { [address]: _, ...members } = context.members;
  const occupied = member.holder ? [...new Set([...context.occupied, member.holder])].sort() : context.occupied;
  return staff(freeNode({ ...context, members, occupied }, member.node, null));
}

export function remove(context: PoolContext): Next {
  const effects = entries(context.members)
    .filter(([, member]) => !member.retiring)
    .map(([address]) => tell(context, address, { type: 'RETIRE', policy: 'Retain' }));
  const members = Object.fromEntries(
    entries(context.members).map(([address, member]) => [address, { ...member, retiring: true, ready: false }]),
  );
  return next({ ...context, members, deleted: true }, effects);
}

/** Claims of the pool itself; its addresses bear their own. */
export const claimedByPool = ({ acquiring }: PoolContext): readonly string[] =>
  acquiring.intending || isCreating(acquiring) ? [CREATE_CLAIM] : [];
