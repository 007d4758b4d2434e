import type { Api } from './api.ts';
import type { KubeObject, OwnerReference } from './objects.ts';
import type { Resource } from './resource.ts';

interface Place {
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

const placeOf = (resource: Resource, object: KubeObject): Place => ({
  resource,
  namespace: object.metadata.namespace,
  name: object.metadata.name ?? '',
});

interface BackgroundOptions {
  log: (line: string) => void;
  /** How long a deleted pod lives on, as if a kubelet stopped it, in milliseconds. Absent: until it is deleted by force. */
  podTerminationMs?: number | undefined;
}

/** What a controller manager does in the background and every client counts on: emptying deleted namespaces, and deleting what belongs to a deleted owner. */
export class BackgroundControllers {
  readonly #api: Api;
  readonly #options: BackgroundOptions;
  /** The objects that name an owner, by its uid; kept as places since objects change. */
  readonly #dependents = new Map<string, Map<string, Place>>();

  constructor(api: Api, options: BackgroundOptions) {
    this.#api = api;
    this.#options = options;
  }

  start(): void {
    this.#api.onChange((resource, object, gone) => {
      this.#index(resource, object, gone);
      if (gone) this.#later(() => this.#afterRemoval(resource, object));
      else if (object.metadata.deletionTimestamp !== undefined) this.#later(() => this.#terminate(resource, object));
    });
  }

  /** A client sees the reply to its own request before the consequences. */
  #later(work: () => void): void {
    setImmediate(() => this.#safely(work));
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.log(`background controller: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #index(resource: Resource, object: KubeObject, gone: boolean): void {
    const place = placeOf(resource, object);
    const key = `${resource.storage}/${place.namespace ?? ''}/${place.name}`;
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const known = this.#dependents.get(uid) ?? new Map<string, Place>();
      if (gone) known.delete(key);
      else known.set(key, place);
      this.#dependents.set(uid, known);
    }
  }

  #dependentsOf(uid: string): { place: Place; object: KubeObject; reference: OwnerReference }[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])].flatMap((place) => {
      const object = this.#find(place);
      const reference = object?.metadata.ownerReferences?.find((owner) => owner.uid === uid);
      return object && reference ? [{ place, object, reference }] : [];
    });
  }

  #find({ resource, namespace, name }: Place): KubeObject | undefined {
    return this.#api.store.get(resource.storage, namespace === undefined ? name : `${namespace}/${name}`)?.object;
  }

  #afterRemoval(resource: Resource, object: KubeObject): void {
    for (const { place } of this.#dependentsOf(object.metadata.uid ?? '')) this.#release(place, object.metadata.uid ?? '');
    this.#dependents.delete(object.metadata.uid ?? '');
    for (const { uid } of object.metadata.ownerReferences ?? []) this.#ownerOf(uid);
    if (resource.namespaced && object.metadata.namespace !== undefined) this.#finishNamespace(object.metadata.namespace);
  }

  /** Deletes a dependent that has no owner left, else forgets the owner that is gone. */
  #release(place: Place, uid: string): void {
    const object = this.#find(place);
    if (!object) return;
    const left = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
    if (left.length === 0) this.#api.remove(place.resource, place.namespace, place.name, { propagationPolicy: 'Background' });
    else this.#merge(place, { ownerReferences: left });
  }

  /** A dependent is gone: its owner may have waited for that (foreground deletion). */
  #ownerOf(uid: string): void {
    for (const resource of this.#api.registry.storages()) {
      const entry = this.#api.store.list(resource.storage).entries.find(({ object }) => object.metadata.uid === uid);
      if (entry?.object.metadata.deletionTimestamp !== undefined) this.#terminate(resource, entry.object);
    }
  }

  #terminate(resource: Resource, seen: KubeObject): void {
    const place = placeOf(resource, seen);
    const object = this.#find(place);
    if (!object || object.metadata.uid !== seen.metadata.uid) return;
    if (resource.storage === 'namespaces') this.#emptyNamespace(place.name);
    if (resource.storage === 'pods') this.#stopPod(place, object);
    const finalizers = object.metadata.finalizers ?? [];
    if (finalizers.includes('orphan')) this.#orphan(place, object);
    else if (finalizers.includes('foregroundDeletion')) this.#deleteDependentsFirst(place, object);
  }

  /** A pod that was deleted gracefully waits for its kubelet; here it is told how long that takes. */
  #stopPod(place: Place, object: KubeObject): void {
    const { podTerminationMs } = this.#options;
    if (podTerminationMs === undefined || object.metadata.deletionGracePeriodSeconds === 0) return;
    const ms = Math.min(podTerminationMs, (object.metadata.deletionGracePeriodSeconds ?? 0) * 1000);
    const stop = (): void => {
      if (this.#find(place)?.metadata.uid !== object.metadata.uid) return;
      this.#api.remove(place.resource, place.namespace, place.name, { gracePeriodSeconds: 0 });
    };
    setTimeout(() => this.#safely(stop), ms).unref();
  }

  #orphan(place: Place, object: KubeObject): void {
    for (const { place: dependent, object: owned } of this.#dependentsOf(object.metadata.uid ?? '')) {
      const left = (owned.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== object.metadata.uid);
      this.#merge(dependent, { ownerReferences: left.length > 0 ? left : null });
    }
    this.#finalized(place, object, 'orphan');
  }

  #deleteDependentsFirst(place: Place, object: KubeObject): void {
    const dependents = this.#dependentsOf(object.metadata.uid ?? '');
    for (const { place: dependent, object: owned } of dependents) {
      if (owned.metadata.deletionTimestamp !== undefined) continue;
      this.#api.remove(dependent.resource, dependent.namespace, dependent.name, { propagationPolicy: 'Foreground' });
    }
    if (!dependents.some(({ reference }) => reference.blockOwnerDeletion === true)) this.#finalized(place, object, 'foregroundDeletion');
  }

  #finalized(place: Place, object: KubeObject, finalizer: string): void {
    this.#merge(place, { finalizers: (object.metadata.finalizers ?? []).filter((name) => name !== finalizer) });
  }

  #merge({ resource, namespace, name }: Place, metadata: KubeObject['metadata'] | { ownerReferences: null }): void {
    this.#api.patch(resource, namespace, name, { type: 'application/merge-patch+json', body: { metadata } });
  }

  #emptyNamespace(namespace: string): void {
    for (const resource of this.#api.registry.storages()) {
      if (!resource.namespaced) continue;
      for (const { object } of this.#api.store.list(resource.storage).entries) {
        if (object.metadata.namespace !== namespace || object.metadata.deletionTimestamp !== undefined) continue;
        this.#api.remove(resource, namespace, object.metadata.name ?? '', { gracePeriodSeconds: 0 });
      }
    }
    this.#finishNamespace(namespace);
  }

  #finishNamespace(name: string): void {
    const namespaces = this.#api.registry.find('v1', 'namespaces');
    const object = namespaces && this.#find({ resource: namespaces, namespace: undefined, name });
    if (!object || object.metadata.deletionTimestamp === undefined) return;
    const filled = this.#api.registry
      .storages()
      .some(
        (resource) =>
          resource.namespaced && this.#api.store.list(resource.storage).entries.some((entry) => entry.object.metadata.namespace === name),
      );
    if (!filled) this.#api.drop(namespaces, object);
  }
}
