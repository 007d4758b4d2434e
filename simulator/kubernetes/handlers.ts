import { type Call, type Handling, jsonReply, type Reply, requiredBody } from './calls.ts';
import { methodNotAllowed, webhookFailed } from './errors.ts';
import { get, isWatch, list, watch } from './reading.ts';
import { review } from './reviews.ts';
import { act } from './subresources.ts';
import { create, remove, removeCollection, write } from './writing.ts';

type Handler = (handling: Handling, call: Call) => Reply | undefined;

const refuse: Handler = () => {
  throw methodNotAllowed();
};

const read: Handler = (handling, call) => (isWatch(call.query) ? watch(handling, call) : get(handling, call));

const browse: Handler = (handling, call) => (isWatch(call.query) ? watch(handling, call) : list(handling, call));

const add: Handler = (handling, call) => {
  const { resource, namespace } = call.target;
  if (!resource.verbs.includes('list')) return jsonReply(201, review(handling.api.store, resource, requiredBody(call), call.user));
  if (resource.namespaced && namespace === undefined) throw methodNotAllowed();
  return create(handling, call);
};

const ON_OBJECT: Readonly<Record<string, Handler>> = { GET: read, PUT: write, PATCH: write, DELETE: remove };
const ON_COLLECTION: Readonly<Record<string, Handler>> = { GET: browse, POST: add, DELETE: removeCollection };
const ON_STATUS: Readonly<Record<string, Handler>> = { GET: get, PUT: write, PATCH: write };

const handlerOf = ({ target, method }: Call): Handler => {
  const { resource, name, subresource } = target;
  if (subresource === 'status' && resource.status) return ON_STATUS[method] ?? refuse;
  if (subresource !== undefined) return act;
  if (name !== undefined) return ON_OBJECT[method] ?? refuse;
  const answerable = method === 'POST' || resource.verbs.includes('list');
  return answerable ? (ON_COLLECTION[method] ?? refuse) : refuse;
};

/** The answer to a request to a resource; undefined when the response has been taken over by a stream or a fault. @throws ApiError for every refusal. */
export const handle = (handling: Handling, call: Call): Reply | undefined => {
  const { resource, subresource } = call.target;
  const written = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  if (call.method !== 'GET' && handling.faults.takeWebhookFailure(written)) throw webhookFailed();
  return handlerOf(call)(handling, call);
};
