import type { Claim } from '../events.ts';
import type { FirewallFound, FirewallOwned } from '../jobs.ts';
import type { ActorId, NodeRef, ProviderID } from '../model/types.ts';

/** Claims that claimants hold on a firewall. */

/** `onlyKept`: after the records were lost it is unknown whether anything is needed there. What is open on it stays, and nothing is opened. */
export interface HeldNode extends NodeRef {
  readonly onlyKept?: true;
}

export interface Held {
  /** The nodes on which the ports are needed. Grows while the address moves, shrinks when it prunes. */
  readonly nodes: readonly HeldNode[];
  readonly ports: readonly string[];
  readonly exclusive: boolean;
  /** Requested ports that are not opened because they exceed the share of its namespace; absent for none. */
  readonly beyond?: readonly string[];
  /** The claimant was answered that all of this is open. */
  readonly isOpen: boolean;
}

interface Claimed {
  readonly ports: ReadonlySet<string>;
  readonly nodes: ReadonlySet<ProviderID>;
}

export const unionOf = (held: readonly Held[]): Claimed => ({
  ports: new Set(held.flatMap(({ ports }) => ports)),
  nodes: new Set(held.flatMap(({ nodes }) => nodes.map(({ providerID }) => providerID))),
});

/** The union of what was held, kept after the records were lost: what is open of it stays, and nothing is opened. */
export function onlyKept(held: readonly Pick<Held, 'nodes' | 'ports'>[]): Held {
  const nodes = new Map(
    held.flatMap((each) => each.nodes).map(({ name, providerID }) => [providerID, { name, providerID, onlyKept: true as const }]),
  );
  return { nodes: [...nodes.values()], ports: [...new Set(held.flatMap(({ ports }) => ports))].sort(), exclusive: false, isOpen: false };
}

/** What the claimant holds from now on; null for nothing. Only what was confirmed to it as open counts as open. */
export function heldAfter(before: Held | undefined, { node, ports, mode, exclusive = false, only }: Claim): Held | null {
  const kept = mode === 'open' ? (before?.nodes ?? []).filter(({ name, onlyKept }) => name !== node?.name && (!only || onlyKept)) : [];
  const nodes = node ? [...kept, node] : kept;
  const open = mode === 'open' ? [...new Set([...(before?.ports ?? []), ...ports])].sort() : ports;
  if (nodes.length === 0 || open.length === 0) return null;
  const held: Held = { nodes, ports: open, exclusive, isOpen: false };
  return { ...held, isOpen: before?.isOpen === true && isWithin(held, before) };
}

/** Everything that `some` holds is held in `all`, too. */
export const isWithin = (some: Held | null | undefined, all: Held | null | undefined): boolean =>
  (some?.nodes ?? []).every(({ name, providerID }) => all?.nodes.some((node) => node.name === name && node.providerID === providerID)) &&
  (some?.ports ?? []).every((port) => all?.ports.includes(port));

/** Claims for which something may be added: not the refused ones that were not renewed, and not on nodes that only keep what is open. If a claim has no other nodes, its
 *  ports are not opened either: a port of a firewall is open on all of its nodes. */
export const openable = ({
  claims,
  refused = [],
}: {
  readonly claims: Readonly<Record<ActorId, Held>>;
  readonly refused?: readonly ActorId[];
}): Readonly<Record<ActorId, Held>> =>
  Object.fromEntries(
    Object.entries(claims).flatMap(([claimant, held]) => {
      const nodes = held.nodes.filter(({ onlyKept }) => !onlyKept);
      return refused.includes(claimant) || nodes.length === 0 ? [] : [[claimant, { ...held, nodes }] as const];
    }),
  );

/** The claim without the ports that exceed the share of its namespace (`beyond`, undefined for none). If no port is left, the nodes are not needed either. */
export function heldWithout(held: Held, beyond: readonly string[] | undefined): Held {
  if (!beyond) return held;
  // A claimant may name a thousand ports.
  const ports = [...new Set(held.ports).difference(new Set(beyond))];
  return { ...held, ports, nodes: ports.length > 0 ? held.nodes : [], beyond };
}

/** The machines on which changes are still pending; all of them, where it is unknown which. */
export const pendingAmong = (
  { pending, pendingOn }: Pick<FirewallFound, 'pending' | 'pendingOn'>,
  nodes: Iterable<ProviderID>,
): readonly ProviderID[] => (pending ? [...nodes].filter((node) => pendingOn?.includes(node) ?? true) : []);

/** The claimant holds something that is lacking. */
export const needs = (held: Held | undefined, { ports, nodes }: FirewallOwned): boolean =>
  held !== undefined &&
  (held.ports.some((port) => ports.includes(port)) || held.nodes.some(({ providerID }) => nodes.includes(providerID)));

/** Every rule of a firewall applies to every node in it: what others need is open on the claimant's node, too. */
export function alsoOpen(claims: Readonly<Record<ActorId, Held>>, claimant: ActorId): { readonly also?: readonly string[] } {
  const { [claimant]: own, ...others } = claims;
  const also = [...unionOf(Object.values(others)).ports].filter((port) => !own?.ports.includes(port)).sort();
  return also.length > 0 ? { also } : {};
}
