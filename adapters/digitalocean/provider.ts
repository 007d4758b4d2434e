import type { Provider } from '../../actors/ports/provider.ts';
import type { RequestLayerOptions } from '../http/verbs.ts';
import { type AddressAPI, addressVerbs } from './addresses.ts';
import { dnsVerbs } from './dns.ts';
import { firewallVerbs } from './firewalls.ts';
import { createRequestLayer } from './gaps.ts';
import { providerIDPrefix } from './read.ts';
import { dropletSight, tagSight } from './sight.ts';

/** `url` is `https://api.digitalocean.com` by default. */
export interface DigitalOceanOptions extends RequestLayerOptions {
  /** `reserved_ips` by default; `floating_ips` uses the deprecated paths of the same addresses. */
  readonly addressAPI?: AddressAPI | undefined;
}

export interface DigitalOceanProvider extends Provider {
  /** Closes idle connections. */
  close(): void;
}

/** The provider port over the DigitalOcean API, for one token. Several may live in one process. */
export function createDigitalOceanProvider(options: DigitalOceanOptions): DigitalOceanProvider {
  const layer = createRequestLayer(options);
  const droplets = dropletSight(layer);
  return {
    name: 'digitalocean',
    capabilities: { addresses: true, dns: true, firewalls: true, ipv6: true, addressesPerNode: 1, providerIDPrefix },
    ...addressVerbs(layer, options.addressAPI ?? 'reserved_ips', droplets),
    ...firewallVerbs(layer, { droplets, tags: tagSight(layer) }),
    ...dnsVerbs(layer),
    close: () => layer.close(),
  };
}
