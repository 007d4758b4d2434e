import type { ProviderDirectory, SecretRef } from '../actors/ports/directory.ts';
import type { Clock } from '../actors/ports/records.ts';
import { Accounts } from '../adapters/accounts/directory.ts';
import type { Environment, Options } from '../adapters/cli/options.ts';
import { TIMINGS } from '../adapters/kubernetes/cache/reflector.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { kubernetesJobDriver } from '../adapters/kubernetes/jobs/driver.ts';
import { KubernetesSecrets } from '../adapters/kubernetes/source/secrets.ts';
import type { TokenBudget } from '../adapters/telemetry/budget-metrics.ts';
import type { Redaction } from '../adapters/telemetry/redaction.ts';
import { cloudOf } from '../machines/model/provider-key.ts';
import { type RegistryContext, registry } from './providers.ts';

export interface DirectoryContext extends RegistryContext {
  readonly connection: Connection;
  readonly clock: Clock;
  /** The Pod's namespace: the operator's own Secret is there, unless its name says otherwise. */
  readonly namespace: string;
  /** Receives every token that a Secret holds, before it is used. */
  readonly secrets: Redaction;
}

export interface Directory {
  readonly providers: ProviderDirectory;
  /** Resolves once the operator's own tokens are known to exist or to be missing: until then no object can be judged. */
  readonly tokensRead: Promise<void>;
  /** How many addresses of one family a node can hold, by provider key. */
  readonly addressesPerNode: (key: string) => number;
  /** Budget of each token in use. */
  readonly budgets: () => readonly TokenBudget[];
  /** Ends the watches of Secrets and closes idle connections. */
  readonly close: () => void;
}

/** All providers of this process. @throws Error as `registry` does */
export function directory(options: Options, environment: Environment, context: DirectoryContext): Directory {
  const { connection, clock, log, namespace, secrets: redaction } = context;
  const known = registry(options, environment, context);
  const secrets = new KubernetesSecrets({ connection, clock, log, random: Math.random, timings: TIMINGS });
  const accounts = new Accounts({
    standing: known.providers,
    clouds: known.clouds,
    secrets,
    jobDriver: kubernetesJobDriver({ connection, clock, hide: (text) => redaction.hide(text) }),
    hide: (secret) => redaction.add(secret),
    log,
  });
  const own = options.tokensSecret ? { namespace, ...options.tokensSecret, optional: false } : null;
  const factsOf = (key: string) => (accounts.all[key] ?? accounts.all[cloudOf(key)])?.facts;
  return {
    providers: accounts,
    tokensRead: own ? ownTokens(accounts, known.unset, own) : Promise.resolve(),
    addressesPerNode: (key) => factsOf(key)?.addressesPerNode ?? 1,
    budgets: known.budgets,
    close: () => {
      accounts.close();
      secrets.close();
      known.close();
    },
  };
}

/** Makes the accounts of these clouds use the tokens in the Secret, from now on. */
const ownTokens = (accounts: Accounts, clouds: readonly string[], secret: SecretRef): Promise<void> =>
  new Promise((resolve) => {
    const tell = (): void => void (clouds.some((cloud) => accounts.all[cloud]?.unread) || resolve());
    for (const cloud of clouds) accounts.need(`operator/${cloud}`, { key: cloud, cloud, secrets: [secret], templates: null });
    accounts.onChange(tell);
    tell();
  });
