import type { FloatingIPPool } from '../crds/generated/floatingippool.ts';
import type { RoutedIP } from '../crds/generated/routedip.ts';
import { actorOf, addressActor } from '../machines/model/actor-id.ts';
import type { ActorId, Address } from '../machines/model/types.ts';
import type { Objects } from './objects.ts';

/** An object that has or lists an address, and the actor that runs the address for it. */
export type Owner =
  | { readonly kind: 'floatingippool'; readonly object: FloatingIPPool; readonly actor: ActorId }
  | { readonly kind: 'routedip'; readonly object: RoutedIP; readonly actor: ActorId };

const actorIn = (kind: string, { metadata: { namespace = 'default', name = '' } }: Owner['object'], address: string): ActorId =>
  addressActor(actorOf({ kind, namespace, name }), address as Address);

/** Objects that have the address or ask for it. The one that runs it comes first, as far as their status shows. */
export function ownersOf({ pools, routedIPs }: Objects, address: string): readonly Owner[] {
  const owners: Owner[] = [
    ...pools
      .filter(({ spec, status }) => spec?.ips?.includes(address) || status?.ips?.[address])
      .map((object) => ({ kind: 'floatingippool' as const, object, actor: actorIn('FloatingIPPool', object, address) })),
    ...routedIPs
      .filter(({ spec, status }) => status?.routedIP === address || spec.routedIP === address)
      .map((object) => ({ kind: 'routedip' as const, object, actor: actorIn('RoutedIP', object, address) })),
  ];
  return owners.sort((a, b) => Number(runs(b, address)) - Number(runs(a, address)));
}

/** An owner that lost the address to an older one has no machine state for it. */
const runs = (owner: Owner, address: string): boolean =>
  owner.kind === 'routedip' ? owner.object.status?.routedIP === address : owner.object.status?.ips?.[address]?.machineState !== undefined;

/** Display name, `floatingippool/ingress in default`. */
export const ownerText = ({ kind, object: { metadata } }: Pick<Owner, 'kind' | 'object'>): string =>
  `${kind}/${metadata.name} in ${metadata.namespace ?? 'default'}`;
