import { MIGRATE_ANNOTATION } from '../vip/virtualip.ts';
import { STATES } from './phase.ts';

/** Who may write IPs and VirtualIPs, and how: the verdicts of the admission webhook. deploy/vip-admission-policies.yaml contains the same rules in CEL. The API server returns
 *  these texts to users, whose scripts rely on them: they are those of the allocator that this one replaces. */

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE';

/** The request under admission. */
export interface AdmissionFacts {
  readonly operation: AdmissionOperation;
  /** The requesting user as named by the API server, e.g. `system:serviceaccount:routedip-operator:routedip-operator`. */
  readonly user: string;
  /** The object to be stored; null for a deletion. */
  readonly object: unknown;
  /** The stored object; null for a creation. */
  readonly oldObject: unknown;
}

export type Verdict = { readonly kind: 'allowed' } | { readonly kind: 'denied'; readonly message: string };

const ALLOWED: Verdict = { kind: 'allowed' };
const denied = (message: string): Verdict => ({ kind: 'denied', message });

const VERBS: Readonly<Record<AdmissionOperation, string>> = { CREATE: 'create', UPDATE: 'update', DELETE: 'delete' };

/** Allowed only for `operator`: an IP is a reservation, and deleting it lets another owner get its address. */
export const admitIP = ({ operation, user }: AdmissionFacts, operator: string): Verdict =>
  user === operator ? ALLOWED : denied(`user ${user} cannot ${VERBS[operation]} ip objects, only ${operator} is allowed`);

/** New ones are no longer created. For existing ones, in this order: the address is immutable; a migration cannot be stopped once it has changed something; only a Valid one may
 *  start it; its Service is fixed from then on. */
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
  // Preparing has changed nothing, and a VirtualIP whose Service already has an address would wait there forever.
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

/** Empty where there is no string: an absent field and an empty one are the same to the API. */
const textAt = (object: unknown, part: string, field: string): string => {
  const value = at(at(object, part), field);
  return typeof value === 'string' ? value : '';
};

const isMarked = (object: unknown): boolean => at(at(at(object, 'metadata'), 'annotations'), MIGRATE_ANNOTATION) !== undefined;
