import type { ActorId } from './types.ts';

/** The actor of a firewall at a provider; a firewall's name may bear slashes, a provider's key none. */
export const firewallActor = (provider: string, name: string): ActorId => `firewall/${provider}/${name}`;

export const isFirewall = (id: ActorId): boolean => id.startsWith('firewall/');

/** What `firewallActor` was given. */
export function firewallOf(id: ActorId): { readonly provider: string; readonly name: string } {
  const [, provider = '', ...name] = id.split('/');
  return { provider, name: name.join('/') };
}
