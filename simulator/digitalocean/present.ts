import { settle } from './addresses.ts';
import type { Cloud } from './cloud.ts';
import { settleFirewalls } from './firewall-policy.ts';

/** Brings everything that takes time to the present. Whoever reads the cloud asks for it first. */
export function bringToPresent(cloud: Cloud): void {
  settle(cloud);
  settleFirewalls(cloud);
}
