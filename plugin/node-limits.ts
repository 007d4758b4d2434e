import { familyOf } from '../machines/model/address.ts';
import { cloudOf, isOfJobs } from '../machines/model/provider-key.ts';
import type { Address } from '../machines/model/types.ts';
import type { Objects } from './objects.ts';
import { type Owner, ownerText } from './owners.ts';

/** An object that has addresses on nodes. */
type Holder =
  | Pick<Extract<Owner, { kind: 'floatingippool' }>, 'kind' | 'object'>
  | Pick<Extract<Owner, { kind: 'routedip' }>, 'kind' | 'object'>;

/** Objects whose addresses count together. Those of issuers count within their namespace: an issuer's author must not keep others off a node. */
interface Scope {
  readonly cloud: string;
  readonly namespace: string | null;
}

/** An address on a node, or on its way to it. */
interface Holding {
  readonly holder: Holder;
  readonly node: string;
  /** Empty when its RoutedIP does not show it yet. */
  readonly address: string;
}

/** Why a node takes no other address of this owner, however fit it is; null when it does. Decided as by the operator, from the addresses there. `classLimit`: how many a node
 *  may hold by the owner's class; on the built-in cloud a node holds one of each family, whatever a class says. */
export function nodeLimits(owner: Owner, address: string, objects: Objects, classLimit: number): (node: string) => string | null {
  const scope = scopeOf(owner);
  // The owner's account is not known before it is served.
  if (scope === null) return () => null;
  const limit = isOfJobs(scope.cloud) ? classLimit : 1;
  const holders: readonly Holder[] = [
    ...objects.pools.map((object) => ({ kind: 'floatingippool' as const, object })),
    ...objects.routedIPs.map((object) => ({ kind: 'routedip' as const, object })),
  ];
  const others = holders.filter((holder) => isSame(scopeOf(holder), scope)).flatMap(holdingsOf);
  const counted = others.filter((other) => other.address !== address && familyIn(other.address) === familyIn(address));
  const byNode = Map.groupBy(counted, ({ node }) => node);
  return (node) => {
    const there = byNode.get(node) ?? [];
    const own = there.find(({ holder }) => holder.object === owner.object);
    if (own) return `${own.address} is on it, or on its way to it`;
    return there.length < limit ? null : `it has as many addresses as it may hold: ${there.map(textOf).join(', ')}`;
  };
}

const familyIn = (address: string): 4 | 6 => familyOf(address as Address);

function scopeOf({ kind, object }: Holder): Scope | null {
  if (kind === 'floatingippool') return { cloud: cloudOf(object.spec?.provider ?? ''), namespace: null };
  const by = object.status?.class;
  if (by?.provider === undefined) return null;
  return { cloud: cloudOf(by.provider), namespace: by.kind === 'RoutedIPIssuer' ? (object.metadata.namespace ?? 'default') : null };
}

const isSame = (one: Scope | null, other: Scope): boolean => one?.cloud === other.cloud && one.namespace === other.namespace;

function holdingsOf(holder: Holder): readonly Holding[] {
  const on = (address: string, ...nodes: readonly (string | undefined)[]): readonly Holding[] =>
    [...new Set(nodes)].flatMap((node) => (node ? [{ holder, node, address }] : []));
  if (holder.kind === 'routedip') {
    const { spec, status } = holder.object;
    return on(status?.routedIP ?? spec.routedIP ?? '', status?.electedNode, status?.assignedNode);
  }
  const ips = Object.entries(holder.object.status?.ips ?? {});
  return ips.flatMap(([address, { electedNode, nodeName }]) => on(address, electedNode, nodeName));
}

const textOf = ({ holder, address }: Holding): string => `${address === '' ? '' : `${address} of `}${ownerText(holder)}`;
