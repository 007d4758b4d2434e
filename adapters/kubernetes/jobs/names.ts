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
  /** Stands for what no two live Jobs may be about. */
  subject: 'routedip.io/subject',
  /** The address that it is told of: no two live Jobs may be about that either, whatever RoutedIPs they work for. */
  address: 'routedip.io/address',
} as const;

export const INPUT_HASH = 'routedip.io/input-hash';
/** Of the Pod: what the file holds that its containers read. */
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

/** Whether two Jobs ask for the same: what they are told, but for the try and its deadline. */
export const inputHash = ({ action, env, request }: Pick<JobRequest, 'action' | 'env' | 'request'>): string => {
  const { ROUTEDIP_ATTEMPT: _, ...told } = env;
  return digest(canonical([action, told, request as Json]), 32);
};

/** `rip-r-<hash>` for addresses, `rip-f-<hash>` for firewalls: the same try of the same request has the same name on every process. One that creates is found by its
 *  intent, though it would be told of other ports, or of another policy, by now. */
export const jobName = (request: JobRequest): string => {
  const { subject, purpose, action, epoch, attempt } = request;
  const initial = purpose === 'updateRoutedIP' ? 'r' : 'f';
  const input = action === 'create' ? [] : [inputHash(request)];
  return `rip-${initial}-${digest(canonical([subject, purpose, action, epoch, ...input, attempt]), 40)}`;
};

/** The text itself where it is a legal value of a label; else what is legal of it and a digest, so that different texts stay different. */
export const labelValue = (text: string): string => {
  if (text === '' || (text.length <= LONGEST_LABEL && /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text))) return text;
  const legal = text.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, LONGEST_LABEL - DIGEST - 1);
  return `${legal.replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')}-${digest(text, DIGEST)}`.replace(/^-/, '');
};

/** Empty for a request that is about no address. */
export const addressLabel = ({ env: { ROUTEDIP_ADDRESS = '' } }: Pick<JobRequest, 'env'>): string => labelValue(ROUTEDIP_ADDRESS);

export const subjectLabel = (subject: string): string => digest(subject, 32);

/** The Job's part of what `JobState` calls it, and its namespace. */
export const placeOf = (job: string): { readonly namespace: string; readonly name: string } => {
  const [namespace = '', name = ''] = job.split('/', 2);
  return { namespace, name };
};
