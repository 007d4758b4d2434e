import { at, isObject, type Json, type JsonObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';
import type { Store } from './store.ts';
import { bearerOf, type User } from './users.ts';

const statusOf = (store: Store, kind: string, asked: JsonObject, caller: User): JsonObject => {
  switch (kind) {
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      };
    case 'TokenReview':
      return { authenticated: true, user: { ...bearerOf(store, String(at(asked, 'spec', 'token') ?? '')) } };
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
    metadata: { creationTimestamp: null },
    ...(asked.spec === undefined ? {} : { spec: asked.spec }),
    status: statusOf(store, resource.kind, asked, caller),
  };
};
