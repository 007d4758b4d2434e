/** A provider of the registry. `constructor` and the like, which every object has, are none. */
export const known = (registry: ProviderRegistry, provider: string): ProviderFacts | undefined =>
  Object.hasOwn(registry, provider) ? registry[provider] : undefined;

/** What a provider of the registry can do, and what keeps it from working at all. */
export interface ProviderFacts {
  readonly addresses: boolean;
  readonly dns: boolean;
  readonly ipv6: boolean;
  readonly addressesPerNode: number;
  /** What a node's providerID starts with; empty where nodes need none. */
  readonly providerIDPrefix: string;
  /** E.g. `set DIGITALOCEAN_ACCESS_TOKEN`; null when the provider is ready for use. */
  readonly missing: string | null;
}

export type ProviderRegistry = Readonly<Record<string, ProviderFacts>>;
