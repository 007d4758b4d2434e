import { applied, appliedNew } from './apply/apply.ts';
import { mergeSchemaOf } from './apply/schemas.ts';
import { ApiError, badRequest, modified, notFound, unsupportedMediaType } from './errors.ts';
import { isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import type { WriteOptions } from './options.ts';
import { jsonPatch, mergePatch } from './patch.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { strategicPatch } from './strategic.ts';

interface PatchTarget {
  resource: Resource;
  /** The object as served in the request's version; undefined when there is none (server-side apply then creates it). */
  current: KubeObject | undefined;
  namespace: string | undefined;
  name: string;
  now: number;
}

const APPLY = 'application/apply-patch+yaml';

export const isApply = (contentType: string): boolean => contentType.split(';')[0]?.trim() === APPLY;

/** The whole object that a PATCH leads to. A resourceVersion in the patch is a precondition like that of a PUT.
 *  @throws ApiError 400, 404, 409, 415, 422. */
export const applyPatchOf = (target: PatchTarget, patch: { type: string; body: Json }, options: WriteOptions): Json => {
  const { resource, current } = target;
  const type = patch.type.split(';')[0]?.trim() ?? '';
  if (type === APPLY) return applyConfiguration(target, patch.body, options);
  if (!current) throw notFound(resource, target.name);
  switch (type) {
    case 'application/merge-patch+json':
      return guarded(target, current, mergePatch(current, requireObject(patch.body)));
    case 'application/strategic-merge-patch+json':
      if (resource.custom)
        throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']);
      return guarded(target, current, strategicPatch(resource.schema?.structure(), current, requireObject(patch.body)));
    case 'application/json-patch+json':
      return guarded(target, current, jsonPatch(current, patch.body));
    default:
      throw new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  }
};

const requireObject = (body: Json): JsonObject => {
  if (!isObject(body)) throw badRequest('the patch must be an object');
  return body;
};

/** A patch is taken against the newest object, so only a resourceVersion that the patch itself names can be stale. */
const guarded = ({ resource, name }: PatchTarget, current: KubeObject, result: Json): Json => {
  const meta = isObject(result) ? result.metadata : undefined;
  const named = isObject(meta) ? meta.resourceVersion : undefined;
  if (typeof named === 'string' && named !== '' && named !== current.metadata.resourceVersion) throw modified(resource, name);
  if (isObject(meta)) return { ...(result as JsonObject), metadata: { ...meta, resourceVersion: current.metadata.resourceVersion } };
  return result;
};

/** What an apply through this path can set: `/status` the status, the main path of such a kind everything else. */
const settable = (resource: Resource, wanted: JsonObject, subresource: string | undefined): JsonObject => {
  const { status, ...rest } = wanted;
  const { apiVersion, kind } = wanted;
  if (subresource === 'status') return status === undefined ? { apiVersion, kind } : { apiVersion, kind, status };
  return resource.status ? rest : wanted;
};

/** @throws ApiError 400, 409. */
const applyConfiguration = ({ resource, current, name, now }: PatchTarget, body: Json, options: WriteOptions): Json => {
  const wanted = requireObject(body);
  if (wanted.apiVersion !== apiVersionOf(resource) || wanted.kind !== resource.kind) {
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  }
  const meta = isObject(wanted.metadata) ? wanted.metadata : {};
  if (Array.isArray(meta.managedFields) && meta.managedFields.length > 0) throw badRequest('metadata.managedFields must be nil');
  if (current && meta.resourceVersion && meta.resourceVersion !== current.metadata.resourceVersion) throw modified(resource, name);
  const configuration = { ...settable(resource, wanted, options.subresource), metadata: { ...meta, name } } as unknown as KubeObject;
  const writer = { manager: options.fieldManager ?? '', operation: 'Apply' as const, subresource: options.subresource, now };
  const application = { schema: mergeSchemaOf(resource), writer, force: options.force ?? false };
  return current ? applied(current, configuration, application) : appliedNew(configuration, application);
};
