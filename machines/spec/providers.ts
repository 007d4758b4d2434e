/** A provider of the registry. Inherited properties such as `constructor` do not count. */
export const known = (registry: ProviderRegistry, provider: string): ProviderFacts | undefined =>
  Object.hasOwn(registry, provider) ? registry[provider] : undefined;

/** Capabilities of a provider of the registry, and what prevents its use. */
export interface ProviderFacts {
  readonly addresses: boolean;
  readonly dns: boolean;
  readonly ipv6: boolean;
  readonly addressesPerNode: number;
  /** Required prefix of a node's providerID; empty where nodes need none. */
  readonly providerIDPrefix: string;
  /** E.g. `set DIGITALOCEAN_ACCESS_TOKEN`; null when the provider is ready for use. */
  readonly missing: string | null;
}

export type ProviderRegistry = Readonly<Record<string, ProviderFacts>>;
