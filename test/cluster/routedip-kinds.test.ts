import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installCrds } from '../support/kube-apply.ts';
import { kubectl } from '../support/kubectl.ts';
import { issuer, routedIP, routedIPClass } from '../support/routedip-manifests.ts';
import { describeRoutedIPKinds } from '../support/routedip-suite.ts';
import { waitFor } from '../support/wait-for.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
});

afterAll(() => cluster?.stop());

describeRoutedIPKinds(() => cluster);

describe('kubectl', () => {
  const run = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr, code } = await kubectl(args, { kubeconfig: cluster.kubeconfig });
    expect(code, stderr).toBe(0);
    return stdout;
  };

  beforeAll(async () => {
    for (const object of [routedIP(), issuer(), routedIPClass()]) expect((await apply(cluster, object)).status).toBe(201);
  });

  test.each([
    ['routedips.spec.routedIP', 'Empty or absent means'],
    ['rip.status.addressOrigin', 'Only a created address is deleted'],
    ['routedipissuers.spec.perNodeIPLimit', 'Addresses that one node may hold'],
    ['clusterroutedipclasses.spec.nodePortRange', '30000-32767'],
    ['cripc.spec.updateRoutedIP', 'restartPolicy is Never or OnFailure'],
  ])('explains %s', async (field, text) => {
    const explained = async (): Promise<string> => (await kubectl(['explain', field], { kubeconfig: cluster.kubeconfig })).stdout;
    await waitFor('the description is published', async () => (await explained()) !== '', 25_000);
    expect((await explained()).replaceAll(/\s+/g, ' ')).toContain(text);
  });

  test.each(['rip', 'ripi', 'cripc'])('knows the short name %s', async (name) => {
    expect(await run('get', name, 'wrong', '-o', 'name')).toMatch(/^[a-z]+\.routedip\.io\/wrong\n$/);
  });

  test('finds all three kinds by their category', async () => {
    const names = (await run('get', 'routedip-io', '-o', 'name')).split('\n');
    expect(names).toEqual(
      expect.arrayContaining(['clusterroutedipclass', 'routedip', 'routedipissuer'].map((kind) => `${kind}.routedip.io/wrong`)),
    );
  });
});
