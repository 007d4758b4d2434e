import { type Call, type Handling, includeOf, objectReply, type Reply } from './calls.ts';
import { ApiError, expired } from './errors.ts';
import { truncate } from './faults.ts';
import { listMeta, listPage, type Page } from './listing.ts';
import type { JsonObject, KubeObject } from './objects.ts';
import { tableText } from './printing/tables.ts';
import { type Form, formOf, itemTextOf, metadataOnly } from './representation.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { fromStorage } from './versions.ts';
import { WatchStream } from './watching.ts';

export const isWatch = (query: URLSearchParams): boolean => query.get('watch') === 'true' || query.get('watch') === '1';

/** Tables say nothing of a next page where there is none. */
const withoutEnd = ({ continue: token, ...metadata }: JsonObject): JsonObject => (token ? { ...metadata, continue: token } : metadata);

export const listText = (resource: Resource, page: Page, form: Form, query: URLSearchParams): string => {
  const objects = (): KubeObject[] => page.entries.map((entry) => fromStorage(resource, entry.object));
  const metadata = listMeta(resource, page);
  switch (form) {
    case 'table':
      return tableText(resource, objects(), withoutEnd(metadata), { includeObject: includeOf(query), headers: true });
    case 'metadata':
      return JSON.stringify({
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
        items: objects().map(metadataOnly),
      });
    case 'object': {
      const items = page.entries.map((entry) => itemTextOf(resource, entry)).join(',');
      const head = { kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata };
      return `${JSON.stringify(head).slice(0, -1)},"items":[${items}]}`;
    }
  }
};

/** A 403 is that of an authorizer. */
const injected = (code: number, plural: string): ApiError =>
  code === 403
    ? new ApiError(code, 'Forbidden', `${plural} is forbidden: User "simulated" cannot list resource "${plural}"`, {})
    : new ApiError(code, 'InternalError', 'injected failure of a list', {});

/** A list, or undefined when a fault has already answered. @throws ApiError 400, 406, 410, 504. */
export const list = ({ api, faults }: Handling, call: Call): Reply | undefined => {
  const { resource, namespace } = call.target;
  const fault = faults.takeListFault(resource.plural, call.query.has('continue'));
  if (fault?.kind === 'status') throw injected(fault.code, resource.plural);
  if (fault?.kind === 'expireContinue') throw expired('The provided continue parameter is too old to display a consistent list result.');
  const page = listPage(api, resource, namespace, call.query);
  const shown = fault?.kind === 'empty' ? { ...page, entries: [], continueToken: '', remaining: undefined } : page;
  const text = listText(resource, shown, formOf(call.accept), call.query);
  if (fault?.kind !== 'truncate') return { code: 200, text };
  truncate(call.response, text);
  return undefined;
};

/** Takes the response over and streams events into it. @throws ApiError 400, 406. */
export const watch = ({ api, faults, watches, bookmarkIntervalMs }: Handling, call: Call): undefined => {
  const { resource, namespace, name } = call.target;
  const query = new URLSearchParams(call.query);
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  const stream = new WatchStream(api, { resource, namespace, query, form: formOf(call.accept) }, call.response);
  if (faults.takeWatchRejection(resource.plural)) {
    stream.fail(expired(`too old resource version: 1 (${api.store.revision})`));
    return;
  }
  watches.add(stream, call.response);
  stream.start(bookmarkIntervalMs);
};

export const get = ({ api }: Handling, call: Call): Reply => {
  const { resource, namespace, name = '' } = call.target;
  return objectReply(call, 200, api.get(resource, namespace, name));
};
