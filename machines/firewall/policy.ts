import type { FirewallPolicy } from '../model/firewall-policy.ts';

/** No firewall, no mark. */
export const NO_FIREWALL: FirewallPolicy = { firewall: null, postAllow: false, ports: [] };

/** What must be open on a node. */
export const portsOn = ({ ports, portsOn: others }: FirewallPolicy, node: string): readonly string[] =>
  others && Object.hasOwn(others, node) ? (others[node] ?? []) : ports;

/** Both policies request the same on a node. */
export const sameOn = (node: string, a: FirewallPolicy, b: FirewallPolicy): boolean =>
  a.firewall === b.firewall &&
  a.postAllow === b.postAllow &&
  (a.exclusive ?? false) === (b.exclusive ?? false) &&
  portsOn(a, node).join() === portsOn(b, node).join();
