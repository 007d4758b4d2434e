import type { ServerResponse } from 'node:http';
import type { Api, Deletion, WriteOptions } from './api.ts';
import { ApiError, badRequest, expired, methodNotAllowed, noSuchPath } from './errors.ts';
import { type Faults, type ListFault, truncate } from './faults.ts';
import { listMeta, listPage, type Page, selectionOf } from './listing.ts';
import { isObject, type Json, type JsonObject, type KubeObject } from './objects.ts';
import { type Form, formOf, itemTextOf, metadataOnly } from './representation.ts';
import type { Body } from './requests.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import { review } from './reviews.ts';
import type { Target } from './routes.ts';
import { strategyOf } from './strategies.ts';
import { tableText } from './tables.ts';
import { fromStorage } from './versions.ts';
import { type Watches, WatchStream } from './watching.ts';

export interface Handling {
  api: Api;
  faults: Faults;
  watches: Watches;
  bookmarkIntervalMs: number;
}

export interface Call {
  method: string;
  target: Target;
  query: URLSearchParams;
  accept: string | undefined;
  body: Body;
  userAgent: string;
  response: ServerResponse;
}

const sendText = (call: Call, code: number, text: string, warnings: readonly string[] = []): void => {
  const headers: Record<string, string | string[]> = { 'content-type': 'application/json', 'cache-control': 'no-cache, private' };
  if (warnings.length > 0) headers.warning = warnings.map((warning) => `299 - ${JSON.stringify(warning)}`);
  call.response.writeHead(code, headers);
  call.response.end(text);
};

const includeOf = (query: URLSearchParams): string => query.get('includeObject') ?? 'Metadata';

const objectText = (call: Call, object: KubeObject): string => {
  switch (formOf(call.accept)) {
    case 'object':
      return JSON.stringify(object);
    case 'metadata':
      return JSON.stringify(metadataOnly(object));
    case 'table': {
      const metadata = { resourceVersion: object.metadata.resourceVersion };
      return tableText(call.target.resource, [object], metadata, { includeObject: includeOf(call.query), headers: true });
    }
  }
};

const listText = (resource: Resource, page: Page, form: Form, query: URLSearchParams): string => {
  const objects = (): KubeObject[] => page.entries.map((entry) => fromStorage(resource, entry.object));
  const metadata = listMeta(page);
  switch (form) {
    case 'table':
      return tableText(resource, objects(), metadata, { includeObject: includeOf(query), headers: true });
    case 'metadata':
      return JSON.stringify({
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
        items: objects().map(metadataOnly),
      });
    case 'object': {
      const items = page.entries.map((entry) => itemTextOf(resource, entry)).join(',');
      const head = { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata };
      return `${JSON.stringify(head).slice(0, -1)},"items":[${items}]}`;
    }
  }
};

const list = ({ api, faults }: Handling, call: Call): void => {
  const { resource, namespace } = call.target;
  const fault: ListFault | undefined = faults.takeListFault(resource.plural, call.query.has('continue'));
  if (fault?.kind === 'status') throw new ApiError(fault.code, 'InternalError', 'injected failure of a list', {});
  if (fault?.kind === 'expireContinue') throw expired('The provided continue parameter is too old to display a consistent list result.');
  const form = formOf(call.accept);
  const page = listPage(api, resource, namespace, call.query);
  const shown = fault?.kind === 'empty' ? { ...page, entries: [], continueToken: '', remaining: undefined } : page;
  const text = listText(resource, shown, form, call.query);
  if (fault?.kind === 'truncate') truncate(call.response, text);
  else sendText(call, 200, text);
};

const watch = ({ api, faults, watches, bookmarkIntervalMs }: Handling, call: Call): void => {
  const { resource, namespace, name } = call.target;
  const query = new URLSearchParams(call.query);
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  const stream = new WatchStream(api, { resource, namespace, query, form: formOf(call.accept) }, call.response);
  watches.add(stream, call.response);
  if (faults.takeWatchRejection(resource.plural)) stream.fail(expired(`too old resource version: 1 (${api.store.revision})`));
  else stream.start(bookmarkIntervalMs);
};

const optionsOf = (call: Call, warnings: string[]): WriteOptions => ({
  subresource: call.target.subresource,
  dryRun: call.query.get('dryRun') === 'All',
  fieldValidation: call.query.get('fieldValidation') ?? 'Warn',
  fieldManager: call.query.get('fieldManager') ?? call.userAgent.split('/')[0],
  force: call.query.get('force') === 'true',
  warnings,
});

const required = (body: Body): Json => {
  if (body.value === undefined) throw badRequest('the request has no body');
  return body.value;
};

const create = ({ api }: Handling, call: Call): void => {
  const { resource, namespace, name, subresource } = call.target;
  const warnings: string[] = [];
  if (!resource.verbs.includes('list')) return sendText(call, 201, JSON.stringify(review(resource, required(call.body))));
  if (name !== undefined && subresource !== undefined) return sendText(call, 201, JSON.stringify(subresourceCreate(api, call)));
  if (name !== undefined) throw methodNotAllowed();
  const object = api.create(resource, namespace, required(call.body), optionsOf(call, warnings));
  sendText(call, 201, objectText(call, object), warnings);
};

/** POST to pods/binding, pods/eviction, serviceaccounts/token. @throws ApiError 404. */
const subresourceCreate = (api: Api, call: Call): JsonObject => {
  const { resource, namespace, name = '', subresource } = call.target;
  const path = `${resource.plural}/${subresource}`;
  const { object } = api.entry(resource, namespace, name);
  if (path === 'pods/eviction') {
    api.remove(resource, namespace, name);
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  }
  if (path === 'pods/binding') {
    const body = required(call.body);
    const node = isObject(body) && isObject(body.target) ? body.target.name : undefined;
    api.patch(resource, namespace, name, { type: 'application/merge-patch+json', body: { spec: { nodeName: node } } });
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  }
  if (path === 'serviceaccounts/token') {
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const body = call.body.value;
    return {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name, namespace, creationTimestamp: null },
      spec: isObject(body) && isObject(body.spec) ? body.spec : {},
      status: { token: `simulated-token-of-${namespace}-${name}-${object.metadata.uid}`, expirationTimestamp },
    };
  }
  throw noSuchPath();
};

const write = ({ api }: Handling, call: Call): void => {
  const { resource, namespace, name = '', subresource } = call.target;
  const warnings: string[] = [];
  const options = optionsOf(call, warnings);
  const { object, created } =
    call.method === 'PUT'
      ? api.update(resource, namespace, name, required(call.body), options)
      : api.patch(resource, namespace, name, { type: call.body.type, body: required(call.body) }, options);
  void subresource;
  sendText(call, created ? 201 : 200, objectText(call, object), warnings);
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
    preconditions: isObject(body.preconditions) ? (body.preconditions as { uid?: string }) : undefined,
    dryRun,
  };
};

const remove = ({ api }: Handling, call: Call): void => {
  const { resource, namespace, name = '' } = call.target;
  const { last, gone } = api.remove(resource, namespace, name, deletionOf(call));
  if (!gone || strategyOf(resource).returnsDeleted) return sendText(call, 200, objectText(call, last));
  const details: JsonObject = {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
    uid: last.metadata.uid,
  };
  sendText(call, 200, JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }));
};

const removeCollection = ({ api }: Handling, call: Call): void => {
  const { resource, namespace } = call.target;
  const selection = selectionOf(resource, namespace, call.query);
  const { entries } = api.store.list(resource.storage);
  const chosen = entries.filter((entry) => !selection || selection(entry.object));
  const deletion = deletionOf(call);
  for (const { object } of chosen) api.remove(resource, object.metadata.namespace, object.metadata.name ?? '', deletion);
  const page: Page = { revision: api.store.revision, entries: chosen, continueToken: '', remaining: undefined };
  sendText(call, 200, listText(resource, page, 'object', call.query));
};

const SUBRESOURCES = ['status', 'finalize'];

const onObject = (handling: Handling, call: Call): void => {
  const { resource, namespace, name = '', subresource } = call.target;
  const known = subresource === undefined || (subresource === 'status' ? resource.status : SUBRESOURCES.includes(subresource));
  if (call.method === 'POST') return create(handling, call);
  if (!known) throw noSuchPath();
  switch (call.method) {
    case 'GET':
      if (isWatch(call.query)) return watch(handling, call);
      return sendText(call, 200, objectText(call, handling.api.get(resource, namespace, name)));
    case 'PUT':
    case 'PATCH':
      return write(handling, call);
    case 'DELETE':
      if (subresource !== undefined) throw methodNotAllowed();
      return remove(handling, call);
    default:
      throw methodNotAllowed();
  }
};

const isWatch = (query: URLSearchParams): boolean => query.get('watch') === 'true' || query.get('watch') === '1';

/** Answers a request to a resource. @throws ApiError for every refusal. */
export const handle = (handling: Handling, call: Call): void => {
  const { resource, namespace, name } = call.target;
  if (name !== undefined) return onObject(handling, call);
  switch (call.method) {
    case 'GET':
      if (!resource.verbs.includes('list')) throw methodNotAllowed();
      return isWatch(call.query) ? watch(handling, call) : list(handling, call);
    case 'POST':
      if (resource.namespaced && namespace === undefined && resource.verbs.includes('list')) throw methodNotAllowed();
      return create(handling, call);
    case 'DELETE':
      return removeCollection(handling, call);
    default:
      throw methodNotAllowed();
  }
};
