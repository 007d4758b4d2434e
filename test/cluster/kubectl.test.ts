import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { installCrds } from '../support/kube-apply.ts';
import { kubectl } from '../support/kubectl.ts';
import { describeKubectl } from '../support/kubectl-suite.ts';

const SAMPLE = join(import.meta.dirname, '../../crds/samples/floatingippool-static.yaml');
const POOL = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/ingress-pool';

let cluster: Cluster;

const run = async (...args: readonly string[]): Promise<string> => {
  const { stdout, stderr, code } = await kubectl(args, { kubeconfig: cluster.kubeconfig });
  expect(code, stderr).toBe(0);
  return stdout;
};

const addresses = async (): Promise<readonly string[]> => (await cluster.send(POOL)).body.spec.ips;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
});

afterAll(() => cluster?.stop());

describeKubectl(() => cluster);

describe('kubectl', () => {
  test('applied again by the server keeps addresses that were added, since the list is a set', async () => {
    await run('apply', '--server-side', '-f', SAMPLE);
    await cluster.send(POOL, { method: 'PATCH', body: { spec: { ips: ['1.2.3.4', '5.6.7.8', '9.9.9.9'] } } });
    await run('apply', '--server-side', '-f', SAMPLE);
    expect(await addresses()).toEqual(['1.2.3.4', '5.6.7.8', '9.9.9.9']);
    await run('delete', '-f', SAMPLE);
  });

  test('applied again by the client drops them, so the operator must know them from the status', async () => {
    await run('apply', '-f', SAMPLE);
    await cluster.send(POOL, { method: 'PATCH', body: { spec: { ips: ['1.2.3.4', '5.6.7.8', '9.9.9.9'] } } });
    await run('apply', '-f', SAMPLE);
    expect(await addresses()).toEqual(['1.2.3.4', '5.6.7.8']);
  });

  test('gives its exit code and what it said', async () => {
    const { code, stderr } = await kubectl(['get', 'floatingippool', 'absent'], { kubeconfig: cluster.kubeconfig });
    expect(code).toBe(1);
    expect(stderr).toContain('"absent" not found');
  });
});
