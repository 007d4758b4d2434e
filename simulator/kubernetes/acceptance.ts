import { badRequest, invalid } from './errors.ts';
import { copy, isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** @throws ApiError 400 for another kind or apiVersion, or none in a custom resource; 422 for another kind of custom resource. */
const checkType = (resource: Resource, object: KubeObject, body: JsonObject): void => {
  const { kind, version, custom } = resource;
  const wanted = apiVersionOf(resource);
  const handled = `cannot be handled as a ${kind}`;
  if (custom && body.kind === undefined) {
    throw badRequest(
      `${kind} in version "${version}" ${handled}: unmarshalerDecoder: Object 'Kind' is missing in '${JSON.stringify(body)}'`,
    );
  }
  if (object.apiVersion !== wanted && !custom) {
    throw badRequest(
      `${kind} in version "${object.apiVersion}" ${handled}: no kind "${kind}" is registered for version "${object.apiVersion}"`,
    );
  }
  if (object.apiVersion !== wanted) {
    throw badRequest(`the API version in the data (${object.apiVersion}) does not match the expected API version (${wanted})`);
  }
  if (object.kind === kind) return;
  if (!custom)
    throw badRequest(
      `${object.kind} in version "${version}" ${handled}: converting (${version}.${object.kind}) to (${kind}): unknown conversion`,
    );
  const message = `Invalid value: ${JSON.stringify(object.kind)}: must be ${kind}`;
  throw invalid(resource, object.metadata.name ?? '', [{ reason: 'FieldValueInvalid', message, field: 'kind' }], object.kind);
};

/** The body of a write as an object of this resource in this namespace. @throws ApiError 400, 422. */
export const asObject = (resource: Resource, namespace: string | undefined, body: Json): KubeObject => {
  if (!isObject(body))
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind`);
  const object = copy(body) as KubeObject;
  if (!isObject(object.metadata)) object.metadata = {};
  object.apiVersion ??= apiVersionOf(resource);
  object.kind ??= resource.kind;
  checkType(resource, object, body);
  if (!resource.namespaced) delete object.metadata.namespace;
  else if (object.metadata.namespace && object.metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  } else if (namespace !== undefined) object.metadata.namespace = namespace;
  return object;
};
