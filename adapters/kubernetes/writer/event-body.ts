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

/** One Event as it is to be reported; `count` tells how often it happened. */
export interface Report {
  readonly name: string;
  readonly about: ObjectRef;
  readonly event: ClusterEvent;
  /** The process that reports. */
  readonly instance: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
}

/** The API that takes Events: `events.k8s.io/v1`, or the core one on servers that do not serve it. */
export interface EventApi {
  path(namespace: string): string;
  body(report: Report): unknown;
  /** A merge patch that tells of repetitions. */
  repetition(report: Report): unknown;
}

/** The Event with as much of its text as the API takes. */
export const withinNote = (event: ClusterEvent): ClusterEvent => ({ ...event, message: withinBytes(event.message, LONGEST_NOTE) });

const noteOf = (event: ClusterEvent): string => withinNote(event).message;

/** The name of an Event: that of its object and what makes it unique. An object may have a name as long as an Event's may be: then the end of it is left out, and
 *  what would no longer be valid before a dot. */
export const eventName = (object: string, unique: string): string =>
  `${object.slice(0, LONGEST_NAME - unique.length - 1).replace(/[^a-z0-9]+$/, '')}.${unique}`;

/** Events about objects without a namespace stand in `default`, where the API server demands them and kubectl looks. */
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
