import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../adapters/kubernetes/client/kube-config.ts';
import { ownUser } from '../../adapters/kubernetes/client/own-user.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, type KubeObject, objectsIn, pathOf } from '../support/kube-apply.ts';
import { OPERATOR_IDENTITY } from '../support/kube-connection.ts';
import { findKubectl, kubectl } from '../support/kubectl.ts';
import { WRONG } from '../support/routedip-manifests.ts';
import { waitFor } from '../support/wait-for.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The command that the documentation has for such a cluster. */
const COMMAND = /^sed .*policy\/v1beta1.*$/m.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))?.[0] ?? '';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
});

afterAll(() => cluster?.stop());

describe('on a server of before policy/v1 and rules in CEL', () => {
  test('the command of docs/install.md installs everything', async () => {
    expect(COMMAND).not.toBe('');
    expect((await cluster.send('/apis/policy/v1')).status).toBe(404);
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, PATH: `${dirname(findKubectl())}${delimiter}${process.env.PATH}` };
    await promisify(execFile)('sh', ['-ec', COMMAND], { cwd: ROOT, env });
    for (const object of objectsIn(join(ROOT, 'deploy/bundle-webhook.yaml'))) {
      const served = object.kind === 'PodDisruptionBudget' ? { ...object, apiVersion: 'policy/v1beta1' } : object;
      const { status } = await cluster.send(await pathOf(cluster, served));
      expect([object.kind, object.metadata.name, status]).toEqual([object.kind, object.metadata.name, 200]);
    }
    const { body } = await cluster.send('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/routedips.routedip.io');
    expect(body.spec.versions[0].schema.openAPIV3Schema).not.toHaveProperty('x-kubernetes-validations');
  });

  test('the file for newer servers installs everything but the policies, and says so', async () => {
    const text = readFileSync(join(ROOT, 'deploy/bundle.yaml'), 'utf8').replace(/^apiVersion: policy\/v1$/m, 'apiVersion: policy/v1beta1');
    const { code, stdout, stderr } = await kubectl(['apply', '--validate=false', '-f', '-'], {
      kubeconfig: cluster.kubeconfig,
      input: text,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('no matches for kind "ValidatingAdmissionPolicy"')]);
    const others = objectsIn(join(ROOT, 'deploy/bundle.yaml')).filter(({ kind }) => !kind.startsWith('ValidatingAdmissionPolicy'));
    expect(stdout.trim().split('\n')).toHaveLength(others.length);
  });

  test.each(Object.entries(WRONG))(
    'a wrong %s is refused by its schema, and left to the operator where only a rule forbids it',
    async (kind, manifests) => {
      const group = '/apis/routedip.io/v1alpha1';
      await waitFor(`${kind} is served`, async () =>
        (await cluster.send(group)).body.resources?.some((each: { kind: string }) => each.kind === kind),
      );
      expect(manifests.length).toBeGreaterThan(3);
      for (const { title, object, schema } of manifests) {
        const answer = await apply(cluster, object as KubeObject);
        expect([title, answer.status]).toEqual([title, schema === null ? 201 : 422]);
        if (schema === null) await cluster.send(await pathOf(cluster, object as KubeObject), { method: 'DELETE' });
        else expect(answer.body.message).toMatch(schema);
      }
    },
  );

  test('the operator finds out who it is by its token, and cannot by a client certificate', async () => {
    const namespace = 'routedip-operator';
    const asking = async (kubeconfig: string): Promise<string> => {
      const config = loadConfig(kubeconfig);
      const connection = connect(config, OPERATOR_IDENTITY);
      return ownUser(config, connection)().finally(() => connection.close());
    };
    const token = await cluster.tokenFor(namespace, namespace);
    await waitFor('its rights count', () =>
      asking(cluster.kubeconfigFor(token)).then(
        () => true,
        () => false,
      ),
    );
    expect(await asking(cluster.kubeconfigFor(token))).toBe(`system:serviceaccount:${namespace}:${namespace}`);
    await expect(asking(cluster.kubeconfig)).rejects.toThrow('the operator has no token');
  });
});
