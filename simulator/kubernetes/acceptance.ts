import { badRequest } from './errors.ts';
import { type Cause, copy, isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

/** @throws ApiError 400 for another apiVersion, another kind of a built-in resource, or none of a custom one. */
const checkType = (resource: Resource, object: KubeObject, body: JsonObject): void => {
  const { kind, version, custom } = resource;
  const wanted = apiVersionOf(resource);
  const handled = `cannot be handled as a ${kind}`;
  if (custom && body.kind === undefined) {
    const text = JSON.stringify(body);
    const begin = text.length > 30 ? `${text.slice(0, 30)} ...` : text;
    throw badRequest(`the object provided is unrecognized (must be of type ${kind}): Object 'Kind' is missing in '${text}' (${begin})`);
  }
  if (object.apiVersion !== wanted && !custom) {
    throw badRequest(
      `${kind} in version "${object.apiVersion}" ${handled}: no kind "${kind}" is registered for version "${object.apiVersion}"`,
    );
  }
  if (object.apiVersion !== wanted) {
    throw badRequest(`the API version in the data (${object.apiVersion}) does not match the expected API version (${wanted})`);
  }
  // Another kind of custom resource is found with the other rules that it breaks.
  if (object.kind === kind || custom) return;
  throw badRequest(
    `${object.kind} in version "${version}" ${handled}: converting (${version}.${object.kind}) to (${internalGroup(resource)}.${kind}): unknown conversion`,
  );
};

/** The package of the kinds of this group in the API server. */
const internalGroup = ({ group }: Resource): string => (group === '' ? 'core' : (group.split('.')[0] ?? ''));

/** What is wrong with the kind that a custom resource says it is. */
export const typeCauses = (resource: Resource, { kind }: KubeObject): Cause[] => {
  if (kind === resource.kind) return [];
  return [{ reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(kind)}: must be ${resource.kind}`, field: 'kind' }];
};

/** The body of a write as an object of this resource in this namespace. @throws ApiError 400. */
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
