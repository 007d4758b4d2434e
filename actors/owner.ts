import type { ActorId } from '../machines/types.ts';
import { kindOf } from './pools.ts';
import type { CallOwner } from './ports/provider.ts';

/** The object that an actor belongs to; null for actors that serve many, such as verifications and zones. */
export function ownerOf(actor: ActorId): CallOwner | null {
  const [, namespace, name] = actor.split('/');
  const kind = kindOf(actor);
  return kind !== '' && namespace && name ? { kind, namespace, name } : null;
}
