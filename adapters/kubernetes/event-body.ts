import type { ClusterEvent } from '../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { apiVersionOf } from './kinds.ts';
import { microTime, wholeSeconds } from './kube-time.ts';

const REPORTER = 'routedip-operator';

/** The API's limit for the text of an Event. */
const NOTE_LIMIT = 1024;

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

const clip = (text: string): string => (text.length <= NOTE_LIMIT ? text : `${text.slice(0, NOTE_LIMIT - 1)}…`);

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
    note: clip(event.message),
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
    message: clip(event.message),
    involvedObject: regarding(about),
    firstTimestamp: wholeSeconds(firstAt),
    lastTimestamp: wholeSeconds(lastAt),
    count,
  }),
  repetition: ({ count, lastAt }) => ({ count, lastTimestamp: wholeSeconds(lastAt) }),
};
