import type { JobMessage } from '../../../actors/ports/job-driver.ts';
import { type Fields, type Finding, fieldsOf } from '../../../machines/model/types.ts';
import { INPUT_HASH, LABELS } from './names.ts';

/** A Job reduced to what decides. */
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
  /** How long it may run, ms; null for as long as it likes. */
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
  /** When it is to be gone at the latest, ms since the epoch; null while nobody deletes it. */
  readonly goneBy: number | null;
  /** No container of it runs any more, or ever will. */
  readonly ended: boolean;
  /** A container of it began at some time. */
  readonly started: boolean;
  /** Why no container begins, in Kubernetes' words; null when nothing is known of it. */
  readonly waits: Finding | null;
  /** Of the containers that ended, in the order of the template, those of the start first. */
  readonly exits: readonly SeenExit[];
}

interface SeenExit {
  readonly code: number;
  readonly message: JobMessage;
  /** What it said for people. */
  readonly said: string;
}

/** Takes secrets out of a text. What Jobs, their Pods and the Events about them say passes through it as it is read: a script may print its environment, and half a
 *  secret, where a text was cut off, is not known as one. */
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

/** A container that is to start again tells of its last end only there. */
const exitOf = (container: Fields, hide: Hide): readonly SeenExit[] => {
  const { exitCode, message } = fieldsOf(stateOf(container).terminated ?? fieldsOf(container.lastState).terminated);
  if (typeof exitCode !== 'number') return [];
  const raw = textOf(message);
  // What stands where an address should be is shown as well when it is none.
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

/** What a Warning Event says. */
export const readEvent = (object: unknown, hide: Hide): { readonly at: number; readonly finding: Finding } => {
  const event = fieldsOf(object);
  const { lastTimestamp, eventTime, series, metadata } = event;
  const at = Math.max(...[lastTimestamp, eventTime, fieldsOf(series).lastObservedTime, fieldsOf(metadata).creationTimestamp].map(timeOf));
  return { at, finding: findingOf(event, hide) };
};

/** As Kubernetes cuts off what a container says at its end, bytes. */
const LONGEST_MESSAGE = 4096;

/** What is no JSON object of texts says nothing. */
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
    // People may write there what they like.
    return {};
  }
};
