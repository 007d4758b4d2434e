import { createHash } from 'node:crypto';
import type { Budget } from '../actors/ports/budget.ts';
import type { KnownProvider } from '../actors/ports/directory.ts';
import type { Log, Probe } from '../actors/ports/observers.ts';
import type { Provider } from '../actors/ports/provider.ts';
import { tokenTrouble } from '../adapters/accounts/credentials.ts';
import type { Cloud } from '../adapters/accounts/directory.ts';
import type { Environment, Options } from '../adapters/cli/options.ts';
import { cloudflareBudget, createCloudflareProvider } from '../adapters/cloudflare/provider.ts';
import { createDigitalOceanProvider } from '../adapters/digitalocean/provider.ts';
import type { TokenBudget } from '../adapters/telemetry/budget-metrics.ts';
import type { Metrics } from '../adapters/telemetry/metrics.ts';
import type { ProviderFacts } from '../machines/spec/providers.ts';
import type { BudgetOf, Rates } from './job-parts.ts';

/** An account at a provider, and the dependencies of its client. */
interface Account {
  readonly token: string;
  readonly userAgent: string;
  /** API URL other than the provider's own. */
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
  /** Source of its token: the environment, else the operator's own Secret under the same name. */
  readonly variable: string;
  /** Keys under which a Secret may hold one, the preferred one first; none when there is only the account of the environment. */
  readonly secretKeys: readonly string[];
  readonly token: string | null;
  readonly url: string | null;
  readonly userAgent: string | null;
  readonly rates: Rates;
  readonly client: (account: Account) => Client;
}

/** The only place to add a provider. Its name is its key: in specs, as queue name, in metrics. */
const offers = (options: Options, environment: Environment): Readonly<Record<string, Offer>> => ({
  digitalocean: {
    facts: { addresses: true, dns: true, ipv6: true, addressesPerNode: 1, providerIDPrefix: 'digitalocean://' },
    variable: 'DIGITALOCEAN_ACCESS_TOKEN',
    secretKeys: ['DIGITALOCEAN_ACCESS_TOKEN', 'token'],
    token: environment.digitaloceanToken,
    url: environment.digitaloceanUrl,
    userAgent: environment.digitaloceanUserAgent,
    rates: ratesOf(options),
    client: (account) => createDigitalOceanProvider({ ...account, addressAPI: options.digitaloceanAddressApi }),
  },
  cloudflare: {
    facts: { addresses: false, dns: true, ipv6: false, addressesPerNode: 0, providerIDPrefix: 'cloudflare://' },
    variable: 'CLOUDFLARE_TOKEN',
    secretKeys: [],
    token: environment.cloudflareToken,
    url: environment.cloudflareUrl,
    userAgent: environment.cloudflareUserAgent,
    rates: cloudflareBudget,
    client: createCloudflareProvider,
  },
});

export interface RegistryContext {
  readonly version: string;
  readonly log: Log;
  readonly probe: Probe;
  readonly budgetOf: BudgetOf;
  readonly metrics: Metrics;
  readonly callDeadlineMs: number;
  /** Replaces a client while it is open; absent to use the client itself. */
  readonly shadow?: (provider: Provider, isOpen: () => boolean) => Provider;
}

export interface Registry {
  /** With the credentials of the environment. Providers without any are left out when their token is in the operator's own Secret. */
  readonly providers: Readonly<Record<string, KnownProvider>>;
  /** Providers whose token is in that Secret. */
  readonly unset: readonly string[];
  readonly clouds: Readonly<Record<string, Cloud>>;
  /** Budget of each token in use. */
  readonly budgets: () => readonly TokenBudget[];
  /** Closes idle connections. */
  readonly close: () => void;
}

/** The registry of providers. One without credentials is included: its pools show in their status what is missing.
 *  @throws Error when a controller was requested by name and there is no token that it could use */
export function registry(options: Options, environment: Environment, context: RegistryContext): Registry {
  const known = offers(options, environment);
  const { tokensSecret } = options;
  const unset = Object.keys(known).filter((name) => tokensSecret !== undefined && known[name]?.token === null);
  if (options.controllers?.includes('flipop') && unset.length === 0 && Object.values(known).every(({ token }) => token === null)) {
    const variables = Object.values(known).map(({ variable }) => variable);
    throw new Error(`the controller "flipop" was asked for, but neither ${variables.join(' nor ')} is set`);
  }
  const open = new Set<Working>();
  const connect = (name: string, offer: Offer, token: string): Client => {
    const working = clientOf(name, offer, token, context);
    open.add(working);
    const counted = context.metrics.instrument(working.client);
    const used = context.shadow?.(counted, () => open.has(working)) ?? counted;
    return { ...used, close: () => void (open.delete(working) && working.client.close()) };
  };
  const entry = (name: string, offer: Offer): KnownProvider => {
    const { facts, variable, token } = offer;
    if (token === null) return { facts: { ...facts, missing: `set ${variable} for the operator` }, provider: null };
    const trouble = tokenTrouble(token);
    if (trouble === null) return { facts: { ...facts, missing: null }, provider: connect(name, offer, token) };
    const missing = `${variable} of the operator is no token but a text ${trouble}: set it to the token of the provider`;
    context.log.warn('a token of the environment is not used', { error: missing });
    return { facts: { ...facts, missing }, provider: null };
  };
  const cloud = (name: string, offer: Offer): Cloud => ({
    abilities: offer.facts,
    variable: offer.variable,
    secretKeys: offer.secretKeys,
    connect: (token) => connect(name, offer, token),
  });
  return {
    providers: Object.fromEntries(
      Object.entries(known).flatMap(([name, offer]) => (unset.includes(name) ? [] : [[name, entry(name, offer)]])),
    ),
    unset,
    clouds: Object.fromEntries(Object.entries(known).map(([name, offer]) => [name, cloud(name, offer)])),
    // Keys of one token share its budget.
    budgets: () => [...new Map([...open].map((working) => [`${working.provider} ${working.tokenHash}`, working])).values()],
    close: () => {
      for (const { client } of open) client.close();
    },
  };
}

interface Working extends TokenBudget {
  readonly client: Client;
}

function clientOf(name: string, { client, url, userAgent, rates }: Offer, token: string, context: RegistryContext): Working {
  const { version, log, probe, budgetOf, callDeadlineMs } = context;
  const tokenHash = createHash('sha256').update(token).digest('hex').slice(0, 16);
  const budget = budgetOf(tokenHash, rates);
  const named = userAgent ?? `routedip-operator/${version}`;
  const account = { token, userAgent: named, url: url ?? undefined, budget, log, probe, deadlineMs: callDeadlineMs };
  return { provider: name, tokenHash, budget, client: client(account) };
}

const ratesOf = ({ rateLimitPerMinute, rateLimitPerHour }: Options): Rates => ({
  ...(rateLimitPerMinute !== undefined && {
    perMinute: rateLimitPerMinute,
    createsPerMinute: Math.max(12, rateLimitPerMinute / 10),
  }),
  ...(rateLimitPerHour !== undefined && { perHour: rateLimitPerHour }),
});
