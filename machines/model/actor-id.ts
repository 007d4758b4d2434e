import type { ActorId, Address, ObjectRef } from './types.ts';

/** The grammar of actor ids. Ids are built and parsed only here. */

/** First part of the actor ids, by the kind of the object that owns the actor. */
const PARTS: Readonly<Record<string, string>> = { FloatingIPPool: 'pool', RoutedIP: 'rip', NodeDNSRecordSet: 'dns' };

/** The actor that stands for an object: the pool of a FloatingIPPool, the single-address pool of a RoutedIP, or the record set of a NodeDNSRecordSet. */
export const actorOf = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): ActorId =>
  `${PARTS[kind]}/${namespace}/${name}`;

/** The kind of the object that an actor stands for. */
export const kindOf = (id: ActorId): string => Object.keys(PARTS).find((kind) => id.startsWith(`${PARTS[kind]}/`)) ?? '';

/** The object that an actor stands for, as logged. */
export const objectOf = (id: ActorId): string => {
  const [, namespace, name] = cellOf(id).split('/');
  return `${kindOf(id)} ${namespace}/${name}`;
};

export const isPool = (id: ActorId): boolean => id.startsWith('pool/') || isRoutedIP(id);

export const isRoutedIP = (id: ActorId): boolean => id.startsWith('rip/');

export const isRecordSet = (id: ActorId): boolean => id.startsWith('dns/');

export const recordSetActor = (pool: ActorId): ActorId => `${pool}/dns`;

export const addressActor = (pool: ActorId, address: Address): ActorId => `${pool}/ip/${address}`;

/** The address of an actor that is one of the pool's addresses; null for any other actor. */
export const addressFrom = (pool: ActorId, actor: ActorId): Address | null =>
  actor.startsWith(`${pool}/ip/`) ? (actor.slice(`${pool}/ip/`.length) as Address) : null;

/** The cell whose mailbox an actor shares: a pool's addresses and its record set share the pool's, whose id has three parts; so does a RoutedIP's address. */
export const cellOf = (actor: ActorId): ActorId => (/^(pool|rip)\//.test(actor) ? actor.split('/', 3).join('/') : actor);

/** The actor of a Service's address. */
export const vipActor = ({ namespace, name }: { readonly namespace: string; readonly name: string }): ActorId => `vip/${namespace}/${name}`;

export const isVip = (actor: ActorId): boolean => actor.startsWith('vip/');

/** The actor of a VirtualIP. */
export const virtualIPActor = ({ namespace, name }: { readonly namespace: string; readonly name: string }): ActorId =>
  `vvip/${namespace}/${name}`;

export const isVirtualIP = (actor: ActorId): boolean => actor.startsWith('vvip/');

/** The actor of the addresses reserved for a VirtualIP that is gone. */
export const formerVirtualIPActor = ({ namespace, name }: { readonly namespace: string; readonly name: string }): ActorId =>
  `vip/VirtualIP/${namespace}/${name}`;

/** The actor of a zone; `zone` in canonical form. */
export const zoneActor = (provider: string, zone: string): ActorId => `zone/${provider}/${zone}`;

export const isZone = (id: ActorId): boolean => id.startsWith('zone/');

/** The arguments of `zoneActor`. */
export function zoneOf(id: ActorId): { readonly provider: string; readonly zone: string } {
  const [, provider = '', ...zone] = id.split('/');
  return { provider, zone: zone.join('/') };
}

/** The actor of a firewall at a provider; a firewall's name may contain slashes, a provider's key may not. */
export const firewallActor = (provider: string, name: string): ActorId => `firewall/${provider}/${name}`;

export const isFirewall = (id: ActorId): boolean => id.startsWith('firewall/');

/** The arguments of `firewallActor`. */
export function firewallOf(id: ActorId): { readonly provider: string; readonly name: string } {
  const [, provider = '', ...name] = id.split('/');
  return { provider, name: name.join('/') };
}

const VERIFICATION = 'verify/';

/** The actor that verifies a list of an account, by the key of that list. */
export const verificationActor = (list: string): ActorId => `${VERIFICATION}${list}`;

/** The key of the list that an actor verifies; null for any other actor. */
export const verifiedBy = (id: ActorId): string | null => (id.startsWith(VERIFICATION) ? id.slice(VERIFICATION.length) : null);
