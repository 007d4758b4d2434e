import ipaddr from 'ipaddr.js';
import { refuse } from './parse.ts';

/** The network in `text` in canonical form; a single address counts as a network of one. @throws InvalidSpec */
export function cidr(text: string, field: string): string {
  const whole = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (!ipaddr.isValidCIDR(whole) || (!text.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(whole.split('/')[0] ?? '')))
    return refuse(`${field}: "${text}" is no network such as 192.0.2.0/24`);
  const [address, bits] = ipaddr.parseCIDR(whole);
  const network = address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(whole) : ipaddr.IPv6.networkAddressFromCIDR(whole);
  return `${network.kind() === 'ipv6' ? (network as ipaddr.IPv6).toRFC5952String() : network.toString()}/${bits}`;
}
