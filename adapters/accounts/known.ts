import type { ProviderDirectory, ProviderNeed } from '../../actors/ports/directory.ts';
import type { JobDriver } from '../../actors/ports/job-driver.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { Credentials } from './credentials.ts';
import { JOBS_ONLY, jobsOnly } from './jobs-only.ts';

export type Known = ProviderDirectory['all'][string];
/** The abilities of a provider, independent of its credentials. */
export type Abilities = Omit<Known['facts'], 'missing'>;

/** The parts of a key's provider. */
export interface Means {
  readonly credentials: Credentials;
  /** The client of the token, or the operator’s own when the need has no Secrets. */
  readonly client: Provider | null;
  readonly jobs: JobDriver | null;
  /** Abilities of the cloud whose API is used; null when it is not supported. */
  readonly abilities: Abilities | null;
  /** What the operator’s own account lacks, if that account is used. */
  readonly ownLacks: string | null;
  /** The operator’s own account has not been read yet. */
  readonly isOwnUnread: boolean;
}

const NONE: Abilities = { addresses: false, dns: false, ipv6: false, addressesPerNode: 1, providerIDPrefix: '' };

/** The entry of a key: the provider, or what is missing for it. */
export function knownBy({ key, cloud, templates }: ProviderNeed, means: Means): Known {
  const { credentials, client, jobs, ownLacks } = means;
  const abilities = (cloud === null ? JOBS_ONLY : means.abilities) ?? NONE;
  const without = (missing: string): Known => ({ facts: { ...abilities, missing }, provider: null });
  if (cloud !== null && means.abilities === null) return without(`this operator has no client for ${cloud}`);
  if (credentials.kind === 'unread') return { ...without(credentials.why), unread: true };
  if (credentials.kind === 'missing') return without(credentials.why);
  if (templates && !jobs) return without('this operator runs no Jobs');
  if (cloud === null)
    return jobs ? { facts: { ...abilities, missing: null }, provider: jobsOnly(key, jobs) } : without('it has no templates');
  if (client === null) return { ...without(ownLacks ?? 'it has no credentials'), ...(means.isOwnUnread && { unread: true as const }) };
  return { facts: { ...abilities, missing: null }, provider: jobs ? { ...client, jobs } : client };
}
