import type { Cause, KubeObject } from './objects.ts';
import type { Schema } from './schema/schema.ts';

/** A column of the tables that `kubectl get` prints. `priority` 0 is always shown, 1 with `-o wide`. */
export interface Column {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  /** The path of a custom resource's column; built-in ones are computed from the object. */
  jsonPath?: string;
}

/** What a custom resource's version says of its objects: pruning, defaults and validation. */
export interface ObjectSchema {
  /** The schema itself, which merging and `kubectl explain` go by. */
  structure(): Schema;
  /** Removes unknown fields from `object` and fills in defaults.
   *  @throws ApiError 400 when there are unknown fields and `fieldValidation` is Strict. */
  accept(object: KubeObject, options: { fieldValidation?: string | undefined; warnings?: string[] }): void;
  /** Removes the unknown fields alone, and answers whether there were any; absent for built-in kinds, whose schemas never change. */
  prune?(object: KubeObject): boolean;
  /** The violated rules; `old` is the object before an update. */
  validate(object: KubeObject, old: KubeObject | undefined, options: { subresource?: string | undefined; minor?: number }): Cause[];
}

/** One served resource in one version. */
export interface Resource {
  group: string;
  version: string;
  kind: string;
  listKind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  /** Whether `/status` is served; then each of spec and status is written through its own path only. */
  status: boolean;
  verbs: readonly string[];
  /** Where its objects lie; the versions of one kind share it. */
  storage: string;
  /** The apiVersion objects are stored in. */
  storageVersion: string;
  /** True for the kinds of custom resource definitions. */
  custom: boolean;
  schema?: ObjectSchema;
  columns?: readonly Column[];
  /** Fields of a custom resource that may be selected on, as `spec.provider`. */
  selectableFields?: readonly string[];
  /** What every client is warned of that asks for it. */
  deprecated?: string;
}

export const apiVersionOf = (resource: Pick<Resource, 'group' | 'version'>): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;

/** `pods`, `leases.coordination.k8s.io`: how messages name a resource. */
export const qualifiedResource = (resource: Resource): string =>
  resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;

export const qualifiedKind = (resource: Resource): string => (resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`);
