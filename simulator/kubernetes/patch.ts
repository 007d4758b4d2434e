import jsonpatch, { type Operation } from 'fast-json-patch';
import { ApiError, badRequest } from './errors.ts';
import { copy, isObject, type Json, type JsonObject } from './objects.ts';

/** RFC 7386. Returns a new value; neither argument is changed. */
export const mergePatch = (target: Json | undefined, patch: Json): Json => {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
};

/** RFC 6902. @throws ApiError 400 for a document that is no patch, 422 when an operation cannot be applied. */
export const jsonPatch = (target: JsonObject, patch: Json): Json => {
  if (!Array.isArray(patch))
    throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp');
  try {
    return jsonpatch.applyPatch(copy(target), patch as unknown as Operation[], true).newDocument as Json;
  } catch (cause) {
    throw Object.assign(new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {}), { cause });
  }
};
