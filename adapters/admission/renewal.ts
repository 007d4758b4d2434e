import type { CertificateData } from '../../actors/ports/admission.ts';
import { type Issued, type Pair, readPair, vouchersOf } from './certificates.ts';

/** Times of certificates, ms. */
export interface CertificateTimes {
  /** From when one is made to its end. */
  readonly lifeMs: number;
  /** So long before the end the next one is made. */
  readonly renewBeforeMs: number;
  /** So long before it is made it is valid: the API server's clock may be behind ours by as much. */
  readonly backdateMs: number;
  /** So long the next CA is trusted beside the present one before its certificate is served: every API server has heard of it by then, and every replica
   *  has looked since the present one came. */
  readonly overlapMs: number;
  /** From one look at what is stored to the next. */
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

/** What is to be done about what is stored. */
export type Renewal =
  /** Nothing there that can serve: a new certificate at once, for all of `names`. */
  | { readonly kind: 'replace'; readonly why: string; readonly names: readonly string[] }
  /** The end is near: the next one is made, and its CA trusted beside the present one. */
  | { readonly kind: 'prepare' }
  /** The next one has been trusted long enough: it becomes the present one. */
  | { readonly kind: 'promote' }
  | { readonly kind: 'keep' };

const pairIn = (data: CertificateData, name: 'tls' | 'next'): Pair | null => {
  const { [`${name}.crt`]: cert, [`${name}.key`]: key } = data;
  return cert === undefined || key === undefined ? null : { cert, key };
};

/** The pair to serve with; null when there is none that could be. */
export const servedPair = (data: CertificateData): Pair | null => {
  const pair = pairIn(data, 'tls');
  return pair !== null && readPair(pair, bundleIn(data)) !== null ? pair : null;
};

/** All CAs that the API server has to trust. */
export const bundleIn = (data: CertificateData): string => data['ca.crt'] ?? '';

/** What the stored certificates need now. `trusted`: the API server trusts all of their CAs, and did so a look ago. */
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
    // A replica that is told other names does the same: with the names of both, neither takes the other's away.
    const names = [...new Set([...present.names, ...wanted])];
    return { kind: 'replace', why: `it does not bear the names ${wanted.join(', ')}`, names };
  }
  const next = data === null ? null : read(pairIn(data, 'next'), bundle);
  if (next === null) return { kind: now >= present.to - times.renewBeforeMs ? 'prepare' : 'keep' };
  const overlapped = now >= next.from + times.backdateMs + times.overlapMs;
  return { kind: overlapped && trusted ? 'promote' : 'keep' };
};

const read = (pair: Pair | null, bundle: string) => (pair === null ? null : readPair(pair, bundle));

/** The stored certificates with `issued` in use at once. The CA of the former one is trusted on, while other replicas still serve it. */
export const replaced = (data: CertificateData | null, { ca, cert, key }: Issued): CertificateData => {
  const former = data?.['tls.crt'] ?? '';
  return { 'ca.crt': ca + vouchersOf(former, data === null ? '' : bundleIn(data)), 'tls.crt': cert, 'tls.key': key };
};

/** The stored certificates with `issued` beside what is in use. Every CA stays trusted: a replica that has not looked yet serves the certificate of before. */
export const prepared = (data: CertificateData, { ca, cert, key }: Issued): CertificateData => ({
  'ca.crt': ca + bundleIn(data),
  'tls.crt': data['tls.crt'] ?? '',
  'tls.key': data['tls.key'] ?? '',
  'next.crt': cert,
  'next.key': key,
});

/** The stored certificates with the next one in use. The CA of the present one stays trusted: other replicas look only now and then. Those before it go:
 *  since the next one was made, every replica has seen the present one. */
export const promoted = (data: CertificateData): CertificateData => {
  const { 'next.crt': cert = '', 'next.key': key = '', 'tls.crt': former = '' } = data;
  const bundle = bundleIn(data);
  return { 'ca.crt': vouchersOf(cert, bundle) + vouchersOf(former, bundle), 'tls.crt': cert, 'tls.key': key };
};
