import { asObject, typeCauses } from './acceptance.ts';
import type { AdmissionCheck } from './admission/attributes.ts';
import { firstOwner, recordUpdate, setManagers } from './apply/managed-fields.ts';
import { mergeSchemaOf } from './apply/schemas.ts';
import { checkPreconditions, type Deletion, finalizersAfter, graceOf, lastOf, markDeleted } from './deletion.ts';
import { ApiError, alreadyExists, badRequest, forbidden, invalid, modified, notFound, uidConflict } from './errors.ts';
import { completeNew } from './kinds/defaults.ts';
import { settleService } from './kinds/services.ts';
import { metaCauses, stampNew, stampUpdate, tidyMeta } from './meta.ts';
import type { Cause, Json, KubeObject } from './objects.ts';
import type { WriteOptions } from './options.ts';
import { applyPatchOf, isApply } from './patching.ts';
import type { Registry } from './registry.ts';
import { inOrder } from './representation.ts';
import type { Resource } from './resource.ts';
import { type Entry, keyOf, type Store } from './store.ts';
import { prepareNew, prepareUpdate, strategyOf } from './strategies.ts';
import { fromStorage, toStorage } from './versions.ts';

interface Written {
  object: KubeObject;
  created: boolean;
}

/** The object as it is left, or null when it is gone at once. */
interface Deleted {
  last: KubeObject;
  gone: boolean;
}

/** What the API server does with objects, apart from HTTP: admission of writes, conflicts, finalizers, deletion. */
export class Api {
  readonly store: Store;
  readonly registry: Registry;
  readonly #now: () => number;
  readonly #minor: number;
  #admission: AdmissionCheck = () => undefined;
  /** Told after each stored change of an object, so that controllers can follow. */
  readonly #hooks: ((resource: Resource, object: KubeObject, gone: boolean) => void)[] = [];

  /** As a server of Kubernetes 1 of this minor version. */
  constructor(store: Store, registry: Registry, now: () => number, minor: number) {
    this.store = store;
    this.registry = registry;
    this.#now = now;
    this.#minor = minor;
  }

  /** Has every write that a user asks for judged once it is known to be valid, before it is stored. */
  admitBy(check: AdmissionCheck): void {
    this.#admission = check;
  }

  onChange(hook: (resource: Resource, object: KubeObject, gone: boolean) => void): void {
    this.#hooks.push(hook);
  }

  /** @throws ApiError 404. */
  entry(resource: Resource, namespace: string | undefined, name: string): Entry {
    const entry = this.store.get(resource.storage, keyOf(namespace, name));
    if (!entry) throw notFound(resource, name);
    return entry;
  }

  get(resource: Resource, namespace: string | undefined, name: string): KubeObject {
    return fromStorage(resource, this.entry(resource, namespace, name).object);
  }

  /** @throws ApiError 400, 403, 404 (namespace), 409, 422. */
  create(resource: Resource, namespace: string | undefined, body: Json, options: WriteOptions = {}): KubeObject {
    const object = this.#accept(resource, namespace, body, options);
    if (object.metadata.resourceVersion) throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
    this.#requireNamespace(resource, namespace, object.metadata.name ?? '');
    if (!options.applied) delete object.metadata.managedFields;
    stampNew(object, this.#now());
    prepareNew(resource, object);
    completeNew(resource, object, this.store, this.#minor);
    tidyMeta(object.metadata);
    this.#check(resource, object, undefined, options);
    this.#admission({ operation: 'CREATE', resource, object, old: null }, options);
    const name = object.metadata.name ?? '';
    const stored = toStorage(resource, object);
    if (this.store.get(resource.storage, keyOf(namespace, name))) throw alreadyExists(resource, name);
    return this.#save(resource, stored, options);
  }

  /** PUT. @throws ApiError 400, 404, 409, 422. */
  update(resource: Resource, namespace: string | undefined, name: string, body: Json, options: WriteOptions = {}): Written {
    const object = this.#accept(resource, namespace, body, options);
    if (object.metadata.name !== name) {
      const why = object.metadata.name
        ? `the name of the object (${object.metadata.name}) does not match the name on the URL (${name})`
        : 'name must be provided';
      throw badRequest(why);
    }
    const present = this.store.get(resource.storage, keyOf(namespace, name));
    if (!present) {
      if (options.subresource || !strategyOf(resource).createOnUpdate) throw notFound(resource, name);
      delete object.metadata.resourceVersion;
      return { object: this.create(resource, namespace, object, options), created: true };
    }
    return { object: this.#replace(resource, present, object, options), created: false };
  }

  /** PATCH by its content type; server-side apply creates what is missing. @throws ApiError 400, 404, 409, 415, 422. */
  patch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    patch: { type: string; body: Json },
    options: WriteOptions = {},
  ): Written {
    const present = this.store.get(resource.storage, keyOf(namespace, name));
    const applying = isApply(patch.type);
    if (!present && !applying) throw notFound(resource, name);
    const current = present ? fromStorage(resource, present.object) : undefined;
    const result = applyPatchOf({ resource, current, namespace, name, now: this.#now() }, patch, options);
    if (!present) return { object: this.create(resource, namespace, result, { ...options, applied: true }), created: true };
    const object = this.#accept(resource, namespace, result, options);
    if (object.metadata.name !== name)
      throw badRequest(`the name of the object (${object.metadata.name ?? ''}) does not match the name on the URL (${name})`);
    return { object: this.#replace(resource, present, object, { ...options, applied: applying }), created: false };
  }

  /** @throws ApiError 404, 409 (precondition). */
  remove(resource: Resource, namespace: string | undefined, name: string, deletion: Deletion = {}): Deleted {
    const entry = this.entry(resource, namespace, name);
    const { object } = entry;
    checkPreconditions(resource, object, deletion);
    this.#admission({ operation: 'DELETE', resource, object: null, old: fromStorage(resource, object) }, deletion);
    if (deletion.dryRun) return { last: fromStorage(resource, object), gone: !strategyOf(resource).returnsDeleted };
    const finalizers = finalizersAfter(object, deletion);
    const grace = graceOf(resource, object, deletion);
    // A namespace stays until a controller has emptied it.
    if (finalizers.length === 0 && grace === 0 && resource.storage !== 'namespaces')
      return { last: lastOf(resource, this.#drop(resource, object), this.#now()), gone: true };
    const marked = markDeleted(object, finalizers, grace, this.#now());
    if (resource.storage === 'namespaces') {
      marked.status = { phase: 'Terminating' };
      delete marked.metadata.deletionGracePeriodSeconds;
    }
    return { last: this.#save(resource, marked, {}), gone: false };
  }

  /** Removes an object without asking its finalizers; for the deletion of whole namespaces by the simulator's own controllers. */
  drop(resource: Resource, object: KubeObject): void {
    this.#drop(resource, object);
  }

  #drop(resource: Resource, object: KubeObject): KubeObject {
    const entry = this.store.remove(resource.storage, keyOf(object.metadata.namespace, object.metadata.name ?? ''));
    const last = entry?.object ?? object;
    for (const hook of this.#hooks) hook(resource, last, true);
    return fromStorage(resource, last);
  }

  #replace(resource: Resource, present: Entry, object: KubeObject, options: WriteOptions): KubeObject {
    const name = object.metadata.name ?? '';
    const old = fromStorage(resource, present.object);
    this.#checkRevision(resource, object, old);
    stampUpdate(object, old);
    prepareUpdate(resource, object, old, options.subresource);
    if (resource.storage === 'services') {
      settleService(object, old, { subresource: options.subresource, store: this.store, minor: this.#minor });
    }
    tidyMeta(object.metadata);
    if (!options.applied) this.#recordOwner(resource, object, old, options);
    this.#check(resource, object, old, options);
    checkNewFinalizers(resource, object, old);
    this.#admission({ operation: 'UPDATE', resource, object, old }, options);
    const stored = toStorage(resource, object);
    const finished = stored.metadata.deletionTimestamp !== undefined && !stored.metadata.finalizers?.length;
    if (!finished || (stored.metadata.deletionGracePeriodSeconds ?? 0) > 0 || present.object.metadata.finalizers === undefined) {
      return this.#save(resource, stored, options);
    }
    if (options.dryRun) return fromStorage(resource, stored);
    this.store.put(resource.storage, stored);
    return this.#drop(resource, this.entry(resource, object.metadata.namespace, name).object);
  }

  #recordOwner(resource: Resource, object: KubeObject, old: KubeObject, { fieldManager = 'unknown', subresource }: WriteOptions): void {
    const schema = mergeSchemaOf(resource);
    // Who wrote the status of a Service is what controllers of load balancers go by.
    const begins = old.metadata.managedFields === undefined && resource.kind === 'Service' && subresource === 'status';
    if (begins) setManagers(object, [firstOwner(old, schema)]);
    else if (old.metadata.managedFields === undefined || object.metadata.managedFields === undefined) return;
    recordUpdate(object, old, schema, { manager: fieldManager, operation: 'Update', subresource, now: this.#now() });
  }

  #save(resource: Resource, stored: KubeObject, options: WriteOptions): KubeObject {
    if (options.dryRun) return fromStorage(resource, stored);
    const before = this.store.revision;
    const entry = this.store.put(resource.storage, inOrder(resource, stored));
    if (this.store.revision !== before) for (const hook of this.#hooks) hook(resource, entry.object, false);
    return fromStorage(resource, entry.object);
  }

  /** The body as an object of this resource, in this namespace, without fields its kind does not have. */
  #accept(resource: Resource, namespace: string | undefined, body: Json, options: WriteOptions): KubeObject {
    const object = asObject(resource, namespace, body);
    resource.schema?.accept(object, options);
    return object;
  }

  #check(resource: Resource, object: KubeObject, old: KubeObject | undefined, options: WriteOptions): void {
    const causes: Cause[] = [...typeCauses(resource, object), ...metaCauses(resource, object.metadata)];
    causes.push(...(resource.schema?.validate(object, old, { ...options, minor: this.#minor }) ?? []));
    if (causes.length > 0) throw invalid(resource, object.metadata.name ?? '', causes, object.kind);
  }

  #requireNamespace(resource: Resource, namespace: string | undefined, name: string): void {
    if (!resource.namespaced || namespace === undefined) return;
    const namespaces = this.registry.find('v1', 'namespaces');
    if (!namespaces) return;
    const { object } = this.entry(namespaces, undefined, namespace);
    if (object.metadata.deletionTimestamp === undefined) return;
    throw forbidden(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
  }

  #checkRevision(resource: Resource, object: KubeObject, old: KubeObject): void {
    const name = object.metadata.name ?? '';
    const { resourceVersion, uid } = object.metadata;
    if (uid !== undefined && uid !== old.metadata.uid) {
      throw uidConflict(resource, keyOf(old.metadata.namespace, name), name, uid, old.metadata.uid ?? '');
    }
    if (!resourceVersion || resourceVersion === '0') {
      if (strategyOf(resource).unconditionalUpdate) return;
      const message = 'Invalid value: 0: must be specified for an update';
      throw invalid(resource, name, [{ reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' }], resource.plural);
    }
    if (resourceVersion !== old.metadata.resourceVersion) throw modified(resource, name);
  }
}

const checkNewFinalizers = (resource: Resource, object: KubeObject, old: KubeObject): void => {
  if (old.metadata.deletionTimestamp === undefined) return;
  const added = (object.metadata.finalizers ?? []).filter((name) => !old.metadata.finalizers?.includes(name));
  if (added.length === 0) return;
  const list = added.map((name) => JSON.stringify(name)).join(', ');
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`;
  const cause = { reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' };
  // Found by what is common to all kinds, and by the rules of a built-in kind again.
  throw invalid(resource, object.metadata.name ?? '', resource.custom ? [cause] : [cause, cause]);
};
