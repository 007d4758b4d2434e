import { ProviderError } from '../../actors/ports/errors.ts';
import type { Port } from '../../machines/model/types.ts';

/** docs.digitalocean.com/products/networking/firewalls/details/limits: inbound and outbound rules together. */
const MAX_RULES = 50;
/** Droplets by id; those included by a tag do not count. Same page. */
const MAX_DROPLETS = 10;
/** Sources of one rule. Same page. */
const MAX_SOURCES = 1000;

/** How many more inbound rules a firewall with `present` rules accepts. */
export const freeRulesBeside = (present: number): number => Math.max(0, MAX_RULES - present);

/** Nothing is removed to make room: a user must do that. @throws ProviderError Invalid */
export function refuseRulesBeyond(firewall: string, present: number, added: readonly Port[]): void {
  const wide = added.find(({ sources }) => (sources?.length ?? 0) > MAX_SOURCES);
  if (wide) {
    const { port, protocol, sources } = wide;
    throw refused(
      firewall,
      `${protocol} ${port} is to be open to ${sources?.length} networks, and a rule takes ${MAX_SOURCES}: name fewer and larger networks`,
    );
  }
  if (present + added.length <= MAX_RULES) return;
  throw refused(
    firewall,
    `it has ${present} rules and needs ${added.length} more, and DigitalOcean allows ${MAX_RULES}: ` +
      'remove rules that nobody needs, or name another firewall for some of the Services',
  );
}

/** @throws ProviderError Invalid */
export function refuseDropletsBeyond(firewall: string, present: number, added: number): void {
  if (present + added <= MAX_DROPLETS) return;
  throw refused(
    firewall,
    `it has ${present} droplets and needs ${added} more, and DigitalOcean allows ${MAX_DROPLETS}: ` +
      'tag the nodes and put the tag on the firewall, or take droplets out that it need not cover',
  );
}

/** @throws ProviderError Invalid */
export function refuseNoRuleLeft(firewall: string, present: number, removed: number): void {
  if (removed < present) return;
  throw refused(
    firewall,
    `its last rule stays, since DigitalOcean allows no firewall without one: add another rule, or delete the firewall`,
  );
}

const refused = (firewall: string, why: string): ProviderError => new ProviderError('Invalid', `firewall ${firewall}: ${why}`);
