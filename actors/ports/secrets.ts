import type { SecretRef } from './directory.ts';

/** What is known of a Secret. Its values never reach a record, a log, a status or a job. */
export type SecretReading =
  /** It has not been read yet. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'present'; readonly values: Readonly<Record<string, string>> }
  /** It does not exist or may not be read; `why` is for users and contains no value. */
  | { readonly kind: 'missing'; readonly why: string };

/** One use of a watched Secret. */
export interface SecretUse {
  /** The Secret as last seen; an outage since then changes nothing. */
  reading(): SecretReading;
  /** The watch ends with its last user. */
  release(): void;
}

/** Secrets by reference. */
export interface Secrets {
  /** Watches the Secret from now on; `changed` is called later, after each change of what `reading` answers. */
  use(ref: Pick<SecretRef, 'namespace' | 'name'>, changed: () => void): SecretUse;
}
