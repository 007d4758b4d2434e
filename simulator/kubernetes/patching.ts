import { badRequest, modified, notFound, unsupportedMediaType } from './errors.ts';
import { isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import type { WriteOptions } from './options.ts';
import { jsonPatch, mergePatch } from './patch.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { strategicPatch } from './strategic.ts';

export interface PatchTarget {
  resource: Resource;
  /** The object as served in the request's version; undefined when there is none (server-side apply then creates it). */
  current: KubeObject | undefined;
  namespace: string | undefined;
  name: string;
  now: number;
}

/** The whole object that a PATCH leads to. A resourceVersion in the patch is a precondition like that of a PUT.
 *  @throws ApiError 400, 404, 409, 415, 422. */
export const applyPatchOf = (target: PatchTarget, patch: { type: string; body: Json }, _options: WriteOptions): Json => {
  const { resource, current } = target;
  const type = patch.type.split(';')[0]?.trim() ?? '';
  if (type === 'application/apply-patch+yaml') return applied(target, patch.body);
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
      throw unsupportedMediaType([
        'application/json-patch+json',
        'application/merge-patch+json',
        ...(resource.custom ? [] : ['application/strategic-merge-patch+json']),
        'application/apply-patch+yaml',
      ]);
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

const applied = ({ resource, current, name }: PatchTarget, body: Json): Json => {
  const wanted = requireObject(body);
  if (wanted.apiVersion !== apiVersionOf(resource) || wanted.kind !== resource.kind) {
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  }
  const meta = isObject(wanted.metadata) ? wanted.metadata : {};
  const named = { ...wanted, metadata: { ...meta, name } };
  if (!current) return named;
  return resource.custom ? mergePatch(current, named) : strategicPatch(resource.schema?.structure(), current, named);
};
