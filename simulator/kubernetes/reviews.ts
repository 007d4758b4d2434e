import { at, isObject, type Json, type JsonObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Store } from './store.ts';
import { tokenUser, type User } from './users.ts';

/** Requests with any token are the administrator's; but who asks about a token wants to know whose it is. */
const reviewOf = (user: User | null): JsonObject =>
  user === null ? { user: {}, error: 'invalid bearer token' } : { authenticated: true, user: { ...user } };

const statusOf = (store: Store, kind: string, asked: JsonObject, caller: User): JsonObject => {
  switch (kind) {
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      };
    case 'TokenReview':
      return reviewOf(tokenUser(store, String(at(asked, 'spec', 'token') ?? '')));
    case 'SelfSubjectReview':
      return { userInfo: { ...caller } };
    default:
      return { allowed: true };
  }
};

/** The answer to a question about access: the simulator has no authorization, everyone may do everything. */
export const review = (store: Store, resource: Resource, body: Json, caller: User): JsonObject => {
  const asked = isObject(body) ? body : {};
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    ...(asked.spec === undefined ? {} : { spec: asked.spec }),
    status: statusOf(store, resource.kind, asked, caller),
  };
};
