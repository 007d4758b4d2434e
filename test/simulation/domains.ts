import { ATTACKER_DOMAIN } from '../hostile/attacker.ts';
import type { Domain, Played } from './domain.ts';
import { API_DOMAIN } from './domains/api.ts';
import { FIREWALLS_DOMAIN } from './domains/firewalls.ts';
import { JOBS_DOMAIN } from './domains/jobs.ts';
import { NAMES_DOMAIN } from './domains/names.ts';
import { NODES_DOMAIN } from './domains/nodes.ts';
import { PEOPLE_DOMAIN } from './domains/people.ts';
import { POLICIES_DOMAIN } from './domains/policies.ts';
import { POOLS_DOMAIN } from './domains/pools.ts';
import { PROCESSES_DOMAIN } from './domains/processes.ts';
import { PROVIDER_DOMAIN } from './domains/provider.ts';
import { ROUTED_DOMAIN } from './domains/routed-ips.ts';
import { SERVICES_DOMAIN } from './domains/services.ts';
import { STORES_DOMAIN } from './domains/stores.ts';
import { VIPS_DOMAIN } from './domains/vips.ts';
import { VIRTUAL_IPS_DOMAIN } from './domains/virtual-ips.ts';
import { WATCHES_DOMAIN } from './domains/watches.ts';
import type { DomainName, Happenings, History } from './history.ts';

/** All that can happen, by domain, in the order in which the domains are opened. */
export const DOMAINS: { readonly [D in DomainName]: Domain<Happenings[D], Played<Happenings[D]>> } = {
  processes: PROCESSES_DOMAIN,
  stores: STORES_DOMAIN,
  provider: PROVIDER_DOMAIN,
  watches: WATCHES_DOMAIN,
  people: PEOPLE_DOMAIN,
  nodes: NODES_DOMAIN,
  firewalls: FIREWALLS_DOMAIN,
  services: SERVICES_DOMAIN,
  policies: POLICIES_DOMAIN,
  jobs: JOBS_DOMAIN,
  pools: POOLS_DOMAIN,
  routed: ROUTED_DOMAIN,
  names: NAMES_DOMAIN,
  api: API_DOMAIN,
  vips: VIPS_DOMAIN,
  virtualIPs: VIRTUAL_IPS_DOMAIN,
  attacker: ATTACKER_DOMAIN,
};

/** The domains that a history has. */
export const domainsOf = ({ pools, names, routed, api, vips, virtualIPs, attacker }: History): readonly DomainName[] => [
  ...(['processes', 'stores', 'provider', 'people', 'nodes'] as const),
  ...(attacker ? (['attacker'] as const) : []),
  ...(pools || names || routed ? (['watches'] as const) : []),
  ...(routed ? (['firewalls', 'services', 'policies'] as const) : []),
  ...(routed?.jobs ? (['jobs'] as const) : []),
  ...(pools ? (['pools'] as const) : []),
  ...(routed ? (['routed'] as const) : []),
  ...(names ? (['names'] as const) : []),
  ...(api ? (['api'] as const) : []),
  ...(vips ? (['vips'] as const) : []),
  ...(virtualIPs ? (['virtualIPs'] as const) : []),
];
