import type { ActorId } from '../machines/types.ts';
import type { CallOwner } from './ports.ts';

/** First part of the id of an actor that an object of this kind owns: `<part>/<namespace>/<name>`, with more behind it for what is part of the object. */
const KINDS: Readonly<Record<string, string>> = { pool: 'FloatingIPPool', rip: 'RoutedIP', dns: 'NodeDNSRecordSet' };

/** The object that an actor belongs to; null for actors that serve many, such as verifications and zones. */
export function ownerOf(actor: ActorId): CallOwner | null {
  const [part = '', namespace, name] = actor.split('/');
  const kind = Object.hasOwn(KINDS, part) ? KINDS[part] : undefined;
  return kind !== undefined && namespace && name ? { kind, namespace, name } : null;
}
