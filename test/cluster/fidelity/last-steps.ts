import { NS, nodes, type Step, step } from './step.ts';

/** What leaves the cluster as it was. */
export const LAST_STEPS: readonly Step[] = [
  step('answers who may do what', 'POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } },
  }),
  step('deletes a node', 'DELETE', nodes('/fidelity-a')),
  step('lets a namespace terminate', 'DELETE', `/api/v1/namespaces/${NS}`),
];
