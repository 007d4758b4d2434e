import type { AdmissionFacts, Verdict } from '../../machines/migration/admission.ts';

/** What the admission webhook needs of the cluster that it answers. */

/** Text by key: the PEM of certificates and keys. Never logged, never shown. */
export type CertificateData = Readonly<Record<string, string>>;

/** The certificates that all replicas share. */
export interface CertificateStore {
  /** As they are stored now, with a version for `write`; null when there are none. @throws Unreachable or Error when they cannot be read */
  read(): Promise<{ readonly data: CertificateData; readonly version: string } | null>;
  /** Stores `data` in place of that version, null for none. False when somebody else was first: read again. May be repeated.
   *  @throws Unreachable or Error when they cannot be written */
  write(data: CertificateData, version: string | null): Promise<boolean>;
}

/** How the API server was told of the webhook. */
export interface WebhookRegistration {
  /** What it was told last; null when it was told of no webhook. @throws Unreachable or Error when that cannot be read */
  read(): Promise<Registered | null>;
}

/** What the API server was told, as it was read. */
export interface Registered {
  /** The API server trusts `bundle` (PEM), and nothing else, for this webhook, some seconds from now at the latest. False when it was told something else
   *  since it was read: read again. So of two bundles that were read after their registration the older one never takes the place of the newer one.
   *  May be repeated. @throws Unreachable or Error when that cannot be written */
  trust(bundle: string): Promise<boolean>;
}

/** Who the operator itself is to the API server: a user name. @throws Error when that cannot be told now; ask again */
export type OwnUser = () => Promise<string>;

/** What is answered to one kind of write. @throws Error when it cannot be decided now: the write is refused, and may be tried again */
export type AdmissionRule = (facts: AdmissionFacts) => Verdict | Promise<Verdict>;
