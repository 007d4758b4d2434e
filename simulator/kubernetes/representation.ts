import { ApiError } from './errors.ts';
import type { JsonObject, KubeObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Entry } from './store.ts';
import { fromStorage } from './versions.ts';

/** The forms in which objects are served: themselves, rows of a table, or their metadata alone. */
export type Form = 'object' | 'table' | 'metadata';

const FORMS: Readonly<Record<string, Form>> = { Table: 'table', PartialObjectMetadata: 'metadata', PartialObjectMetadataList: 'metadata' };

const SERVED = ['application/json', 'application/*', '*/*'];

/** The first acceptable form of an Accept header. @throws ApiError 406 when nothing in it is JSON. */
export const formOf = (accept: string | undefined): Form => {
  if (!accept) return 'object';
  for (const clause of accept.split(',')) {
    const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
    if (!SERVED.includes(type)) continue;
    const parameters = new Map(rest.map((part) => part.split('=') as [string, string]));
    const as = parameters.get('as');
    if (as === undefined) return 'object';
    const form = FORMS[as];
    if (form && parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1') return form;
  }
  throw new ApiError(
    406,
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/json;as=Table;v=v1;g=meta.k8s.io',
    {},
  );
};

/** The object's JSON text in the resource's version. */
export const textOf = (resource: Resource, entry: Entry): string =>
  entry.object.apiVersion === apiVersionOf(resource) ? entry.text : JSON.stringify(fromStorage(resource, entry.object));

/** Items of built-in lists bear no kind and apiVersion, those of custom resources do: as the real server writes them. */
export const itemTextOf = (resource: Resource, entry: Entry): string => {
  const text = textOf(resource, entry);
  if (resource.custom) return text;
  const head = `{"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}",`;
  return text.startsWith(head) ? `{${text.slice(head.length)}` : text;
};

/** The object with its leading members in the order the real server writes them; the texts above rely on it. */
export const inOrder = (resource: Resource, object: KubeObject): KubeObject => {
  const { apiVersion, kind, metadata, ...rest } = object;
  return resource.custom ? { apiVersion, kind, metadata, ...rest } : { kind, apiVersion, metadata, ...rest };
};

export const metadataOnly = (object: KubeObject): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});
