import type { ClusterEvent } from '../../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { apiVersionOf } from '../cache/kinds.ts';
import { microTime, wholeSeconds } from '../client/kube-time.ts';
import { withinBytes } from '../client/within-bytes.ts';

const REPORTER = 'routedip-operator';

/** The API's limit for the text of an Event, bytes. */
const LONGEST_NOTE = 1024;

/** The API's limit for the name of an Event. */
const LONGEST_NAME = 253;

/** One Event to report; `count` is how often it happened. */
export interface Report {
  readonly name: string;
  readonly about: ObjectRef;
  readonly event: ClusterEvent;
  /** The reporting process. */
  readonly instance: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
}

/** The API for Events: `events.k8s.io/v1`, or the core one on servers that do not serve it. */
export interface EventApi {
  path(namespace: string): string;
  body(report: Report): unknown;
  /** A merge patch that records repetitions. */
  repetition(report: Report): unknown;
}

/** The Event with its message truncated to the API's limit. */
export const withinNote = (event: ClusterEvent): ClusterEvent => ({ ...event, message: withinBytes(event.message, LONGEST_NOTE) });

const noteOf = (event: ClusterEvent): string => withinNote(event).message;

/** The name of an Event: its object's name plus a unique suffix. A long object name is truncated, including trailing characters that are invalid
 *  before a dot. */
export const eventName = (object: string, unique: string): string =>
  `${object.slice(0, LONGEST_NAME - unique.length - 1).replace(/[^a-z0-9]+$/, '')}.${unique}`;

/** Events about cluster-scoped objects are in `default`, where the API server requires them and kubectl looks. */
export const eventNamespace = ({ namespace }: ObjectRef): string => namespace || 'default';

const regarding = ({ kind, namespace, name, uid }: ObjectRef) => ({
  apiVersion: apiVersionOf(kind),
  kind,
  ...(namespace === '' ? {} : { namespace }),
  name,
  uid,
});

export const eventsApi: EventApi = {
  path: (namespace) => `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`,
  body: ({ name, about, event, instance, firstAt }) => ({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(about) },
    eventTime: microTime(firstAt),
    reportingController: REPORTER,
    reportingInstance: instance,
    action: event.action,
    reason: event.reason,
    type: event.type,
    note: noteOf(event),
    regarding: regarding(about),
  }),
  repetition: ({ count, lastAt }) => ({ series: { count, lastObservedTime: microTime(lastAt) } }),
};

export const coreEventsApi: EventApi = {
  path: (namespace) => `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
  body: ({ name, about, event, instance, firstAt, lastAt, count }) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(about) },
    source: { component: REPORTER, host: instance },
    reason: event.reason,
    type: event.type,
    message: noteOf(event),
    involvedObject: regarding(about),
    firstTimestamp: wholeSeconds(firstAt),
    lastTimestamp: wholeSeconds(lastAt),
    count,
  }),
  repetition: ({ count, lastAt }) => ({ count, lastTimestamp: wholeSeconds(lastAt) }),
};
