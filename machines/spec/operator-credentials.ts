import type { NamespaceLabels } from '../model/namespaces.ts';

/** Whose objects may use the credentials that the operator itself works with: they are worth whatever their account is worth, to whoever may write such an object. */

/** A Namespace with this label, and the value "true", was opened for them by an administrator. */
const LABEL = 'routedip.io/allow-operator-credentials';
/** Stands for all namespaces. */
export const EVERYWHERE = '*';

/** Why an object may not use them. */
export interface CredentialsRefusal {
  readonly reason: 'OperatorCredentialsNotAllowed';
  readonly message: string;
  /** The labels of its Namespace are not known yet: who is served goes on. Absent once they are. */
  readonly isGuess?: true;
}

/** `what` would use them in the namespace; `others` is what its author can do without an administrator, as the beginning of a sentence that goes on with "or". */
export interface CredentialsUse {
  readonly what: string;
  readonly others?: string;
  readonly namespace: string;
}

/** Null when they may be used there. */
export function refusedCredentials({ what, others, namespace }: CredentialsUse, found: NamespaceLabels): CredentialsRefusal | null {
  if (found.kind === 'known' && found.labels[LABEL] === 'true') return null;
  const hint = `${others ? `${others}, or ` : ''}have an administrator allow it: kubectl label namespace ${namespace} ${LABEL}=true`;
  const message =
    found.kind === 'unknown'
      ? `it cannot be told whether namespace ${namespace} may use the operator's credentials: ${found.why}`
      : `${what} would use the operator's credentials, which namespace ${namespace} may not: ${hint}`;
  return { reason: 'OperatorCredentialsNotAllowed', message, ...(found.kind === 'unknown' && { isGuess: true }) };
}

/** Why an object is not served although its spec may be as good as it can be. */
export type ErrorReason = CredentialsRefusal['reason'] | 'CredentialsNotFound';

/** What of it counts for an object that is served or not: none of what is only a guess for one that is. */
export const refusedNow = (refusal: CredentialsRefusal | undefined, isServed: boolean): CredentialsRefusal | null =>
  !refusal || (refusal.isGuess && isServed) ? null : refusal;
