/** JSON as it travels over the API; `undefined` members are dropped when it is written. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json | undefined;
}

export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

export interface ObjectMeta extends JsonObject {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: { [key: string]: string };
  annotations?: { [key: string]: string };
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface KubeObject extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A deep copy. The input is JSON already, so parsing its text is the quickest faithful copy. */
export const copy = <T extends Json>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** The value under `path`, or undefined as soon as one step is missing. */
export const at = (value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined => {
  let here: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(here) && typeof step === 'number') here = here[step];
    else if (isObject(here)) here = here[String(step)];
    else return undefined;
  }
  return here;
};

/** The member `key` of `parent` as an object, put there when it is missing or of another type. */
export const member = (parent: JsonObject, key: string): JsonObject => {
  const present = parent[key];
  if (isObject(present)) return present;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
};

/** Equality of JSON values, whatever the order of their keys; a member that is undefined counts as missing. */
export const equal = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((value, index) => equal(value, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  for (const key of Object.keys(a)) if (!equal(a[key], b[key])) return false;
  for (const key of Object.keys(b)) if (b[key] !== undefined && a[key] === undefined) return false;
  return true;
};

/** Now, as Kubernetes writes `metav1.Time`: whole seconds, UTC. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export interface Cause extends JsonObject {
  reason: string;
  message: string;
  field: string;
}
