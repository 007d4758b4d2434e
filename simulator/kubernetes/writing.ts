import { type Call, type Handling, jsonReply, objectReply, type Reply, requiredBody, writeOptionsOf } from './calls.ts';
import type { Deletion } from './deletion.ts';
import { ApiError } from './errors.ts';
import { selectionOf } from './listing.ts';
import { isObject, type JsonObject } from './objects.ts';
import { isApply } from './patching.ts';
import { listText } from './reading.ts';
import { strategyOf } from './strategies.ts';

export const create = ({ api }: Handling, call: Call): Reply => {
  const { resource, namespace } = call.target;
  const warnings: string[] = [];
  const object = api.create(resource, namespace, requiredBody(call), writeOptionsOf(call, warnings));
  return objectReply(call, 201, object, warnings);
};

const managerRequired = (): ApiError => {
  const cause = { reason: 'FieldValueRequired', message: 'Required value: is required for apply patch', field: 'fieldManager' };
  const message = `PatchOptions.meta.k8s.io "" is invalid: ${cause.field}: ${cause.message}`;
  return new ApiError(422, 'Invalid', message, { group: 'meta.k8s.io', kind: 'PatchOptions', causes: [cause] });
};

/** PUT and PATCH. */
export const write = ({ api }: Handling, call: Call): Reply => {
  const { resource, namespace, name = '' } = call.target;
  const warnings: string[] = [];
  const options = writeOptionsOf(call, warnings);
  if (call.method === 'PATCH' && isApply(call.body.type) && !call.query.get('fieldManager')) throw managerRequired();
  const { object, created } =
    call.method === 'PUT'
      ? api.update(resource, namespace, name, requiredBody(call), options)
      : api.patch(resource, namespace, name, { type: call.body.type, body: requiredBody(call) }, options);
  return objectReply(call, created ? 201 : 200, object, warnings);
};

const deletionOf = (call: Call): Deletion => {
  const body = isObject(call.body.value) ? call.body.value : {};
  const grace = call.query.get('gracePeriodSeconds') ?? body.gracePeriodSeconds;
  const policy = call.query.get('propagationPolicy') ?? body.propagationPolicy;
  const dryRun = call.query.get('dryRun') === 'All' || (Array.isArray(body.dryRun) && body.dryRun.includes('All'));
  return {
    gracePeriodSeconds: grace === undefined || grace === null ? undefined : Number(grace),
    propagationPolicy: typeof policy === 'string' ? policy : undefined,
    orphanDependents: typeof body.orphanDependents === 'boolean' ? body.orphanDependents : undefined,
    preconditions: isObject(body.preconditions) ? body.preconditions : undefined,
    dryRun,
    user: call.user,
    warnings: [],
  };
};

export const remove = ({ api }: Handling, call: Call): Reply => {
  const { resource, namespace, name = '' } = call.target;
  const deletion = deletionOf(call);
  const { last, gone } = api.remove(resource, namespace, name, deletion);
  // Only a client that asks for the old way of cascading is told that the object lives on for a while.
  if (!gone) return objectReply(call, deletion.orphanDependents === false ? 202 : 200, last, deletion.warnings);
  if (strategyOf(resource).returnsDeleted) return objectReply(call, 200, last, deletion.warnings);
  const details: JsonObject = {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
    uid: last.metadata.uid,
  };
  return {
    ...jsonReply(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }),
    warnings: deletion.warnings ?? [],
  };
};

/** Deletes what the selectors choose and answers with the list of it. */
export const removeCollection = ({ api }: Handling, call: Call): Reply => {
  const { resource, namespace } = call.target;
  const selection = selectionOf(resource, namespace, call.query);
  const chosen = api.store.list(resource.storage).entries.filter((entry) => !selection || selection(entry.object));
  const deletion = deletionOf(call);
  for (const { object } of chosen) api.remove(resource, object.metadata.namespace, object.metadata.name ?? '', deletion);
  const page = { revision: api.store.revision, entries: chosen, continueToken: '', remaining: undefined };
  return { code: 200, text: listText(resource, page, 'object', call.query) };
};
