import type { ProviderDirectory, ProviderNeed } from '../../actors/ports/directory.ts';
import type { JobDriver } from '../../actors/ports/job-driver.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { Credentials } from './credentials.ts';
import { JOBS_ONLY, jobsOnly } from './jobs-only.ts';

export type Known = ProviderDirectory['all'][string];
/** What a provider can do, whatever it has to do it with. */
export type Abilities = Omit<Known['facts'], 'missing'>;

/** What a key's provider is made of. */
export interface Means {
  readonly credentials: Credentials;
  /** Of the token, or the operator’s own when the need has no Secrets. */
  readonly client: Provider | null;
  readonly jobs: JobDriver | null;
  /** Of the cloud whose API is used; null when it is none of ours. */
  readonly abilities: Abilities | null;
  /** What the operator’s own account lacks, where that is to be used. */
  readonly ownLacks: string | null;
  /** It has not been looked at yet. */
  readonly isOwnUnread: boolean;
}

const NONE: Abilities = { addresses: false, dns: false, ipv6: false, addressesPerNode: 1, providerIDPrefix: '' };

/** What stands under a key: the provider, or what is missing for it. */
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
