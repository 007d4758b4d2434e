import { MIGRATE_ANNOTATION } from '../vip/virtualip.ts';
import { STATES } from './phase.ts';

/** Who may write IPs and VirtualIPs, and how: what the admission webhook answers. deploy/vip-admission-policies.yaml says the same in CEL, and the API
 *  server hands these texts to users, whose scripts know them: they are those of the allocator that this one takes the place of. */

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE';

/** What the API server asks about. */
export interface AdmissionFacts {
  readonly operation: AdmissionOperation;
  /** Who asks, as the API server names it, e.g. `system:serviceaccount:routedip-operator:routedip-operator`. */
  readonly user: string;
  /** As it would be stored; null for a deletion. */
  readonly object: unknown;
  /** As it is stored; null for a creation. */
  readonly oldObject: unknown;
}

export type Verdict = { readonly kind: 'allowed' } | { readonly kind: 'denied'; readonly message: string };

const ALLOWED: Verdict = { kind: 'allowed' };
const denied = (message: string): Verdict => ({ kind: 'denied', message });

const VERBS: Readonly<Record<AdmissionOperation, string>> = { CREATE: 'create', UPDATE: 'update', DELETE: 'delete' };

/** Allowed to `operator` alone: an IP is a reservation, and whoever deletes one has its address given to somebody else. */
export const admitIP = ({ operation, user }: AdmissionFacts, operator: string): Verdict =>
  user === operator ? ALLOWED : denied(`user ${user} cannot ${VERBS[operation]} ip objects, only ${operator} is allowed`);

/** None is created any more; of those that are there, each rule in its order: the address stays; a migration is not stopped once it changed something; only
 *  one that is Valid begins it; its Service stays. */
export const admitVirtualIP = ({ operation, object, oldObject }: AdmissionFacts): Verdict => {
  switch (operation) {
    case 'CREATE':
      return denied('VirtualIP resource is deprecated, use a service with type LoadBalancer instead');
    case 'UPDATE':
      return update(object, oldObject);
    case 'DELETE':
      return ALLOWED;
  }
};

const update = (object: unknown, old: unknown): Verdict => {
  const state = textAt(old, 'status', 'state');
  const begun = isMarked(old);
  const marked = isMarked(object);
  if (textAt(object, 'spec', 'ip') !== textAt(old, 'spec', 'ip')) return denied('.spec.ip is immutable');
  // Preparing has touched nothing, and a VirtualIP whose Service has an address already would wait there for ever.
  if (begun && !marked && state !== STATES.preparing) return denied('VirtualIP migration can not be stopped');
  if (!begun && marked && state !== STATES.valid) return denied('not valid VirtualIP can not be migrated');
  if (begun && textAt(object, 'spec', 'service') !== textAt(old, 'spec', 'service')) {
    return denied('can not change service once migration has begun');
  }
  return ALLOWED;
};

const at = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, field)
    ? (value as Readonly<Record<string, unknown>>)[field]
    : undefined;

/** Empty where there is no text: an absent field and an empty one are the same to the API. */
const textAt = (object: unknown, part: string, field: string): string => {
  const value = at(at(object, part), field);
  return typeof value === 'string' ? value : '';
};

const isMarked = (object: unknown): boolean => at(at(at(object, 'metadata'), 'annotations'), MIGRATE_ANNOTATION) !== undefined;
