import { type Call, type Handling, jsonReply, type Reply, requiredBody } from './calls.ts';
import { methodNotAllowed, noSuchPath } from './errors.ts';
import { at, type JsonObject, timestamp } from './objects.ts';
import { serviceAccountToken } from './users.ts';

type Action = (handling: Handling, call: Call) => JsonObject;

const SUCCESS: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

const evict: Action = ({ api }, { target: { resource, namespace, name = '' }, body }) => {
  const grace = at(body.value, 'deleteOptions', 'gracePeriodSeconds');
  api.remove(resource, namespace, name, typeof grace === 'number' ? { gracePeriodSeconds: grace } : {});
  return SUCCESS;
};

const bind: Action = ({ api }, call) => {
  const { resource, namespace, name = '' } = call.target;
  const body = { spec: { nodeName: at(requiredBody(call), 'target', 'name') ?? null } };
  api.patch(resource, namespace, name, { type: 'application/merge-patch+json', body }, { subresource: 'binding' });
  return SUCCESS;
};

const requestToken: Action = ({ api }, call) => {
  const { resource, namespace, name = '' } = call.target;
  const { uid } = api.entry(resource, namespace, name).object.metadata;
  const now = Date.now();
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(now) },
    spec: { ...(at(call.body.value, 'spec') as JsonObject | undefined) },
    status: { token: serviceAccountToken(namespace ?? '', name, uid ?? ''), expirationTimestamp: timestamp(now + 3_600_000) },
  };
};

const ACTIONS: Readonly<Record<string, Action>> = {
  'pods/eviction': evict,
  'pods/binding': bind,
  'serviceaccounts/token': requestToken,
};

/** Subresources that are acted on by POST and hold no object of their own. @throws ApiError 404, 405. */
export const act = (handling: Handling, call: Call): Reply => {
  const { resource, subresource } = call.target;
  const action = ACTIONS[`${resource.plural}/${subresource}`];
  if (!action) throw noSuchPath();
  if (call.method !== 'POST') throw methodNotAllowed();
  return jsonReply(201, action(handling, call));
};
