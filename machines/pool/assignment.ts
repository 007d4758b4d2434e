import type { Address, Candidate, ErrorKind, NodeRef, Place, ProviderID } from '../model/types.ts';
import type { Contest } from '../policy/contention.ts';
import { NodeQueue } from './node-queue.ts';

/** State of one of its addresses in the pool. */
export interface Member {
  /** The address's place in line: lower goes first among equals. */
  readonly rank: number;
  /** True while the address waits for a node. */
  readonly ready: boolean;
  /** Holder at the provider, as far as known; null for none. */
  readonly holder: ProviderID | null;
  readonly region: string;
  /** The node that was granted or holds it, and was not given back. */
  readonly node: NodeRef | null;
  /** Name of the node to which an assign sent before the records were lost may be under way; absent for none. No other address may have it before this address has reported
   *  that the assign is over. */
  readonly toward?: string;
  /** Where the provider last confirmed the address, as long as it has not left: no other address may have this node. */
  readonly stands: NodeRef | null;
  /** True once the provider confirmed the address on `node`. */
  readonly confirmed: boolean;
  /** Whether `node` was eligible according to the last message to the address. */
  readonly eligible: boolean;
  /** True once the address has reported its state since it was started. */
  readonly heard: boolean;
  /** The refusal that it got when it had to leave its node and another node did not take it; absent while none has refused it since. */
  readonly refused?: { readonly node: string; readonly kind: ErrorKind; readonly message: string };
  /** Whether another controller also moves it. */
  readonly contest: Contest;
  /** Where it was found, as long as it is not owned (see isOwn); absent once it is. */
  readonly adopts?: Place;
  /** True from the moment the address is no longer wanted until it is released. */
  readonly retiring: boolean;
  /** It was notified that it must be on no node; absent for no. */
  readonly parked?: boolean;
}

export interface GrantInput {
  readonly members: Readonly<Record<Address, Member>>;
  /** Eligible nodes, the next one first. */
  readonly candidates: readonly Candidate[];
  /** Nodes that may keep their current address, but get no other. */
  readonly keeping: readonly Candidate[];
  /** Nodes that are about to go: an address on one of them stays until another node is available. */
  readonly leaving: readonly Candidate[];
  /** Nodes that other pools hold. */
  readonly fullNodes: readonly string[];
  /** Node name → times (ms since the epoch) before which it is not retried; `urgentAt`: for addresses that are not on a node about to go. */
  readonly backOff: Readonly<Record<string, { readonly until: number; readonly urgentAt?: number }>>;
  /** Provider IDs of nodes that hold an address that is not a member: tried last. */
  readonly occupied: readonly ProviderID[];
  /** Time (ms since the epoch) before which an address is not moved, because another controller wants it elsewhere. */
  readonly resting: Readonly<Record<Address, number>>;
  readonly coolOffMs: number;
  readonly lastAssignmentAt: number | null;
  /** A pool whose assignments are spaced with this one's has an unconfirmed grant; absent for false. */
  readonly othersTurn?: boolean;
  /** Requested nodes for addresses that could stay where they are; absent for none. */
  readonly wishes?: Readonly<Record<Address, string>>;
}

export interface Grant {
  readonly address: Address;
  readonly node: Candidate;
}

export interface Grants {
  readonly grants: readonly Grant[];
  /** Addresses that serve on a node about to go, and the nodes that they would be granted if they left now. */
  readonly reliefs: readonly Grant[];
  /** When time alone may allow another grant, ms since the epoch; null when only a fact can. */
  readonly nextAt: number | null;
}

/** Which address gets which node now. An address already on a free node that is eligible, or may keep it, keeps it before anything else: no cloud call is needed; an address
 *  whose eligible node is about to be released by another address of the pool waits for it. The rest pair the heads of two lines: addresses (unattached first, then by rank)
 *  and nodes (unoccupied first, then in queue order; in the address's region, not held by another pool, not in back-off, not held by an address that was just started and has
 *  not reported). An address that rests keeps its node and is not moved. Addresses on nodes about to go come last in line, and stay where they are when no node is left for
 *  them. With a cool-off at most one grant is unconfirmed, and the next one comes no sooner than the cool-off after the last confirmed assignment. An address with a requested
 *  node leaves its own only for that one. Source: FLIPOP's assignment queue. */
export function grants(input: GrantInput, at: number): Grants {
  const taken = new Set(Object.values(input.members).flatMap(({ node, toward }) => node?.name ?? toward ?? []));
  const waiting = Object.entries(input.members)
    .filter(([, member]) => member.ready && !member.retiring)
    .map(([address, member]) => ({ address: address as Address, member }));
  const { wishes = {} } = input;
  const rests = ({ address }: Waiter): boolean => (input.resting[address] ?? at) > at;
  const kept = keepers(
    input,
    [...input.candidates, ...input.keeping],
    waiting.filter((waiter) => wishes[waiter.address] === undefined || rests(waiter)),
    taken,
  );
  for (const { node } of kept) taken.add(node.name);
  const keeping = new Set(kept.map(({ address }) => address));
  const awaited = waiting.length > keeping.size ? awaitedAmong(input) : new Set<ProviderID>();
  const open = waiting
    .filter(({ address, member: { holder } }) => !keeping.has(address) && (holder === null || !awaited.has(holder)))
    .sort(inLine);
  const leaving = leaversOf(input);
  const leavers = [...leaving, ...wishersAmong(input, leaving)].filter(({ member }) => !member.ready);
  const movers = [...open, ...leavers].filter((waiter) => !rests(waiter));
  const rested = [...open, ...leavers].filter(rests).map(({ address }) => input.resting[address] ?? at);
  const paired = pairs(input, movers, taken, at);
  const moved = paired.grants.filter(({ address }) => input.members[address]?.ready);
  // An address that has not reported its state may be next in line; an address that left its node for that place would then have none.
  const isHeard = Object.values(input.members).every(({ heard, retiring }) => heard || retiring);
  const reliefs = paired.grants.filter(({ address }) => isHeard && !input.members[address]?.ready && input.members[address]?.eligible);
  const going = new Set(moved.map(({ address }) => address));
  const left = open.filter(({ address }) => !going.has(address));
  for (const { node } of moved) taken.add(node.name);
  const staying = keepers(input, input.leaving, left, taken);
  const times = [paired.nextAt ?? [], ...rested].flat();
  return { grants: [...kept, ...moved, ...staying], reliefs, nextAt: times.length > 0 ? Math.min(...times) : null };
}

/** Addresses confirmed on a node that is about to go, in line. */
const leaversOf = ({ members, leaving }: GrantInput): readonly Waiter[] => {
  if (leaving.length === 0) return [];
  const going = new Map(leaving.map(({ name, providerID }) => [name, providerID]));
  return Object.entries(members)
    .map(([address, member]) => ({ address: address as Address, member }))
    .filter(({ member: { node, confirmed, retiring } }) => node && confirmed && !retiring && going.get(node.name) === node.providerID)
    .sort(inLine);
};

/** Addresses confirmed on a node that they could keep, but requested on another one. */
const wishersAmong = (input: GrantInput, leaving: readonly Waiter[]): readonly Waiter[] => {
  const leavers = new Set(leaving.map(({ address }) => address));
  return (Object.keys(input.wishes ?? {}) as Address[])
    .flatMap((address) => {
      const member = input.members[address];
      return member?.confirmed && !leavers.has(address) ? [{ address, member }] : [];
    })
    .sort(inLine);
};

/** Eligible nodes that a retiring address has not released yet, or to which one may be on its way: an address on such a node need not move. */
function awaitedAmong({ members, candidates, keeping }: GrantInput): ReadonlySet<ProviderID> {
  const names = new Set(
    Object.values(members).flatMap(({ retiring, node, toward }) => [retiring && node ? node.name : [], toward ?? []].flat()),
  );
  const nodes = names.size === 0 ? [] : [...candidates, ...keeping];
  return new Set(nodes.filter(({ name }) => names.has(name)).map(({ providerID }) => providerID));
}

interface Waiter {
  readonly address: Address;
  readonly member: Member;
}

const inLine = (a: Waiter, b: Waiter): number =>
  Number(a.member.holder !== null) - Number(b.member.holder !== null) || a.member.rank - b.member.rank || (a.address < b.address ? -1 : 1);

/** Addresses that are on one of the nodes and may keep it. */
function keepers(input: GrantInput, nodes: readonly Candidate[], waiting: readonly Waiter[], taken: ReadonlySet<string>): Grant[] {
  if (waiting.length === 0) return [];
  const free = new Map(nodes.filter(({ name }) => !taken.has(name)).map((node) => [node.providerID, node]));
  const full = new Set(input.fullNodes);
  const kept: Grant[] = [];
  for (const { address, member } of [...waiting].sort(inLine)) {
    const node = member.holder === null ? undefined : free.get(member.holder);
    if (!node || (full.has(node.name) && member.stands?.name !== node.name)) continue;
    free.delete(node.providerID);
    kept.push({ address, node });
  }
  return kept;
}

function pairs(input: GrantInput, movers: readonly Waiter[], taken: ReadonlySet<string>, at: number): Pick<Grants, 'grants' | 'nextAt'> {
  // Called on every event, also in pools with thousands of nodes; usually no address waits.
  if (movers.length === 0) return { grants: [], nextAt: null };
  const full = new Set(input.fullNodes);
  const standing = new Map(
    Object.entries(input.members).flatMap(([address, { stands }]) => (stands ? [[stands.name, address as Address] as const] : [])),
  );
  const occupied = new Set([...input.occupied, ...heldAside(input.members)]);
  const unheard = new Set(Object.values(input.members).flatMap(({ heard, holder }) => (heard ? [] : (holder ?? []))));
  // A node where an assign has failed is retried when no other node is free.
  const hasFailed = ({ name }: Candidate): boolean => Object.hasOwn(input.backOff, name);
  const free = input.candidates
    .filter(({ name, providerID }) => !taken.has(name) && !full.has(name) && !unheard.has(providerID))
    .sort((a, b) => Number(hasFailed(a)) - Number(hasFailed(b)));
  const line = [
    ...free.filter(({ providerID }) => !occupied.has(providerID)),
    ...free.filter(({ providerID }) => occupied.has(providerID)),
  ];
  const hasTime = ({ member }: Waiter): boolean => !member.ready || standsOn(input.leaving, member);
  const untilOf = (name: string): number => input.backOff[name]?.until ?? 0;
  const waiting = { line, standing, wishes: input.wishes ?? {}, spacing: spacingOf(input, at) };
  const urgent = paired(
    { ...waiting, movers: movers.filter((mover) => !hasTime(mover)) },
    at,
    (name) => input.backOff[name]?.urgentAt ?? untilOf(name),
  );
  const gone = new Set(urgent.grants.map(({ node }) => node.name));
  const calm = paired(
    {
      ...waiting,
      movers: movers.filter(hasTime),
      line: line.filter(({ name }) => !gone.has(name)),
      spacing: { ...waiting.spacing, room: waiting.spacing.room - gone.size },
    },
    at,
    untilOf,
  );
  const times = [...urgent.times, ...calm.times];
  return { grants: [...urgent.grants, ...calm.grants], nextAt: times.length > 0 ? Math.min(...times) : null };
}

interface Pairing {
  readonly movers: readonly Waiter[];
  readonly line: readonly Candidate[];
  readonly standing: ReadonlyMap<string, Address>;
  readonly wishes: Readonly<Record<Address, string>>;
  readonly spacing: ReturnType<typeof spacingOf>;
}

/** Pairs each mover with the first node that it may have and that is not in back-off; for those without one, the times at which one may become available. */
function paired(
  { movers, line, standing, wishes, spacing }: Pairing,
  at: number,
  untilOf: (name: string) => number,
): { readonly grants: readonly Grant[]; readonly times: readonly number[] } {
  if (movers.length === 0) return { grants: [], times: [] };
  const open = line.filter(({ name }) => untilOf(name) <= at);
  const queue = new NodeQueue(open, standing);
  const grants: Grant[] = [];
  for (const { address, member } of movers) {
    if (grants.length >= spacing.room || queue.size === 0) break;
    const node = queue.take(address, member.region, wishes[address]);
    if (node) grants.push({ address, node });
  }
  if (grants.length === movers.length) return { grants, times: [] };
  if (spacing.opensAt !== null && queue.size > 0) return { grants, times: [spacing.opensAt] };
  return { grants, times: line.map(({ name }) => untilOf(name)).filter((until) => until > at) };
}

export const standsOn = (nodes: readonly Candidate[], { stands }: Member): boolean =>
  stands !== null && nodes.some(({ name, providerID }) => name === stands.name && providerID === stands.providerID);

/** Holders of addresses that neither wait nor hold a node: they recover from an error, or are retiring. */
const heldAside = (members: GrantInput['members']): readonly ProviderID[] =>
  Object.values(members).flatMap((member) => (member.holder && !member.node && (!member.ready || member.retiring) ? [member.holder] : []));

/** An assign of the address may be under way: its granted node is not confirmed, or such an assign was sent before the records were lost. */
export const isUnderWay = ({ node, confirmed, toward }: Member): boolean => (node ? !confirmed : toward !== undefined);

/** How many grants the cool-off allows now, and when it allows the next one if time alone decides. */
export function spacingOf(
  input: Pick<GrantInput, 'members' | 'coolOffMs' | 'lastAssignmentAt' | 'othersTurn'>,
  at: number,
): { room: number; opensAt: number | null } {
  if (input.coolOffMs === 0) return { room: Number.POSITIVE_INFINITY, opensAt: null };
  if (Object.values(input.members).some(isUnderWay) || input.othersTurn) return { room: 0, opensAt: null };
  const opensAt = input.lastAssignmentAt === null ? 0 : Math.min(input.lastAssignmentAt, at) + input.coolOffMs;
  return opensAt > at ? { room: 0, opensAt } : { room: 1, opensAt: null };
}
