import type { EnsureRecordsInput, FirewallInput } from '../../machines/jobs.ts';
import { kindOf } from '../../machines/model/actor-id.ts';
import { namespaceOf } from '../../machines/model/namespaces.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { CallOwner } from '../ports/provider.ts';

/** The object that an actor belongs to; null for actors that serve many, such as verifications and zones. */
export function ownerOf(actor: ActorId): CallOwner | null {
  const [, namespace, name] = actor.split('/');
  const kind = kindOf(actor);
  return kind !== '' && namespace && name ? { kind, namespace, name } : null;
}

/** The namespaces for whose objects an actor runs a job: work on a shared resource is done for those that wait for it. None for what is done for all. */
export function namespacesFor(actor: ActorId, input: unknown): readonly string[] {
  const owner = ownerOf(actor);
  if (owner) return [owner.namespace];
  const { claimants = [], sets = [] } = input as Partial<Pick<FirewallInput, 'claimants'> & Pick<EnsureRecordsInput, 'sets'>>;
  return [...new Set([...claimants, ...sets.map(({ claimant }) => claimant)].map(namespaceOf))];
}
