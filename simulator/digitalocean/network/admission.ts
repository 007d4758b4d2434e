import { BlockList, isIP } from 'node:net';
import type { Cloud } from '../cloud.ts';
import { firewallsOf } from '../firewall-policy.ts';
import type { FirewallRule, RuleTarget } from '../model.ts';

/** Whether a TCP connection from `from` gets through to the port of a droplet: when some firewall has a rule in force there that allows it, or when no
 *  firewall knows the droplet. One that is in a firewall whose rules are not in force yet counts as closed: it is safer to be wrong on that side. */
export function admits(cloud: Cloud, dropletId: number, port: number, from: string): boolean {
  const firewalls = firewallsOf(cloud, dropletId);
  if (firewalls.length === 0) return true;
  const inForce = firewalls.flatMap(({ applied }) => applied[dropletId] ?? []);
  return inForce.some((rule) => rule.protocol === 'tcp' && isPort(rule, port) && comesFrom(cloud, rule.sources ?? {}, from));
}

function isPort({ ports }: FirewallRule, port: number): boolean {
  if (ports === '0') return true;
  const [first = '', last = first] = ports.split('-');
  return Number(first) <= port && port <= Number(last);
}

/** Load balancers and Kubernetes clusters are not simulated: nothing comes from them. */
function comesFrom(cloud: Cloud, { addresses = [], droplet_ids: ids = [], tags = [] }: RuleTarget, from: string): boolean {
  if (isWithin(addresses, from)) return true;
  return [...cloud.droplets.values()]
    .filter((droplet) => ids.includes(droplet.id) || droplet.tags.some((tag) => tags.includes(tag)))
    .some(({ publicIPv4, publicIPv6, privateIPv4 }) => [publicIPv4, publicIPv6, privateIPv4].includes(from));
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

function isWithin(networks: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [host = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(host, familyOf(host));
    else list.addSubnet(host, Number(bits), familyOf(host));
  }
  return list.check(address, familyOf(address));
}
