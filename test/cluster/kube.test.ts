import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ASSETS, type Cluster, clusterUnavailable, startCluster } from '../support/kube.ts';
import { createNamespace, pathOf } from '../support/kube-apply.ts';
import { waitFor } from '../support/wait-for.ts';

/** Empty when the process is gone. */
const commandOf = (pid: number): string => (existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '');

/** All its threads' children. */
const childrenOf = (pid: number): readonly number[] =>
  readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' '))
    .filter((each) => each !== '')
    .map(Number);

/** Those of `pids` that run and name `folder` in their command line: the servers and their guards. */
const running = (folder: string, pids: readonly number[]): readonly number[] => pids.filter((pid) => commandOf(pid).includes(folder));

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
    const seen = (): readonly unknown[] =>
      cluster
        .auditLog()
        .filter(({ user }) => user.username === 'system:serviceaccount:default:nobody')
        .map(({ verb, responseStatus }) => [verb, responseStatus?.code]);
    // The entry is written when the answer has been sent.
    await waitFor('the request is in the audit log', () => seen().length > 0);
    expect(seen()).toEqual([['list', 403]]);
  });

  test('answers after a pause what it was asked in it', async () => {
    const apiServer = childrenOf(process.pid).filter(
      (pid) => commandOf(pid).includes('kube-apiserver\0') && commandOf(pid).includes(cluster.url.slice(-5)),
    );
    expect(apiServer).toHaveLength(1);
    const isStopped = (): boolean => apiServer.every((pid) => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
    cluster.pauseApiServer();
    await waitFor('the server is stopped', isStopped);
    const answer = cluster.send('/version');
    cluster.resumeApiServer();
    expect((await answer).status).toBe(200);
    expect(isStopped()).toBe(false);
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
    const children = childrenOf(child.pid ?? 0);
    expect(running(folder, children)).toHaveLength(4);
    child.kill('SIGKILL');
    await waitFor('servers and guards have ended', () => running(folder, children).length === 0);
    expect(existsSync(folder)).toBe(false);
  });
});
