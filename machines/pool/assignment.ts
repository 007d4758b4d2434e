import type { Address, Candidate, ErrorKind, NodeRef, Place, ProviderID } from '../model/types.ts';
import type { Contest } from '../policy/contention.ts';
import { NodeQueue } from './node-queue.ts';

/** What the pool knows of one of its addresses. */
export interface Member {
  /** The address's place in line: lower goes first among equals. */
  readonly rank: number;
  /** True while the address waits for a node. */
  readonly ready: boolean;
  /** Who holds it at the provider, as far as known; null for nobody. */
  readonly holder: ProviderID | null;
  readonly region: string;
  /** The node that was granted or holds it and is not given back. */
  readonly node: NodeRef | null;
  /** Name of the node to which an assign may be under way that was sent before the records were lost; absent for none. Nobody else may have it before the
   *  address has said that it is over. */
  readonly toward?: string;
  /** Where the provider last confirmed the address, as long as it has not gone from there: nobody else may have this node. */
  readonly stands: NodeRef | null;
  /** True once the provider confirmed the address on `node`. */
  readonly confirmed: boolean;
  /** Whether `node` was eligible when the address was last told. */
  readonly eligible: boolean;
  /** True once the address has said where it stands since it was started. */
  readonly heard: boolean;
  /** What it was told when it was to leave the node on which it stands and another one did not take it; absent while none has refused it since. */
  readonly refused?: { readonly node: string; readonly kind: ErrorKind; readonly message: string };
  /** Whether somebody else moves it, too. */
  readonly contest: Contest;
  /** Where it was found, as long as it was never its owner's; absent for one that is. */
  readonly adopts?: Place;
  /** True from the moment the address is no longer wanted until it is released. */
  readonly retiring: boolean;
  /** It was told that somebody wants it on no node; absent for no. */
  readonly parked?: boolean;
}

export interface GrantInput {
  readonly members: Readonly<Record<Address, Member>>;
  /** Eligible nodes, the next one first. */
  readonly candidates: readonly Candidate[];
  /** Nodes that may keep an address that sits on them, but get none. */
  readonly keeping: readonly Candidate[];
  /** Nodes that are about to go: an address that is on one of them stays until another node can be had. */
  readonly leaving: readonly Candidate[];
  /** Nodes that other pools hold. */
  readonly fullNodes: readonly string[];
  /** Node name → times (ms since the epoch) before which it is not tried again; `urgentAt`: by addresses on no node that is about to go. */
  readonly backOff: Readonly<Record<string, { readonly until: number; readonly urgentAt?: number }>>;
  /** Providers' ids of nodes that hold an address which no member stands for: tried last. */
  readonly occupied: readonly ProviderID[];
  /** Time (ms since the epoch) before which an address is not moved: somebody else wants it elsewhere. */
  readonly resting: Readonly<Record<Address, number>>;
  readonly coolOffMs: number;
  readonly lastAssignmentAt: number | null;
  /** Somebody with whom assignments are spaced has a grant that is not confirmed yet; absent for false. */
  readonly othersTurn?: boolean;
  /** Nodes on which somebody wants an address that could stay where it is; absent for none. */
  readonly wishes?: Readonly<Record<Address, string>>;
}

export interface Grant {
  readonly address: Address;
  readonly node: Candidate;
}

export interface Grants {
  readonly grants: readonly Grant[];
  /** Addresses that serve on a node about to go, and the nodes that they would be granted if they left it now. */
  readonly reliefs: readonly Grant[];
  /** When time alone may allow another grant, ms since the epoch; null when only a fact can. */
  readonly nextAt: number | null;
}

/** Who gets which node now. An address that already sits on a free node that is eligible, or may keep it, keeps it, whatever else waits: no cloud call is needed for that; one
 *  whose eligible node is about to be let go of by another address of the pool waits for it.
 *  The rest pair the heads of two lines: addresses (unattached first, then by rank) and nodes (unoccupied first, then in queue order; of the
 *  address's region, not held by another pool, not in back-off, not held by an address that was just started and has not been heard).
 *  An address that rests keeps a node on which it sits, and is not moved. Addresses on nodes about to go come last in line, and stay where they are when no node is left for them. While a cool-off is set at most one grant is unconfirmed, and the next one comes
 *  no sooner than the cool-off after the last confirmed assignment. An address that somebody wants on a certain node leaves the one that it has for that one only. Source: FLIPOP's assignment queue. */
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
  // Whoever has not said yet where it stands may be next in line, and whoever has left its node by then would have none.
  const isHeard = Object.values(input.members).every(({ heard, retiring }) => heard || retiring);
  const reliefs = paired.grants.filter(({ address }) => isHeard && !input.members[address]?.ready && input.members[address]?.eligible);
  const going = new Set(moved.map(({ address }) => address));
  const left = open.filter(({ address }) => !going.has(address));
  for (const { node } of moved) taken.add(node.name);
  const staying = keepers(input, input.leaving, left, taken);
  const times = [paired.nextAt ?? [], ...rested].flat();
  return { grants: [...kept, ...moved, ...staying], reliefs, nextAt: times.length > 0 ? Math.min(...times) : null };
}

/** Those who were confirmed on a node that is about to go, in line. */
const leaversOf = ({ members, leaving }: GrantInput): readonly Waiter[] => {
  if (leaving.length === 0) return [];
  const going = new Map(leaving.map(({ name, providerID }) => [name, providerID]));
  return Object.entries(members)
    .map(([address, member]) => ({ address: address as Address, member }))
    .filter(({ member: { node, confirmed, retiring } }) => node && confirmed && !retiring && going.get(node.name) === node.providerID)
    .sort(inLine);
};

/** Those who were confirmed on a node that they could keep, and are wanted on another one. */
const wishersAmong = (input: GrantInput, leaving: readonly Waiter[]): readonly Waiter[] => {
  const leavers = new Set(leaving.map(({ address }) => address));
  return (Object.keys(input.wishes ?? {}) as Address[])
    .flatMap((address) => {
      const member = input.members[address];
      return member?.confirmed && !leavers.has(address) ? [{ address, member }] : [];
    })
    .sort(inLine);
};

/** Eligible nodes that an address on its way out has not let go of yet, or to which one may be on its way: an address that sits on one need not move. */
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

/** Those who sit on one of the nodes, and may have it. */
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
  // Asked of a pool with thousands of nodes whenever anything happens to it, and mostly nobody waits.
  if (movers.length === 0) return { grants: [], nextAt: null };
  const full = new Set(input.fullNodes);
  const standing = new Map(
    Object.entries(input.members).flatMap(([address, { stands }]) => (stands ? [[stands.name, address as Address] as const] : [])),
  );
  const occupied = new Set([...input.occupied, ...heldAside(input.members)]);
  const unheard = new Set(Object.values(input.members).flatMap(({ heard, holder }) => (heard ? [] : (holder ?? []))));
  // Where an assign has failed it is tried again when no other node is free.
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

/** Each mover with the first node that it may have and that is not left alone until later; and, for those without one, when time may give them one. */
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

/** Holders of addresses that neither wait nor hold a node: they recover from an error, or are on their way out. */
const heldAside = (members: GrantInput['members']): readonly ProviderID[] =>
  Object.values(members).flatMap((member) => (member.holder && !member.node && (!member.ready || member.retiring) ? [member.holder] : []));

/** An assign of the address may be under way: it was granted a node on which it is not confirmed, or was before the records were lost. */
export const isUnderWay = ({ node, confirmed, toward }: Member): boolean => (node ? !confirmed : toward !== undefined);

/** How many grants the cool-off lets through now, and when it lets the next one through if time alone decides. */
export function spacingOf(
  input: Pick<GrantInput, 'members' | 'coolOffMs' | 'lastAssignmentAt' | 'othersTurn'>,
  at: number,
): { room: number; opensAt: number | null } {
  if (input.coolOffMs === 0) return { room: Number.POSITIVE_INFINITY, opensAt: null };
  if (Object.values(input.members).some(isUnderWay) || input.othersTurn) return { room: 0, opensAt: null };
  const opensAt = input.lastAssignmentAt === null ? 0 : Math.min(input.lastAssignmentAt, at) + input.coolOffMs;
  return opensAt > at ? { room: 0, opensAt } : { room: 1, opensAt: null };
}
