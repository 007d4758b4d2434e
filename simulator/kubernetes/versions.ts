import type { JsonObject, KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { fromBetaSlice, toBetaSlice } from './slice-versions.ts';

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

interface Conversion {
  fromStorage(stored: KubeObject): JsonObject;
  toStorage(object: KubeObject): JsonObject;
}

/** Kinds whose versions differ in more than their name, by storage. */
const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  events: { fromStorage: (stored) => renamed(stored, EVENT_NAMES), toStorage: (object) => renamed(object, STORED_NAMES) },
  'endpointslices.discovery.k8s.io': { fromStorage: toBetaSlice, toStorage: fromBetaSlice },
};

const conversionOf = (resource: Resource): Conversion | undefined => (resource.custom ? undefined : CONVERSIONS[resource.storage]);

/** The object as it is served in the resource's version. */
export const fromStorage = (resource: Resource, stored: KubeObject): KubeObject => {
  const apiVersion = apiVersionOf(resource);
  if (stored.apiVersion === apiVersion) return stored;
  const object = conversionOf(resource)?.fromStorage(stored) ?? stored;
  return { ...object, apiVersion } as KubeObject;
};

/** The object as it is stored. Definitions with several versions convert by strategy None: only apiVersion changes. */
export const toStorage = (resource: Resource, object: KubeObject): KubeObject => {
  if (apiVersionOf(resource) === resource.storageVersion) return object;
  const stored = conversionOf(resource)?.toStorage(object) ?? object;
  return { ...stored, apiVersion: resource.storageVersion } as KubeObject;
};
