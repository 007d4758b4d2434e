import type { AdmissionFacts, Verdict } from '../../machines/migration/admission.ts';

/** What the admission webhook needs from the cluster. */

/** Text by key: the PEM of certificates and keys. Never logged, never shown. */
export type CertificateData = Readonly<Record<string, string>>;

/** The certificates that all replicas share. */
export interface CertificateStore {
  /** The stored certificates, with a version for `write`; null when there are none. @throws Unreachable or Error when they cannot be read */
  read(): Promise<{ readonly data: CertificateData; readonly version: string } | null>;
  /** Stores `data` in place of that version, null for none. False when another process was first: read again. May be repeated. @throws Unreachable or Error when they
   *  cannot be written */
  write(data: CertificateData, version: string | null): Promise<boolean>;
}

/** The registration of the webhook with the API server. */
export interface WebhookRegistration {
  /** The current registration; null when there is none. @throws Unreachable or Error when that cannot be read */
  read(): Promise<Registered | null>;
}

/** The registration as it was read. */
export interface Registered {
  /** The API server trusts `bundle` (PEM), and nothing else, for this webhook, within some seconds. False when the registration has changed since it was read: read again.
   *  So of two bundles that were read after their registration, the older one never replaces the newer one. May be repeated. @throws Unreachable or Error when that cannot
   *  be written */
  trust(bundle: string): Promise<boolean>;
}

/** The user name of the operator itself at the API server. @throws Error when it cannot be determined now; ask again */
export type OwnUser = () => Promise<string>;

/** The verdict on one kind of write. @throws Error when it cannot be decided now: the write is refused, and may be retried */
export type AdmissionRule = (facts: AdmissionFacts) => Verdict | Promise<Verdict>;
