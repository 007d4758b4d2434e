import type { ProviderDirectory } from '../actors/ports/directory.ts';
import type { Clock } from '../actors/ports.ts';
import { Accounts } from '../adapters/accounts/directory.ts';
import type { Environment, Options } from '../adapters/cli/options.ts';
import type { Connection } from '../adapters/kubernetes/connection.ts';
import { kubernetesJobDriver } from '../adapters/kubernetes/job-driver.ts';
import { TIMINGS } from '../adapters/kubernetes/reflector.ts';
import { KubernetesSecrets } from '../adapters/kubernetes/secrets.ts';
import type { TokenBudget } from '../adapters/telemetry/budget-metrics.ts';
import type { Redaction } from '../adapters/telemetry/redaction.ts';
import { cloudOf } from '../machines/provider-key.ts';
import { type RegistryContext, registry } from './providers.ts';

export interface DirectoryContext extends RegistryContext {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Told every token that a Secret holds, before it is used. */
  readonly secrets: Redaction;
}

export interface Directory {
  readonly providers: ProviderDirectory;
  /** How many addresses of one family a node can hold, by the key of their provider. */
  readonly addressesPerNode: (key: string) => number;
  /** Of each token in use. */
  readonly budgets: () => readonly TokenBudget[];
  /** Ends the watches of Secrets and closes idle connections. */
  readonly close: () => void;
}

/** All providers of this process. @throws Error as `registry` does */
export function directory(options: Options, environment: Environment, context: DirectoryContext): Directory {
  const { connection, clock, log, secrets: redaction } = context;
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
  const factsOf = (key: string) => (accounts.all[key] ?? accounts.all[cloudOf(key)])?.facts;
  return {
    providers: accounts,
    addressesPerNode: (key) => factsOf(key)?.addressesPerNode ?? 1,
    budgets: known.budgets,
    close: () => {
      accounts.close();
      secrets.close();
      known.close();
    },
  };
}
