import ipaddr from 'ipaddr.js';
import type { Address, Family } from './types.ts';

/** The canonical form of `text`, or null when it is no single IPv4 or IPv6 address.
 *  Strict for IPv4: four decimal parts without leading zeros, since `010.1.1.1` means different hosts to different programs. */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return text as Address;
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text) || text.includes('%')) return null;
  return ipaddr.IPv6.parse(text).toRFC5952String() as Address;
}

export const familyOf = (address: Address): Family => (address.includes(':') ? 6 : 4);
