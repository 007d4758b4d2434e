import { isObject, type Json, type JsonObject } from './objects.ts';
import { apiVersionOf, type Resource } from './resource.ts';

const USER: JsonObject = { username: 'simulator', groups: ['system:masters', 'system:authenticated'] };

const statusOf = (kind: string): JsonObject => {
  switch (kind) {
    case 'SelfSubjectRulesReview':
      return {
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        incomplete: false,
      };
    case 'TokenReview':
      return { authenticated: true, user: USER };
    case 'SelfSubjectReview':
      return { userInfo: USER };
    default:
      return { allowed: true };
  }
};

/** The answer to a question about access: the simulator has no authorization, everyone may do everything. */
export const review = (resource: Resource, body: Json): JsonObject => {
  const asked = isObject(body) ? body : {};
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: { creationTimestamp: null },
    ...(asked.spec === undefined ? {} : { spec: asked.spec }),
    status: statusOf(resource.kind),
  };
};
