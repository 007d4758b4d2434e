import { afterAll, expect } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, type KubeObject } from '../support/kube-apply.ts';
import type { ApiRequest } from '../support/kube-client.ts';
import { ADMITTED_CRDS, IPS, VIRTUAL_IPS } from '../support/vip-admission.ts';
import { describePolicies } from '../support/vip-policies-suite.ts';
import { waitFor } from '../support/wait-for.ts';

const RBAC = 'rbac.authorization.k8s.io';
const named = (kind: string, fields: object): KubeObject => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name: 'everybody' },
  ...fields,
});

/** So that it is admission that says no. */
const RIGHTS = [
  named('ClusterRole', { rules: [{ apiGroups: ['paas.org'], resources: ['*'], verbs: ['*'] }] }),
  named('ClusterRoleBinding', {
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'everybody' },
    subjects: [{ apiGroup: RBAC, kind: 'Group', name: 'system:authenticated' }],
  }),
];

let cluster: Cluster | undefined;

describePolicies(async () => {
  // In the operator's name it is asked for more than its roles allow.
  const started = await startCluster({ audit: false });
  cluster = started;
  for (const file of ADMITTED_CRDS) await applyFile(started, file);
  for (const object of RIGHTS) expect((await apply(started, object)).status).toBe(201);
  for (const path of [IPS, VIRTUAL_IPS]) {
    await waitFor(`jane may list ${path}`, async () => (await started.send(path, { user: 'jane' })).status === 200);
  }
  return async (method, path, body, user) => {
    const request = { method: method as ApiRequest['method'] & string, body, ...(user !== undefined && { user }) };
    const answer = await started.send(path, request);
    return { code: answer.status, body: answer.body };
  };
});

afterAll(() => cluster?.stop());
