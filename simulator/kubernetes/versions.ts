import type { JsonObject, KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** Fields of an Event that events.k8s.io/v1 names otherwise than v1; the stored form is that of v1. */
const EVENT_NAMES: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
};

const STORED_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(EVENT_NAMES).map(([stored, served]) => [served, stored]),
);

const renamed = (object: KubeObject, names: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [names[key] ?? key, value]));

const sameForm = (resource: Resource): boolean => resource.custom || resource.storage !== 'events';

/** The object as it is served in the resource's version. */
export const fromStorage = (resource: Resource, stored: KubeObject): KubeObject => {
  const apiVersion = apiVersionOf(resource);
  if (stored.apiVersion === apiVersion) return stored;
  const object = sameForm(resource) ? stored : renamed(stored, EVENT_NAMES);
  return { ...object, apiVersion } as KubeObject;
};

/** The object as it is stored. Definitions with several versions convert by strategy None: only apiVersion changes. */
export const toStorage = (resource: Resource, object: KubeObject): KubeObject => {
  if (apiVersionOf(resource) === resource.storageVersion) return object;
  const stored = sameForm(resource) ? object : renamed(object, STORED_NAMES);
  return { ...stored, apiVersion: resource.storageVersion } as KubeObject;
};
