import { ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { RequestLayerOptions } from '../http/verbs.ts';
import { type DNSVerbs, dnsVerbs } from './records.ts';
import { createRequestLayer } from './requests.ts';

/** `url` is `https://api.cloudflare.com` by default; the budget that of `cloudflareBudget`. */
export type CloudflareOptions = RequestLayerOptions;

export interface CloudflareProvider extends Provider {
  /** Closes idle connections. */
  close(): void;
}

/**
 * The request budget of a token: the API allows 1200 requests in any five minutes; 230 a minute leave some for other clients. Only DNS is done here, so
 * nothing is reserved from it.
 */
export const cloudflareBudget = { perMinute: 230, perHour: 12_000, reserve: { dns: 0 } } as const;

/** The DNS part of the provider port over the Cloudflare API, for one token; every other verb is Unsupported. */
export function createCloudflareProvider(options: CloudflareOptions): CloudflareProvider {
  const layer = createRequestLayer(options);
  return {
    name: 'cloudflare',
    capabilities: {
      addresses: false,
      dns: true,
      firewalls: false,
      ipv6: false,
      addressesPerNode: 0,
      // Matches no node: Cloudflare has no nodes.
      providerIDPrefix: 'cloudflare://',
    },
    ...unsupportedVerbs,
    ...dnsVerbs(layer),
    close: () => layer.close(),
  };
}

const unsupported = (what: string) => (): Promise<never> => Promise.reject(new ProviderError('Unsupported', `cloudflare has no ${what}`));

const unsupportedVerbs: Omit<Provider, 'name' | 'capabilities' | keyof DNSVerbs> = {
  findRoutedIP: unsupported('floating IPs'),
  listRoutedIPs: unsupported('floating IPs'),
  findNode: unsupported('nodes'),
  createRoutedIP: unsupported('floating IPs'),
  deleteRoutedIP: unsupported('floating IPs'),
  assignRoutedIP: unsupported('floating IPs'),
  actionState: unsupported('floating IPs'),
  unassignRoutedIP: unsupported('floating IPs'),
  findRoutedIPFirewall: unsupported('firewalls'),
  listRoutedIPFirewalls: unsupported('firewalls'),
  addRoutedIPFirewallPort: unsupported('firewalls'),
  addRoutedIPFirewallNode: unsupported('firewalls'),
  deleteRoutedIPFirewallPort: unsupported('firewalls'),
  deleteRoutedIPFirewallNode: unsupported('firewalls'),
};
