import type { Api } from './api.ts';
import type { Deletion } from './deletion.ts';
import { noSuchPath } from './errors.ts';
import { copy, type Json, type KubeObject } from './objects.ts';
import type { WriteOptions } from './options.ts';
import type { Resource } from './resource.ts';
import { allOf, fieldPredicate, labelPredicate } from './selectors.ts';
import { fromStorage } from './versions.ts';

export interface ObjectRef {
  apiVersion: string;
  kind: string;
  name: string;
  namespace?: string;
}

export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** The simulator's objects without HTTP, under the same rules: refusals are thrown as ApiError, watches hear of every write. What is returned is a copy. */
export class ObjectStore {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  create(object: Json, options: WriteOptions = {}): KubeObject {
    const { apiVersion, kind, metadata } = object as KubeObject;
    const resource = this.#resource(apiVersion, kind);
    const namespace = resource.namespaced ? (metadata.namespace ?? 'default') : undefined;
    return copy(this.#api.create(resource, namespace, object, options));
  }

  /** PUT, of the main resource or of `options.subresource`. */
  update(object: Json, options: WriteOptions = {}): KubeObject {
    const { apiVersion, kind, metadata } = object as KubeObject;
    const resource = this.#resource(apiVersion, kind);
    const namespace = resource.namespaced ? (metadata.namespace ?? 'default') : undefined;
    return copy(this.#api.update(resource, namespace, metadata.name ?? '', object, options).object);
  }

  /** A merge patch unless `type` names another content type. */
  patch(ref: ObjectRef, body: Json, options: WriteOptions & { type?: string } = {}): KubeObject {
    const { resource, namespace } = this.#place(ref);
    const { type = 'application/merge-patch+json', ...rest } = options;
    return copy(this.#api.patch(resource, namespace, ref.name, { type, body }, rest).object);
  }

  delete(ref: ObjectRef, deletion: Deletion = {}): KubeObject {
    const { resource, namespace } = this.#place(ref);
    return copy(this.#api.remove(resource, namespace, ref.name, deletion).last);
  }

  get(ref: ObjectRef): KubeObject {
    const { resource, namespace } = this.#place(ref);
    return copy(this.#api.get(resource, namespace, ref.name));
  }

  /** Undefined instead of a refusal when it does not exist. */
  find(ref: ObjectRef): KubeObject | undefined {
    const { resource, namespace } = this.#place(ref);
    const entry = this.#api.store.get(resource.storage, namespace === undefined ? ref.name : `${namespace}/${ref.name}`);
    return entry && copy(fromStorage(resource, entry.object));
  }

  /** In the order of namespace and name. */
  list(apiVersion: string, kind: string, selection: Selection = {}): KubeObject[] {
    const resource = this.#resource(apiVersion, kind);
    const selected = allOf(
      selection.namespace === undefined ? undefined : (object) => object.metadata.namespace === selection.namespace,
      labelPredicate(selection.labelSelector ?? ''),
      fieldPredicate(resource, selection.fieldSelector ?? ''),
    );
    const { entries } = this.#api.store.list(resource.storage);
    return entries.filter((entry) => !selected || selected(entry.object)).map((entry) => copy(fromStorage(resource, entry.object)));
  }

  #place(ref: ObjectRef): { resource: Resource; namespace: string | undefined } {
    const resource = this.#resource(ref.apiVersion, ref.kind);
    return { resource, namespace: resource.namespaced ? (ref.namespace ?? 'default') : undefined };
  }

  #resource(apiVersion: string, kind: string): Resource {
    const resource = this.#api.registry.findKind(apiVersion, kind);
    if (!resource) throw noSuchPath();
    return resource;
  }
}
