import type { JobMessage } from '../../../actors/ports/job-driver.ts';
import { type Fields, type Finding, fieldsOf } from '../../../machines/model/types.ts';
import { INPUT_HASH, LABELS } from './names.ts';

/** A Job reduced to the fields that decisions depend on. */
export interface SeenJob {
  readonly name: string;
  readonly uid: string;
  readonly purpose: string;
  readonly action: string;
  readonly subject: string;
  /** Empty for none. */
  readonly address: string;
  readonly inputHash: string;
  /** ms since the epoch. */
  readonly createdAt: number;
  /** How long it may run, ms; null for no limit. */
  readonly deadlineMs: number | null;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly resourceVersion: string;
  readonly end: { readonly kind: 'succeeded' } | { readonly kind: 'failed'; readonly text: string; readonly isDeadline: boolean } | null;
}

/** A Pod of a Job, likewise. */
export interface SeenPod {
  readonly name: string;
  readonly uid: string;
  readonly job: string;
  readonly createdAt: number;
  /** When it must be gone at the latest, ms since the epoch; null unless it is being deleted. */
  readonly goneBy: number | null;
  /** None of its containers runs now or ever will. */
  readonly ended: boolean;
  /** One of its containers has started at some time. */
  readonly started: boolean;
  /** Why no container starts, in Kubernetes' words; null when unknown. */
  readonly waits: Finding | null;
  /** Of the containers that ended, in template order, init containers first. */
  readonly exits: readonly SeenExit[];
}

interface SeenExit {
  readonly code: number;
  readonly message: JobMessage;
  /** Its human-readable message. */
  readonly said: string;
}

/** Redacts secrets in a text. Texts from Jobs, their Pods and their Events pass through it as they are read: a script may print its environment, and a truncated
 *  secret would not be recognized. */
export type Hide = (text: string) => string;

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const timeOf = (value: unknown): number => Date.parse(textOf(value)) || 0;
const joined = (hide: Hide, ...texts: readonly unknown[]): string =>
  hide(
    texts
      .map(textOf)
      .filter((text) => text !== '')
      .join(': '),
  );

export const readJob = (object: unknown, hide: Hide): SeenJob => {
  const { metadata, spec, status } = fieldsOf(object);
  const { name, uid, labels, annotations, creationTimestamp, deletionTimestamp, finalizers, resourceVersion } = fieldsOf(metadata);
  const { activeDeadlineSeconds } = fieldsOf(spec);
  const marks = fieldsOf(labels);
  return {
    name: textOf(name),
    uid: textOf(uid),
    purpose: textOf(marks[LABELS.purpose]),
    action: textOf(marks[LABELS.action]),
    subject: textOf(marks[LABELS.subject]),
    address: textOf(marks[LABELS.address]),
    inputHash: textOf(fieldsOf(annotations)[INPUT_HASH]),
    createdAt: timeOf(creationTimestamp),
    deadlineMs: typeof activeDeadlineSeconds === 'number' ? activeDeadlineSeconds * 1000 : null,
    deleting: deletionTimestamp !== undefined,
    finalizers: Array.isArray(finalizers) ? finalizers.map(String) : [],
    resourceVersion: textOf(resourceVersion),
    end: endOf(listOf(fieldsOf(status).conditions), hide),
  };
};

const endOf = (conditions: readonly Fields[], hide: Hide): SeenJob['end'] => {
  const found = (type: string): Fields | undefined => conditions.find((each) => each.type === type && each.status === 'True');
  if (found('Complete')) return { kind: 'succeeded' };
  const failed = found('Failed');
  return failed
    ? { kind: 'failed', text: joined(hide, failed.reason, failed.message), isDeadline: failed.reason === 'DeadlineExceeded' }
    : null;
};

export const readPod = (object: unknown, hide: Hide): SeenPod => {
  const { metadata, status } = fieldsOf(object);
  const { name, uid, labels, creationTimestamp, deletionTimestamp } = fieldsOf(metadata);
  const { phase, conditions, containerStatuses, initContainerStatuses } = fieldsOf(status);
  const containers = [...listOf(initContainerStatuses), ...listOf(containerStatuses)];
  const waits = waitOf(containers) ?? unscheduled(listOf(conditions));
  return {
    name: textOf(name),
    uid: textOf(uid),
    job: textOf(fieldsOf(labels)['job-name']),
    createdAt: timeOf(creationTimestamp),
    goneBy: deletionTimestamp === undefined ? null : timeOf(deletionTimestamp),
    ended: phase === 'Succeeded' || phase === 'Failed',
    started: phase === 'Succeeded' || containers.some(hasStarted),
    waits: waits ? findingOf(waits, hide) : null,
    exits: containers.flatMap((container) => exitOf(container, hide)),
  };
};

const stateOf = (container: Fields): Fields => fieldsOf(container.state);

const hasStarted = (container: Fields): boolean => {
  const { running, terminated } = stateOf(container);
  return running !== undefined || terminated !== undefined || fieldsOf(container.lastState).terminated !== undefined;
};

/** A container that is about to restart shows its last exit only in `lastState`. */
const exitOf = (container: Fields, hide: Hide): readonly SeenExit[] => {
  const { exitCode, message } = fieldsOf(stateOf(container).terminated ?? fieldsOf(container.lastState).terminated);
  if (typeof exitCode !== 'number') return [];
  const raw = textOf(message);
  // All fields are redacted: an invalid address is shown to the user too.
  const told: JobMessage = Object.fromEntries(Object.entries(readMessage(raw)).map(([key, text]) => [key, hide(text)]));
  return [{ code: exitCode, message: told, said: told.message ?? hide(raw.trim()) }];
};

const waitOf = (containers: readonly Fields[]): Fields | undefined =>
  containers.map((each) => fieldsOf(stateOf(each).waiting)).find(({ reason }) => textOf(reason) !== '');

const unscheduled = (conditions: readonly Fields[]): Fields | undefined =>
  conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False');

const findingOf = ({ reason, message }: Fields, hide: Hide): Finding => ({
  reason: hide(textOf(reason)),
  message: joined(hide, reason, message),
});

/** The finding in a Warning Event. */
export const readEvent = (object: unknown, hide: Hide): { readonly at: number; readonly finding: Finding } => {
  const event = fieldsOf(object);
  const { lastTimestamp, eventTime, series, metadata } = event;
  const at = Math.max(...[lastTimestamp, eventTime, fieldsOf(series).lastObservedTime, fieldsOf(metadata).creationTimestamp].map(timeOf));
  return { at, finding: findingOf(event, hide) };
};

/** Kubernetes truncates termination messages to this, bytes. */
const LONGEST_MESSAGE = 4096;

/** Empty unless the text is a JSON object; fields that are not strings are dropped. */
const readMessage = (text: string): JobMessage => {
  const fields = Buffer.byteLength(text) > LONGEST_MESSAGE ? {} : parsed(text);
  const of = (key: 'address' | 'providerID' | 'message'): JobMessage => {
    const value = fields[key];
    return typeof value === 'string' ? { [key]: value } : value === null ? { [key]: '' } : {};
  };
  return { ...of('address'), ...of('providerID'), ...of('message') };
};

const parsed = (text: string): Fields => {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    // Scripts may write any text there.
    return {};
  }
};
