import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OwnUser } from '../../../../actors/ports/admission.ts';
import { connect } from '../../../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../../../adapters/kubernetes/client/kube-config.ts';
import { ownUser } from '../../../../adapters/kubernetes/client/own-user.ts';
import { isPolicyBound, servesPolicies } from '../../../../adapters/kubernetes/writer/admission-policies.ts';
import type { Json } from '../../../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { objectsIn } from '../../../support/kube-apply.ts';
import { OPERATOR_IDENTITY } from '../../../support/kube-connection.ts';
import { PATIENCE_MS } from '../../../support/wait-for.ts';
import { connected, simulated } from '../support.ts';

const ROBOT = 'system:serviceaccount:default:robot';
const GROUP = '/apis/authentication.k8s.io/v1';

const withRobot = async (options: Parameters<typeof simulated>[0] = {}): Promise<KubernetesSimulator> => {
  const server = await simulated(options);
  server.store.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } });
  return server;
};

const asking = (server: KubernetesSimulator, token?: string): OwnUser => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  writeFileSync(join(folder, 'config'), server.kubeconfig(token));
  const config = loadConfig(join(folder, 'config'));
  const connection = connect(config, OPERATOR_IDENTITY, { deadlineMs: PATIENCE_MS });
  onTestFinished(async () => {
    await connection.close();
    rmSync(folder, { recursive: true });
  });
  return ownUser(config, connection);
};

const asked = (server: KubernetesSimulator): readonly string[] =>
  server.requests.flatMap(({ path }) => (path.startsWith(`${GROUP}/`) ? [path.slice(GROUP.length + 1)] : []));

describe('the operator', () => {
  test('asks the API server once who it is', async () => {
    const server = await withRobot();
    const whoAmI = asking(server, server.tokenFor('default', 'robot'));
    expect([await whoAmI(), await whoAmI()]).toEqual([ROBOT, ROBOT]);
    expect(asked(server)).toEqual(['selfsubjectreviews']);
  });

  test('asks about its own token where it cannot ask about itself', async () => {
    const server = await withRobot({ apiVersions: { 'authentication.k8s.io/v1/selfsubjectreviews': false } });
    const whoAmI = asking(server, server.tokenFor('default', 'robot'));
    expect([await whoAmI(), await whoAmI()]).toEqual([ROBOT, ROBOT]);
    expect(asked(server)).toEqual(['selfsubjectreviews', 'tokenreviews']);
  });

  test('asks again after it had no answer', async () => {
    const server = await withRobot();
    const whoAmI = asking(server, server.tokenFor('default', 'robot'));
    server.faults.outage('reset', 60_000);
    await expect(whoAmI()).rejects.toThrow('no answer from');
    server.faults.endOutage();
    expect(await whoAmI()).toBe(ROBOT);
  });
});

describe('the policies of a cluster', () => {
  test('are found where they are served, and where they are bound', async () => {
    const server = await simulated();
    const connection = connected(server.kubeconfig());
    expect(await servesPolicies(connection)).toBe(true);
    expect(await isPolicyBound(connection, 'ips.paas.org')).toBe(false);
    for (const object of objectsIn('deploy/vip-admission-policies.yaml')) server.store.create(object as unknown as Json);
    expect(await isPolicyBound(connection, 'ips.paas.org')).toBe(true);
  });

  test('are known not to be served by a server from before them', async () => {
    const server = await simulated({ apiVersions: { 'admissionregistration.k8s.io/v1/validatingadmissionpolicies': false } });
    expect(await servesPolicies(connected(server.kubeconfig()))).toBe(false);
  });
});
