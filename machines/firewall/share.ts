import { firewallOf } from '../model/actor-id.ts';
import { namespaceOf } from '../model/namespaces.ts';
import type { ActorId } from '../model/types.ts';
import { type Held, heldWithout, openable, unionOf } from './claims.ts';
import type { FirewallContext } from './context.ts';

/** Size of the reserve: of a firewall's last rules, a namespace gets one only while it has fewer rules than are free. */
const LAST_RULES = 10;

/** Ports by claimant: those that are open, and those requested. */
export type Asked = Readonly<Record<ActorId, { readonly ports: readonly string[] }>>;

/** Requested ports that a claimant may not have opened. */
interface BeyondShare {
  readonly ports: readonly string[];
  /** Rules that its namespace has. */
  readonly has: number;
  /** Rules that are free. */
  readonly free: number;
}

/** Claimants whose ports may not be opened: a claimant gets all that it lacks, or nothing. The namespace with the fewest rules comes first; within it the claimants that lack
 *  least, then by name. A rule counts for every namespace that claims it, and costs nothing when it is open already. What is open stays with its claimants. `free`: how many
 *  rules the firewall still accepts besides those that are `open`. */
export function beyondShare(asked: Asked, open: ReadonlySet<string>, free: number): ReadonlyMap<ActorId, BeyondShare> {
  const there = new Set(open);
  const lacks = (claimant: ActorId): readonly string[] => (asked[claimant]?.ports ?? []).filter((port) => !there.has(port));
  const beyond = new Map<ActorId, BeyondShare>();
  const namespaces = namespacesIn(asked, open);
  let left = free;
  for (let next = poorest(namespaces); next; next = poorest(namespaces)) {
    const claimant = next.waiting.shift();
    if (claimant === undefined) continue;
    const ports = lacks(claimant);
    const has = next.rules.size;
    if (ports.length === 0 || isWithinShare(has + ports.length, left - ports.length)) {
      left -= ports.length;
      for (const port of asked[claimant]?.ports ?? []) next.rules.add(port);
      for (const port of ports) there.add(port);
    } else beyond.set(claimant, { ports, has, free: left });
  }
  return beyond;
}

/** `has` and `free` are the counts after the claimant got what it lacks. */
const isWithinShare = (has: number, free: number): boolean => free >= LAST_RULES || (free >= 0 && has - 1 <= free);

interface Namespace {
  readonly name: string;
  /** Its ports that are open. */
  readonly rules: Set<string>;
  /** Its claimants that lack something. */
  readonly waiting: ActorId[];
}

function namespacesIn(asked: Asked, open: ReadonlySet<string>): readonly Namespace[] {
  const namespaces = Map.groupBy(Object.keys(asked), namespaceOf);
  return [...namespaces].map(([name, claimants]) => {
    const lacking = new Map(claimants.map((id) => [id, (asked[id]?.ports ?? []).filter((port) => !open.has(port)).length]));
    const lackOf = (id: ActorId): number => lacking.get(id) ?? 0;
    const byLack = (a: ActorId, b: ActorId): number => lackOf(a) - lackOf(b) || (a < b ? -1 : 1);
    return {
      name,
      rules: new Set(claimants.flatMap((id) => asked[id]?.ports ?? []).filter((port) => open.has(port))),
      waiting: claimants.filter((id) => lackOf(id) > 0).sort(byLack),
    };
  });
}

/** The namespace with the fewest rules among those that lack something; null when none does. */
function poorest(namespaces: readonly Namespace[]): Namespace | null {
  let found: Namespace | null = null;
  for (const each of namespaces) {
    if (each.waiting.length === 0) continue;
    if (!found || each.rules.size < found.rules.size || (each.rules.size === found.rules.size && each.name < found.name)) found = each;
  }
  return found;
}

/** The claims limited to the share of each namespace, as the firewall was found, and why the others are refused. What was added before and is missing now is put back for its
 *  claimants. */
export function withinShares({ id, claims, refused = [], found, owned, lost }: FirewallContext): {
  readonly claims: FirewallContext['claims'];
  readonly refusals: ReadonlyMap<ActorId, string>;
} {
  if (found?.freeRules === undefined) return { claims, refusals: new Map() };
  const open = new Set([...found.ports, ...owned.ports, ...(lost?.ports ?? [])]);
  const asking = openable({ claims, refused });
  const asked = mapped(claims, (held, claimant) => (asking[claimant] ? held : { ports: held.ports.filter((port) => open.has(port)) }));
  const { ports } = unionOf(Object.values(asking));
  const missing = [...ports].filter((port) => open.has(port) && !found.ports.includes(port));
  const beyond = beyondShare(asked, open, found.freeRules - missing.length);
  const kept = mapped(claims, (held, claimant) => heldWithout(held, beyond.get(claimant)?.ports));
  return { claims: kept, refusals: new Map([...beyond].map(([claimant, share]) => [claimant, shareText(id, claimant, share)])) };
}

/** Claimants that were refused ports which they may have now. */
export function freedFor({ claims }: FirewallContext, freeRules: number): readonly ActorId[] {
  const { ports: open } = unionOf(Object.values(claims));
  const asked = mapped(claims, ({ ports, beyond = [] }) => ({ ports: [...ports, ...beyond] }));
  const still = beyondShare(asked, open, freeRules);
  return Object.entries(claims).flatMap(([claimant, { beyond }]) => (beyond && !still.has(claimant) ? [claimant] : []));
}

const mapped = <T>(claims: FirewallContext['claims'], change: (held: Held, claimant: ActorId) => T): Readonly<Record<ActorId, T>> =>
  Object.fromEntries(Object.entries(claims).map(([claimant, held]) => [claimant, change(held, claimant)]));

/** For users: why nothing is opened, and what to do. */
function shareText(firewall: ActorId, claimant: ActorId, { ports, has, free }: BeyondShare): string {
  const { name } = firewallOf(firewall);
  const rules = `namespace ${namespaceOf(claimant)} has ${has} rules of it and needs ${ports.length} more, and ${free} are free`;
  const why = ports.length > free ? '' : `; of the last ${LAST_RULES} a namespace gets one only while it has fewer than are free`;
  return `firewall ${name} has no room for that: ${rules}${why}. Give up ports of this namespace, remove rules that nobody needs, or use another firewall`;
}
