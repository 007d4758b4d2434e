import type { ProviderDirectory } from '../../actors/ports/directory.ts';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { JobDriver } from '../../actors/ports/job-driver.ts';
import type { Provider } from '../../actors/ports/provider.ts';

/** The capacity of a node depends on the templates; `perNodeIPLimit` sets it. */
const ANY_NUMBER = 1_000_000;

/** The abilities of a platform driven only by Jobs: IPv4 addresses on its nodes, which a Job identifies by name if they have no providerID. */
export const JOBS_ONLY: Omit<ProviderDirectory['all'][string]['facts'], 'missing'> = {
  addresses: true,
  dns: false,
  ipv6: false,
  addressesPerNode: ANY_NUMBER,
  providerIDPrefix: '',
};

/** A provider without an API: everything that its Jobs do not support is refused. */
export function jobsOnly(name: string, jobs: JobDriver): Provider {
  const refused = (what: string) => async (): Promise<never> => {
    throw new ProviderError('Unsupported', `${what}: the Jobs of ${name} cannot do this`);
  };
  return {
    name,
    capabilities: {
      addresses: true,
      dns: false,
      firewalls: jobs.firewalls,
      ipv6: false,
      addressesPerNode: ANY_NUMBER,
      providerIDPrefix: '',
    },
    jobs,
    findRoutedIP: refused('find an address'),
    listRoutedIPs: refused('list addresses'),
    findNode: refused('find the machine of a node'),
    createRoutedIP: refused('create an address'),
    deleteRoutedIP: refused('delete an address'),
    assignRoutedIP: refused('assign an address'),
    actionState: refused('look at an action'),
    unassignRoutedIP: refused('unassign an address'),
    findRoutedIPFirewall: refused('find a firewall'),
    listRoutedIPFirewalls: refused('list firewalls'),
    addRoutedIPFirewallPort: refused('add a port to a firewall'),
    addRoutedIPFirewallNode: refused('add a node to a firewall'),
    deleteRoutedIPFirewallPort: refused('delete a port of a firewall'),
    deleteRoutedIPFirewallNode: refused('delete a node of a firewall'),
    listDNSRecords: refused('list DNS records'),
    createDNSRecord: refused('create a DNS record'),
    updateDNSRecord: refused('update a DNS record'),
    deleteDNSRecord: refused('delete a DNS record'),
  };
}
