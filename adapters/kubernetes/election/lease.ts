import { fieldsOf, isTerm } from '../../../machines/model/types.ts';
import { ServerUnreachable } from '../client/api-error.ts';
import { microTime } from '../client/kube-time.ts';

const API_VERSION = 'coordination.k8s.io/v1';
const KIND = 'Lease';

/** The same name as FLIPOP's, so that the two never manage the same pools at once. */
export const LEASE_NAME = 'floating-ip-pool-controller-leader-election';

/** Carries the term of the newest leader. */
const TERM_ANNOTATION = 'routedip.io/term';

/** Carries that term and the run ID of the Redis server on which it was opened: earlier versions write only the term and leave this annotation unchanged. */
const SERVER_ANNOTATION = 'routedip.io/redis';

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/** A Lease as stored. Fields that are not read are kept, since it is written back whole. */
export interface Lease {
  readonly metadata: { readonly uid?: string; readonly resourceVersion?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: LeaseSpec;
}

const isAbsentOr = (value: unknown, type: 'string' | 'number'): boolean => value === undefined || typeof value === type;

/** Parses a response as a Lease. It must be valid: it decides who leads and until when, and is written back as received.
 *  @throws ServerUnreachable for anything else */
export const leaseIn = (answer: unknown): Lease => {
  const { apiVersion, kind, metadata, spec = {} } = fieldsOf(answer);
  const { resourceVersion, annotations = {} } = fieldsOf(metadata);
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = fieldsOf(spec);
  const isLease =
    apiVersion === API_VERSION &&
    kind === KIND &&
    typeof resourceVersion === 'string' &&
    Object.values(fieldsOf(annotations)).every((value) => typeof value === 'string') &&
    [holderIdentity, acquireTime, renewTime].every((value) => isAbsentOr(value, 'string')) &&
    [leaseDurationSeconds, leaseTransitions].every((value) => isAbsentOr(value, 'number')) &&
    (leaseDurationSeconds === undefined || Number(leaseDurationSeconds) > 0);
  if (!isLease) throw new ServerUnreachable('what was answered is no Lease');
  return answer as Lease;
};

export const holderOf = ({ spec }: Lease): string => spec?.holderIdentity ?? '';

/** 0 for none. */
export const termOf = ({ metadata }: Lease): number => {
  const term = Number(metadata.annotations?.[TERM_ANNOTATION]);
  return isTerm(term) ? term : 0;
};

/** The Redis server on which its term was opened; null when not recorded. */
export const serverOf = (lease: Lease): string | null => {
  const [term, ...server] = (lease.metadata.annotations?.[SERVER_ANNOTATION] ?? '').split(' ');
  return server.length > 0 && Number(term) === termOf(lease) ? server.join(' ') : null;
};

/** How long the holder may lead after a renewal, ms. */
export const durationMsOf = ({ spec }: Lease, otherwiseMs: number): number =>
  spec?.leaseDurationSeconds === undefined ? otherwiseMs : spec.leaseDurationSeconds * 1000;

/** Minimum skew of the holder's clock relative to `now`, ms: positive when it is ahead, negative when behind, 0 when it need not differ. The renewal was made
 *  within the last `withinMs`. */
export const aheadMs = ({ spec }: Lease, now: number, withinMs: number): number => {
  const renewedAt = Date.parse(spec?.renewTime ?? '');
  if (Number.isNaN(renewedAt)) return 0;
  return Math.max(0, renewedAt - now) + Math.min(0, renewedAt - (now - withinMs));
};

/** An unheld Lease, to be created. */
export const newLease = (namespace: string, name: string): Lease & { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name, namespace } as Lease['metadata'],
});

const withSpec = (lease: Lease, change: LeaseSpec): Lease => ({ ...lease, spec: { ...lease.spec, ...change } });

/** Held by `identity` from now on. Re-acquiring by the same holder does not count as a transition. */
export const takenBy = (lease: Lease, identity: string, durationMs: number, now: number): Lease => {
  const same = holderOf(lease) === identity;
  const transitions = lease.spec?.leaseTransitions ?? 0;
  return withSpec(lease, {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: same ? (lease.spec?.acquireTime ?? microTime(now)) : microTime(now),
    renewTime: microTime(now),
    leaseTransitions: same || lease.spec === undefined ? transitions : transitions + 1,
  });
};

export const renewed = (lease: Lease, now: number): Lease => withSpec(lease, { renewTime: microTime(now) });

/** Released: other candidates may take it immediately. The short duration is for clients that check only the times. */
export const givenUp = (lease: Lease, now: number): Lease =>
  withSpec(lease, { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: microTime(now), renewTime: microTime(now) });

export const withTerm = (lease: Lease, term: number, server: string | null): Lease => {
  const { [SERVER_ANNOTATION]: _, ...others } = lease.metadata.annotations ?? {};
  const annotations = { ...others, [TERM_ANNOTATION]: String(term), ...(server !== null && { [SERVER_ANNOTATION]: `${term} ${server}` }) };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
};
