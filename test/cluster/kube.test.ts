import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ASSETS, type Cluster, clusterUnavailable, startCluster } from '../support/kube.ts';
import { createNamespace, pathOf } from '../support/kube-apply.ts';
import { waitFor } from '../support/wait-for.ts';

/** Those of `pids` that run and name `folder` in their command line: the servers and their guards. */
const running = (folder: string, pids: readonly number[]): readonly number[] =>
  pids.filter((pid) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder));

describe('a test cluster', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ controllers: ['namespace', 'serviceaccount'], audit: true });
  });

  afterAll(() => cluster?.stop());

  test('runs the controllers it was asked for', async () => {
    await createNamespace(cluster, 'controlled');
    const account = '/api/v1/namespaces/controlled/serviceaccounts/default';
    await waitFor('the controller creates an account', async () => (await cluster.send(account)).status === 200);
  });

  test('has what was stored after its API server was killed and started again', async () => {
    const namespace = await createNamespace(cluster, 'survivor');
    await cluster.killApiServer();
    await expect(cluster.send('/readyz')).rejects.toThrow();
    await cluster.startApiServer();
    const { status } = await cluster.send(await pathOf(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }));
    expect(status).toBe(200);
  });

  test('knows a bearer of a token by name and refuses what it may not', async () => {
    const account = { metadata: { name: 'nobody' } };
    await cluster.send('/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: account });
    const token = await cluster.tokenFor('default', 'nobody');
    expect((await cluster.send('/api/v1/nodes', { token })).status).toBe(403);
    const seen = cluster.auditLog().filter(({ user }) => user.username === 'system:serviceaccount:default:nobody');
    expect(seen.map(({ verb, responseStatus }) => [verb, responseStatus?.code])).toEqual([['list', 403]]);
  });
});

describe('without a folder of binaries', () => {
  const named = process.env[ASSETS];
  afterAll(() => {
    process.env[ASSETS] = named;
  });

  test('no cluster starts, and the reason names the variable', async () => {
    delete process.env[ASSETS];
    await expect(startCluster()).rejects.toThrow(`${ASSETS} is not set`);
  });

  test('a folder without them is named', () => {
    process.env[ASSETS] = import.meta.dirname;
    expect(clusterUnavailable()).toContain('no executable kube-apiserver and no executable etcd');
  });
});

describe('a process that is killed', () => {
  let child: ChildProcessByStdio<null, Readable, null>;

  beforeAll(() => {
    const support = join(import.meta.dirname, '../support/kube.ts');
    const script = `const { startCluster } = await import(${JSON.stringify(support)});
      const cluster = await startCluster();
      console.log(cluster.kubeconfig);
      setInterval(() => undefined, 1000);`;
    child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  });

  afterAll(() => child.kill('SIGKILL'));

  test('takes its cluster with it', async () => {
    const [kubeconfig] = (await once(createInterface(child.stdout), 'line')) as [string];
    const folder = dirname(kubeconfig);
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number);
    expect(running(folder, children)).toHaveLength(4);
    child.kill('SIGKILL');
    await waitFor('servers and guards have ended', () => running(folder, children).length === 0);
    expect(existsSync(folder)).toBe(false);
  });
});
