import { describe, expect, onTestFinished, test } from 'vitest';
import { movedFrom, staged } from '../e2e/served.ts';
import { OPERATOR } from '../support/audits.ts';
import type { Cluster } from '../support/kube.ts';
import { apply, type KubeObject } from '../support/kube-apply.ts';

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
/** One request of the operator and the crowd at a time, and none waits for its turn. A server with a seat for no share lets a lone request in all the same. */
const LEVEL: KubeObject = {
  apiVersion,
  kind: 'PriorityLevelConfiguration',
  metadata: { name: 'crowded' },
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } },
  },
};

/** Everything that they ask for is of that level. */
const SCHEMA: KubeObject = {
  apiVersion,
  kind: 'FlowSchema',
  metadata: { name: 'crowded' },
  spec: {
    priorityLevelConfiguration: { name: 'crowded' },
    matchingPrecedence: 2,
    rules: [
      {
        subjects: ['routedip-operator', 'crowd'].map((name) => ({
          kind: 'ServiceAccount',
          serviceAccount: { namespace: 'routedip-operator', name },
        })),
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      },
    ],
  },
};

const CROWD = 'system:serviceaccount:routedip-operator:crowd';
const READER: readonly KubeObject[] = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'crowd' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: CROWD }],
  },
];

/** Asks for something large over and over, so many times at once, until it is told to end. */
const crowd = (cluster: Cluster, size: number): { readonly end: () => Promise<void> } => {
  let goesOn = true;
  const ask = async (): Promise<void> => {
    while (goesOn) await cluster.send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { user: CROWD });
  };
  const asking = Array.from({ length: size }, ask);
  return {
    end: async () => {
      goesOn = false;
      await Promise.all(asking);
    },
  };
};

const rejectedOf = (cluster: Cluster): number =>
  cluster.auditLog().filter(({ user, responseStatus }) => user.username === OPERATOR && responseStatus?.code === 429).length;

describe('an operator that the API server answers with 429', () => {
  const { served, target } = staged({ audit: true });

  test('backs off, and misses nothing: the address of a node that fails meanwhile is elsewhere after one assign', async () => {
    const { stage, operator, ip, holder } = await served();
    const { cluster } = target();
    if (!cluster) throw new Error('this is for a real API server');
    for (const object of [...READER, LEVEL, SCHEMA]) {
      const { status, body } = await apply(cluster, object);
      expect([status, body.message]).toEqual([201, undefined]);
    }
    expect(rejectedOf(cluster)).toBe(0);
    const { end } = crowd(cluster, 8);
    onTestFinished(end);
    await stage.until('it is turned away', () => rejectedOf(cluster) > 0);
    const assigned = stage.assigns(ip).length;
    await stage.notReady(holder);
    const [before, since] = [rejectedOf(cluster), performance.now()];
    await stage.until('it is turned away with what it has to write', () => rejectedOf(cluster) > before + 3);
    expect((rejectedOf(cluster) - before) / ((performance.now() - since) / 1000)).toBeLessThan(50);
    await end();

    const holds = await movedFrom({ stage, ip }, holder);
    await stage.until(
      'the annotation has moved',
      async () => (await stage.annotation(holds)) === ip && (await stage.annotation(holder)) === null,
    );
    expect(stage.assigns(ip).slice(assigned)).toEqual([{ address: ip, node: holds }]);
    await operator.ready();
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await operator.stop()).toBe(0);
  });
});
