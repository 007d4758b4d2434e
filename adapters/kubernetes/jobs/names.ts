import { createHash } from 'node:crypto';
import type { JobRequest } from '../../../actors/ports/job-driver.ts';
import type { Json } from '../../../actors/ports/records.ts';

export const LABELS = {
  purpose: 'routedip.io/purpose',
  action: 'routedip.io/action',
  class: 'routedip.io/class',
  namespace: 'routedip.io/routedip-namespace',
  name: 'routedip.io/routedip-name',
  uid: 'routedip.io/routedip-uid',
  epoch: 'routedip.io/epoch',
  /** Digest of the subject: no two live Jobs may have the same. */
  subject: 'routedip.io/subject',
  /** The address passed to the Job: no two live Jobs may have the same, even for different RoutedIPs. */
  address: 'routedip.io/address',
} as const;

export const INPUT_HASH = 'routedip.io/input-hash';
/** Annotation of the Pod with the content of the request file that its containers read. */
export const REQUEST = 'routedip.io/request';

const LONGEST_LABEL = 63;
const DIGEST = 10;

const digest = (text: string, length: number): string => createHash('sha256').update(text).digest('hex').slice(0, length);

/** The same text for equal values, whatever the order of their keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

/** Equal for two Jobs that request the same: a hash of their input without attempt and deadline. */
export const inputHash = ({ action, env, request }: Pick<JobRequest, 'action' | 'env' | 'request'>): string => {
  const { ROUTEDIP_ATTEMPT: _, ...told } = env;
  return digest(canonical([action, told, request as Json]), 32);
};

/** `rip-r-<hash>` for addresses, `rip-f-<hash>` for firewalls: the same attempt of the same request has the same name in every process. The name of a create Job
 *  does not depend on its input, so that it is found even when ports or policies have changed since. */
export const jobName = (request: JobRequest): string => {
  const { subject, purpose, action, epoch, attempt } = request;
  const initial = purpose === 'updateRoutedIP' ? 'r' : 'f';
  const input = action === 'create' ? [] : [inputHash(request)];
  return `rip-${initial}-${digest(canonical([subject, purpose, action, epoch, ...input, attempt]), 40)}`;
};

/** The text itself where it is a valid label value; otherwise a sanitized prefix plus a digest, so that different texts stay different. */
export const labelValue = (text: string): string => {
  if (text === '' || (text.length <= LONGEST_LABEL && /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text))) return text;
  const legal = text.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, LONGEST_LABEL - DIGEST - 1);
  return `${legal.replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')}-${digest(text, DIGEST)}`.replace(/^-/, '');
};

/** Empty for a request without an address. */
export const addressLabel = ({ env: { ROUTEDIP_ADDRESS = '' } }: Pick<JobRequest, 'env'>): string => labelValue(ROUTEDIP_ADDRESS);

export const subjectLabel = (subject: string): string => digest(subject, 32);

/** Splits the `namespace/name` of a `JobState`. */
export const placeOf = (job: string): { readonly namespace: string; readonly name: string } => {
  const [namespace = '', name = ''] = job.split('/', 2);
  return { namespace, name };
};
