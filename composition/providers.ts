import { createHash } from 'node:crypto';
import type { KnownProvider } from '../actors/leader.ts';
import type { Budget, Log, Probe, Provider } from '../actors/ports.ts';
import type { Environment, Options } from '../adapters/cli/options.ts';
import { cloudflareBudget, createCloudflareProvider } from '../adapters/cloudflare/provider.ts';
import { createDigitalOceanProvider } from '../adapters/digitalocean/provider.ts';
import { type RedisBudgetOptions, redisBudget } from '../adapters/redis/budget.ts';
import type { RedisLink } from '../adapters/redis/link.ts';
import type { TokenBudget } from '../adapters/telemetry/budget-metrics.ts';
import type { Metrics } from '../adapters/telemetry/metrics.ts';
import type { ProviderFacts } from '../machines/validate.ts';

/** An account at a provider, and what a client of it works with. */
interface Account {
  readonly token: string;
  /** Another API than the provider's own. */
  readonly url: string | undefined;
  readonly budget: Budget;
  readonly log: Log;
  readonly probe: Probe;
  readonly deadlineMs: number;
}

type Client = Provider & { readonly close: () => void };

/** A provider that specs may name. */
interface Offer {
  readonly facts: Omit<ProviderFacts, 'missing'>;
  /** Where its token comes from. */
  readonly variable: string;
  readonly token: string | null;
  readonly url: string | null;
  /** The rates of its budget, where they are not DigitalOcean's. */
  readonly rates: Pick<RedisBudgetOptions, 'perMinute' | 'perHour' | 'createsPerMinute' | 'reserve'>;
  readonly client: (account: Account) => Client;
}

/** The one place to add a provider. Its name is its key: in specs, as the name of its queue, in metrics. */
const offers = (options: Options, environment: Environment): Readonly<Record<string, Offer>> => ({
  digitalocean: {
    facts: { addresses: true, dns: true, ipv6: true, addressesPerNode: 1, providerIDPrefix: 'digitalocean://' },
    variable: 'DIGITALOCEAN_ACCESS_TOKEN',
    token: environment.digitaloceanToken,
    url: environment.digitaloceanUrl,
    rates: ratesOf(options),
    client: (account) => createDigitalOceanProvider({ ...account, addressAPI: options.digitaloceanAddressApi }),
  },
  cloudflare: {
    facts: { addresses: false, dns: true, ipv6: false, addressesPerNode: 0, providerIDPrefix: 'cloudflare://' },
    variable: 'CLOUDFLARE_TOKEN',
    token: environment.cloudflareToken,
    url: environment.cloudflareUrl,
    rates: cloudflareBudget,
    client: createCloudflareProvider,
  },
});

export interface RegistryContext {
  readonly log: Log;
  readonly probe: Probe;
  readonly link: RedisLink;
  readonly prefix: string;
  readonly metrics: Metrics;
  readonly callDeadlineMs: number;
}

export interface Registry {
  readonly providers: Readonly<Record<string, KnownProvider>>;
  /** With or without a token: each has a queue of its name. */
  readonly names: readonly string[];
  /** Of each token that there is. */
  readonly budgets: readonly TokenBudget[];
  /** Closes idle connections. */
  readonly close: () => void;
}

/** The registry of providers. One without credentials stands in it too: its pools say in their status what is missing.
 *  @throws Error when a controller was asked for by name and there is no token that it could work with */
export function registry(options: Options, environment: Environment, context: RegistryContext): Registry {
  const known = offers(options, environment);
  if (options.controllers?.includes('flipop') && Object.values(known).every(({ token }) => token === null)) {
    const variables = Object.values(known).map(({ variable }) => variable);
    throw new Error(`the controller "flipop" was asked for, but neither ${variables.join(' nor ')} is set`);
  }
  const clients = new Map(
    Object.entries(known).flatMap(([name, offer]) => {
      const client = clientOf(offer, context);
      return client ? [[name, client] as const] : [];
    }),
  );
  const entry = (name: string, { facts, variable, token }: Offer): KnownProvider => {
    const client = clients.get(name);
    const missing = token === null ? `set ${variable} for the operator` : null;
    return { facts: { ...facts, missing }, provider: client ? context.metrics.instrument(client.provider) : null };
  };
  return {
    providers: Object.fromEntries(Object.entries(known).map(([name, offer]) => [name, entry(name, offer)])),
    names: Object.keys(known),
    budgets: [...clients].map(([provider, { tokenHash, budget }]) => ({ provider, tokenHash, budget })),
    close: () => {
      for (const { provider } of clients.values()) provider.close();
    },
  };
}

interface Working extends Omit<TokenBudget, 'provider'> {
  readonly provider: Client;
}

function clientOf({ client, token, url, rates }: Offer, { log, probe, link, prefix, callDeadlineMs }: RegistryContext): Working | null {
  if (token === null) return null;
  const tokenHash = createHash('sha256').update(token).digest('hex').slice(0, 16);
  const budget = redisBudget({ link, prefix, tokenHash, ...rates });
  return { provider: client({ token, url: url ?? undefined, budget, log, probe, deadlineMs: callDeadlineMs }), tokenHash, budget };
}

const ratesOf = ({ rateLimitPerMinute, rateLimitPerHour }: Options): Offer['rates'] => ({
  ...(rateLimitPerMinute !== undefined && {
    perMinute: rateLimitPerMinute,
    createsPerMinute: Math.max(12, rateLimitPerMinute / 10),
  }),
  ...(rateLimitPerHour !== undefined && { perHour: rateLimitPerHour }),
});
