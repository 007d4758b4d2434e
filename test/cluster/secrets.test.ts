import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SecretReading } from '../../actors/ports/secrets.ts';
import { TIMINGS } from '../../adapters/kubernetes/cache/reflector.ts';
import type { Connection } from '../../adapters/kubernetes/client/connection.ts';
import { KubernetesSecrets } from '../../adapters/kubernetes/source/secrets.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply } from '../support/kube-apply.ts';
import { connectBy } from '../support/kube-connection.ts';
import { waitFor } from '../support/wait-for.ts';

const READER = 'reader';
const RBAC = 'rbac.authorization.k8s.io';

let cluster: Cluster;
let connection: Connection;
let secrets: KubernetesSecrets;

const secret = (name: string, token: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  data: { token: Buffer.from(token).toString('base64') },
});

/** What the reader is told of the Secret, oldest first. */
const readingsOf = (name: string): readonly SecretReading[] => {
  const told: SecretReading[] = [];
  const use = secrets.use({ namespace: 'default', name }, () => void told.push(use.reading()));
  return told;
};

beforeAll(async () => {
  cluster = await startCluster();
  for (const object of [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: READER, namespace: 'default' } },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata: { name: READER, namespace: 'default' },
      rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['do-token', 'later'], verbs: ['get', 'list', 'watch'] }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: READER, namespace: 'default' },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: READER },
      subjects: [{ kind: 'ServiceAccount', name: READER, namespace: 'default' }],
    },
    secret('do-token', 'first'),
    secret('of-somebody-else', 'hidden'),
  ]) {
    expect((await apply(cluster, object)).status).toBe(201);
  }
  const token = await cluster.tokenFor('default', READER);
  // The server goes by a role a moment after it has stored it.
  const mine = '/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Ddo-token';
  await waitFor('the role counts', async () => (await cluster.send(mine, { token })).status === 200);
  connection = connectBy(cluster.kubeconfigFor(token));
  const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  secrets = new KubernetesSecrets({ connection, clock: systemClock(), random: () => 0.5, log: silent, timings: TIMINGS });
});

afterAll(async () => {
  secrets?.close();
  await connection?.close();
  await cluster?.stop();
});

describe('a Role that names single Secrets', () => {
  test('is enough to read one of them, and to hear of its changes', async () => {
    const told = readingsOf('do-token');
    await waitFor('the first reading', () => told.length === 1);
    const changed = { method: 'PATCH', body: { data: secret('', 'second').data } } as const;
    expect((await cluster.send('/api/v1/namespaces/default/secrets/do-token', changed)).status).toBe(200);
    await waitFor('the change', () => told.length === 2);
    expect(told).toEqual(['first', 'second'].map((token) => ({ kind: 'present', values: { token } })));
  });

  test('is enough to hear of one that comes later', async () => {
    const told = readingsOf('later');
    await waitFor('the first reading', () => told.length === 1);
    expect(told[0]).toEqual({ kind: 'missing', why: 'Secret default/later is not there' });
    await apply(cluster, secret('later', 'new'));
    await waitFor('the Secret', () => told.length === 2);
    expect(told[1]).toEqual({ kind: 'present', values: { token: 'new' } });
  });

  test('opens no other one, and the reading says which right is lacking', async () => {
    const told = readingsOf('of-somebody-else');
    await waitFor('the first reading', () => told.length === 1);
    expect(told).toEqual([
      {
        kind: 'missing',
        why: expect.stringContaining(
          'Secret default/of-somebody-else cannot be read: the ServiceAccount may not list secrets in namespace default',
        ),
      },
    ]);
  });
});
