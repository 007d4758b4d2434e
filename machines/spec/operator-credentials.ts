import type { NamespaceLabels } from '../model/namespaces.ts';

/** Which objects may use the operator's own credentials: for anyone who may write such an object they are worth as much as the account. */

/** An administrator sets this label to "true" on a Namespace to allow them there. */
const LABEL = 'routedip.io/allow-operator-credentials';
/** Stands for all namespaces. */
export const EVERYWHERE = '*';

/** Why an object may not use them. */
export interface CredentialsRefusal {
  readonly reason: 'OperatorCredentialsNotAllowed';
  readonly message: string;
  /** The labels of its Namespace are not known yet: service continues for objects already served. Absent once they are known. */
  readonly isGuess?: true;
}

/** `what` would use them in the namespace; `others` is what its author can do without an administrator, as the start of a sentence that continues with "or". */
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

/** Why an object is not served although its spec itself may be valid. */
export type ErrorReason = CredentialsRefusal['reason'] | 'CredentialsNotFound';

/** The refusal that applies: for an object already served, a mere guess does not count. */
export const refusedNow = (refusal: CredentialsRefusal | undefined, isServed: boolean): CredentialsRefusal | null =>
  !refusal || (refusal.isGuess && isServed) ? null : refusal;
