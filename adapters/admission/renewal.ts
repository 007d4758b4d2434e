import type { CertificateData } from '../../actors/ports/admission.ts';
import { type Issued, type Pair, readPair, vouchersOf } from './certificates.ts';

/** Times of certificates, ms. */
export interface CertificateTimes {
  /** From creation to expiry. */
  readonly lifeMs: number;
  /** How long before expiry the next one is created. */
  readonly renewBeforeMs: number;
  /** How long before its creation it is already valid: the API server's clock may be behind ours by this much. */
  readonly backdateMs: number;
  /** How long the next CA is trusted beside the current one before its certificate is served: by then every API server has observed it, and every replica
   *  has checked since the current one was stored. */
  readonly overlapMs: number;
  /** Interval between checks of the stored certificates. */
  readonly everyMs: number;
}

const HOUR = 3_600_000;

export const CERTIFICATE_TIMES: CertificateTimes = {
  lifeMs: 90 * 24 * HOUR,
  renewBeforeMs: 30 * 24 * HOUR,
  backdateMs: 24 * HOUR,
  overlapMs: HOUR / 6,
  everyMs: 30_000,
};

/** The next step for the stored certificates. */
export type Renewal =
  /** No usable certificate: create a new one immediately, for all of `names`. */
  | { readonly kind: 'replace'; readonly why: string; readonly names: readonly string[] }
  /** Expiry is near: create the next one, and trust its CA beside the current one. */
  | { readonly kind: 'prepare' }
  /** The next one has been trusted long enough: it becomes the current one. */
  | { readonly kind: 'promote' }
  | { readonly kind: 'keep' };

const pairIn = (data: CertificateData, name: 'tls' | 'next'): Pair | null => {
  const { [`${name}.crt`]: cert, [`${name}.key`]: key } = data;
  return cert === undefined || key === undefined ? null : { cert, key };
};

/** The pair to serve with; null when there is no usable one. */
export const servedPair = (data: CertificateData): Pair | null => {
  const pair = pairIn(data, 'tls');
  return pair !== null && readPair(pair, bundleIn(data)) !== null ? pair : null;
};

/** All CAs that the API server must trust. */
export const bundleIn = (data: CertificateData): string => data['ca.crt'] ?? '';

/** What the stored certificates need now. `trusted`: the API server trusts all of their CAs, and did so at the previous check. */
export const renewalOf = (
  data: CertificateData | null,
  wanted: readonly string[],
  { now, trusted, times }: { readonly now: number; readonly trusted: boolean; readonly times: CertificateTimes },
): Renewal => {
  const bundle = data === null ? '' : bundleIn(data);
  const present = data === null ? null : read(pairIn(data, 'tls'), bundle);
  if (present === null) return { kind: 'replace', why: data === null ? 'there is none' : 'the stored one cannot be used', names: wanted };
  if (now >= present.to) return { kind: 'replace', why: 'it has ended', names: wanted };
  if (!wanted.every((name) => present.bears(name))) {
    // A replica with other names does the same: with the names of both, they do not replace each other's certificate forever.
    const names = [...new Set([...present.names, ...wanted])];
    return { kind: 'replace', why: `it does not bear the names ${wanted.join(', ')}`, names };
  }
  const next = data === null ? null : read(pairIn(data, 'next'), bundle);
  if (next === null) return { kind: now >= present.to - times.renewBeforeMs ? 'prepare' : 'keep' };
  const overlapped = now >= next.from + times.backdateMs + times.overlapMs;
  return { kind: overlapped && trusted ? 'promote' : 'keep' };
};

const read = (pair: Pair | null, bundle: string) => (pair === null ? null : readPair(pair, bundle));

/** The stored certificates with `issued` in use immediately. The CA of the former one stays trusted while other replicas still serve it. */
export const replaced = (data: CertificateData | null, { ca, cert, key }: Issued): CertificateData => {
  const former = data?.['tls.crt'] ?? '';
  return { 'ca.crt': ca + vouchersOf(former, data === null ? '' : bundleIn(data)), 'tls.crt': cert, 'tls.key': key };
};

/** The stored certificates with `issued` beside the current one. Every CA stays trusted: a replica that has not checked yet serves an earlier certificate. */
export const prepared = (data: CertificateData, { ca, cert, key }: Issued): CertificateData => ({
  'ca.crt': ca + bundleIn(data),
  'tls.crt': data['tls.crt'] ?? '',
  'tls.key': data['tls.key'] ?? '',
  'next.crt': cert,
  'next.key': key,
});

/** The stored certificates with the next one in use. The CA of the current one stays trusted, since other replicas check only periodically. Earlier ones are
 *  dropped: since the next one was created, every replica has seen the current one. */
export const promoted = (data: CertificateData): CertificateData => {
  const { 'next.crt': cert = '', 'next.key': key = '', 'tls.crt': former = '' } = data;
  const bundle = bundleIn(data);
  return { 'ca.crt': vouchersOf(cert, bundle) + vouchersOf(former, bundle), 'tls.crt': cert, 'tls.key': key };
};
