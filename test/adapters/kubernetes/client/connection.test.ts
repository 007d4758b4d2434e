import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { Reflector } from '../../../../adapters/kubernetes/cache/reflector.ts';
import { connect } from '../../../../adapters/kubernetes/client/connection.ts';
import { clusterUid } from '../../../../adapters/kubernetes/client/identity.ts';
import { loadConfig, ownNamespace } from '../../../../adapters/kubernetes/client/kube-config.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { kubeconfigText } from '../../../../simulator/kubernetes/kubeconfig.ts';
import { OPERATOR_IDENTITY } from '../../../support/kube-connection.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, QUICK, recordedLog, simulated } from '../support.ts';

const folderOfTest = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'connection-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

/** A server that answers as `listener` says, and its kubeconfig. */
const serving = async (listener: RequestListener): Promise<string> => {
  // As long as an API server keeps an idle connection, or longer: not for five seconds, which a machine may stand still.
  const server = createServer({ keepAliveTimeout: 300_000 }, listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return kubeconfigText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
};

const json = (response: ServerResponse, value: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

describe('the connection', () => {
  test('is kept for many requests, where the library alone opens one for each', async () => {
    const sockets = new Set<unknown>();
    const kubeconfig = await serving((request, response) => {
      sockets.add(request.socket);
      json(response, { ok: true });
    });
    const connection = connected(kubeconfig);
    for (let count = 0; count < 30; count += 1) await connection.send({ method: 'GET', path: '/api/v1/nodes' });
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  test('says which server did not answer, and in which time', async () => {
    const connection = connected(await serving(() => undefined), 100);
    await expect(connection.send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toMatchObject({
      name: 'ServerUnreachable',
      message: expect.stringMatching(/^list \/api\/v1\/nodes: no answer from http:\/\/127\.0\.0\.1:\d+: .*timeout/),
    });
    const nowhere = connected(kubeconfigText('http://127.0.0.1:1'));
    await expect(nowhere.send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toThrow(/ECONNREFUSED|fetch failed|bad port/);
  });

  test('sends nothing any more once it is closed, whoever listens there by then', async () => {
    let requests = 0;
    const kubeconfig = await serving((_request, response) => {
      requests += 1;
      json(response, { items: [] });
    });
    const connection = connected(kubeconfig);
    await connection.send({ method: 'GET', path: '/api/v1/nodes' });
    await connection.close();
    await expect(connection.send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toMatchObject({
      name: 'ServerUnreachable',
      message: expect.stringMatching(/the connection is closed$/),
    });
    const ended = new Promise<Error | null>((done) => {
      const options = { path: '/api/v1/nodes', query: {}, connectMs: 1_000, quietMs: () => 1_000 };
      connection.watch(options, { opened: () => undefined, event: () => undefined, done });
    });
    expect(await ended).toMatchObject({ name: 'ServerUnreachable', message: expect.stringMatching(/the connection is closed$/) });
    expect(requests).toBe(1);
  });

  test('takes over what a busy server asks for', async () => {
    const kubeconfig = await serving((_request, response) => {
      response.writeHead(429, { 'retry-after': '7' });
      response.end('{"kind":"Status","message":"too many requests"}');
    });
    await expect(connected(kubeconfig).send({ method: 'GET', path: '/api/v1/nodes/a' })).rejects.toMatchObject({
      name: 'ServerUnreachable',
      message: 'get nodes: 429 too many requests',
      retryAfterMs: 7_000,
    });
  });

  test('does not take a proxy’s page for an answer', async () => {
    const kubeconfig = await serving((_request, response) => response.end('<html>Welcome</html>'));
    await expect(connected(kubeconfig).send({ method: 'GET', path: '/api/v1/nodes' })).rejects.toMatchObject({ name: 'ServerUnreachable' });
  });

  test('names itself in every request', async () => {
    const agents: unknown[] = [];
    const kubeconfig = await serving((request, response) => {
      agents.push(request.headers['user-agent']);
      json(response, { items: [] });
    });
    const connection = connected(kubeconfig);
    const path = '/api/v1/nodes';
    await connection.send({ method: 'GET', path, isUrgent: true });
    await connection.send({ method: 'DELETE', path: `${path}/a` });
    await connection.list({ path }, () => undefined);
    await new Promise((done) => {
      connection.watch(
        { path, query: {}, connectMs: 1_000, quietMs: () => 1_000 },
        { opened: () => undefined, event: () => undefined, done },
      );
    });
    expect(agents).toEqual(Array(4).fill(`routedip-operator/0.0.0 (${process.platform}/${process.arch}) controller`));
  });

  test.each([
    ['POST', '/api/v1/namespaces/default/events', 'routedip-operator'],
    ['PATCH', '/api/v1/nodes/shop', 'routedip-operator'],
    ['PATCH', '/api/v1/nodes/shop/status', 'routedip-operator-status'],
    ['PUT', '/apis/routedip.io/v1alpha1/namespaces/web/routedips/shop/status', 'routedip-operator-status'],
    ['PATCH', '/apis/routedip.io/v1alpha1/namespaces/web/routedips/status', 'routedip-operator'],
    ['PATCH', '/api/v1/nodes/status', 'routedip-operator'],
    ['DELETE', '/api/v1/nodes/shop', null],
    ['GET', '/api/v1/nodes/shop', null],
  ] as const)('names itself as the manager of what it writes: %s %s', async (method, path, manager) => {
    const managers: unknown[] = [];
    const kubeconfig = await serving((request, response) => {
      managers.push(new URL(request.url ?? '', 'http://x').searchParams.get('fieldManager'));
      json(response, { metadata: { name: /shop/.test(path) ? 'shop' : 'status', uid: 'u', resourceVersion: '1' } });
    });
    await connected(kubeconfig).send({ method, path });
    expect(managers).toEqual([manager]);
  });

  test('has the server give up a write before it does itself, so that it hears what holds it up', async () => {
    const limits: unknown[] = [];
    const kubeconfig = await serving((request, response) => {
      limits.push([request.method, new URL(request.url ?? '', 'http://x').searchParams.get('timeout')]);
      json(response, { metadata: { name: 'a', uid: 'u', resourceVersion: '1' } });
    });
    const connection = connected(kubeconfig);
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) await connection.send({ method, path: '/api/v1/nodes/a' });
    await connection.send({ method: 'PATCH', path: '/api/v1/nodes/a', isUrgent: true });
    expect(limits).toEqual([
      ['GET', null],
      ['PATCH', '12s'],
      ['DELETE', '12s'],
      ['PATCH', null],
    ]);
  });

  test('tells the UID of the cluster', async () => {
    const simulator = await simulated();
    const { uid } = simulator.store.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' }).metadata;
    expect(await clusterUid(connected(simulator.kubeconfig()))).toBe(uid);
  });
});

describe('the configuration', () => {
  test('allows plain HTTP without being told to skip verification', async () => {
    const simulator = await simulated();
    const kubeconfig = simulator.kubeconfig().replace(/ *insecure-skip-tls-verify: true\n/, '');
    expect(kubeconfig).not.toContain('insecure');
    await clusterUid(connected(kubeconfig));
  });

  test('reads the token in the tokenFile of a user, beside the kubeconfig, again as it is renewed, and asks a server whose URL ends in slashes', async () => {
    const asked: string[] = [];
    const text = await serving(({ url, headers }, response) => {
      asked.push(`${url} ${headers.authorization}`);
      json(response, {});
    });
    const folder = folderOfTest();
    const config = parse(text) as { users: { user: object }[]; clusters: { cluster: { server: string } }[] };
    for (const each of config.users) each.user = { tokenFile: 'token' };
    for (const each of config.clusters) each.cluster.server += '//';
    writeFileSync(join(folder, 'config'), stringify(config));
    writeFileSync(join(folder, 'token'), 'first\n');
    const connection = connect(loadConfig(join(folder, 'config')), OPERATOR_IDENTITY);
    onTestFinished(() => connection.close());
    await connection.send({ method: 'GET', path: '/api/v1/nodes' });
    writeFileSync(join(folder, 'token'), 'second\n');
    await connection.list({ path: '/api/v1/nodes' }, () => undefined);
    expect(asked).toEqual(['/api/v1/nodes Bearer first', expect.stringMatching(/^\/api\/v1\/nodes\S* Bearer second$/)]);
  });

  test('names the file that has no cluster', () => {
    const path = join(folderOfTest(), 'config');
    writeFileSync(path, 'apiVersion: v1\nkind: Config\ncurrent-context: missing\n');
    expect(() => loadConfig(path)).toThrow(`${path} names no cluster for its current context "missing"`);
  });

  test('knows the operator’s own namespace: of the context, else of the Pod, else default', async () => {
    const folder = folderOfTest();
    const path = join(folder, 'config');
    const podFile = join(folder, 'namespace');
    writeFileSync(path, kubeconfigText('http://127.0.0.1:1').replace('namespace: default', 'namespace: of-context'));
    expect(ownNamespace(loadConfig(path), podFile)).toBe('of-context');
    writeFileSync(path, kubeconfigText('http://127.0.0.1:1').replace('namespace: default', ''));
    expect(ownNamespace(loadConfig(path), podFile)).toBe('default');
    writeFileSync(podFile, 'of-pod\n');
    expect(ownNamespace(loadConfig(path), podFile)).toBe('of-pod');
  });
});

describe('a watch', () => {
  const node = (name: string) => ({ metadata: { name, uid: name, resourceVersion: '5' } });
  const isWatch = (request: IncomingMessage): boolean => request.url?.includes('watch=true') === true;

  const reflecting = (kubeconfig: string, timings: Partial<typeof QUICK>) => {
    const names: string[] = [];
    const reflector = new Reflector(
      { connection: connected(kubeconfig), clock: systemClock(), random: () => 0, log: recordedLog(), timings: { ...QUICK, ...timings } },
      {
        query: { path: '/api/v1/nodes', labelSelector: '' },
        trim: (object) => {
          const { name, uid } = (object as ReturnType<typeof node>).metadata;
          return { key: name, uid, value: name };
        },
        same: (before, after) => before === after,
      },
      {
        set: (name) => void names.push(name),
        gone: (name) => void names.push(`-${name}`),
        synced: () => undefined,
        troubled: () => undefined,
      },
    );
    onTestFinished(() => reflector.stop());
    reflector.start();
    return { names, reflector };
  };

  test('whose connection is dead is noticed and begun anew where it was', async () => {
    const watches = new Set<string>();
    const kubeconfig = await serving((request, response) => {
      if (!isWatch(request)) return json(response, { metadata: { resourceVersion: '3' }, items: [node('a')] });
      const from = new URL(request.url ?? '', 'http://x').searchParams.get('resourceVersion') ?? '';
      watches.add(from);
      response.writeHead(200).flushHeaders();
      // From the list on it says one thing and then nothing any more, not even at the end of its time.
      if (from === '3') response.write(`${JSON.stringify({ type: 'ADDED', object: node('b') })}\n`);
      else response.write(`${JSON.stringify({ type: 'DELETED', object: node('a') })}\n`);
    });
    const { names } = reflecting(kubeconfig, { watchSeconds: 1, quietMarginMs: 50 });
    await waitFor('the second watch', () => names.length === 3);
    // One that came to nothing, since this process stood still for longer than it may be silent, begins where it did.
    expect([...watches]).toEqual(['3', '5']);
    expect(names).toEqual(['a', 'b', '-a']);
  });

  test('that is to be renewed goes on where it was, at once', async () => {
    const watches: string[] = [];
    const kubeconfig = await serving((request, response) => {
      if (!isWatch(request)) return json(response, { metadata: { resourceVersion: '3' }, items: [node('a')] });
      watches.push(new URL(request.url ?? '', 'http://x').searchParams.get('resourceVersion') ?? '');
      response.writeHead(200).flushHeaders();
      response.write(`${JSON.stringify({ type: 'ADDED', object: node(['b', 'c'][watches.length - 1] ?? 'd') })}\n`);
    });
    const { names, reflector } = reflecting(kubeconfig, { watchSeconds: 300, quietMarginMs: 300_000 });
    await waitFor('the first watch', () => names.length === 2);
    reflector.renew();
    await waitFor('the second watch', () => names.length === 3);
    expect([watches, names]).toEqual([
      ['3', '5'],
      ['a', 'b', 'c'],
    ]);
  });

  test('is given up sooner when bookmarks, once seen, stay away', async () => {
    let watches = 0;
    const kubeconfig = await serving((request, response) => {
      if (!isWatch(request)) return json(response, { metadata: { resourceVersion: '3' }, items: [node('a')] });
      watches += 1;
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } })}\n`);
    });
    reflecting(kubeconfig, { watchSeconds: 300, quietWithBookmarksMs: 100 });
    await waitFor('the third watch', () => watches >= 3);
  });

  test('that is not answered at all is given up after the connect time', async () => {
    let watches = 0;
    const kubeconfig = await serving((request, response) => {
      if (!isWatch(request)) return json(response, { metadata: { resourceVersion: '3' }, items: [node('a')] });
      watches += 1;
    });
    reflecting(kubeconfig, { connectMs: 100 });
    await waitFor('the third watch', () => watches >= 3);
  });

  test('follows nothing but a list: an answer that is none empties no cache', async () => {
    let lists = 0;
    const kubeconfig = await serving((request, response) => {
      if (isWatch(request)) {
        response.writeHead(200);
        response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 410, message: 'expired' } })}\n`);
        return undefined;
      }
      lists += 1;
      return json(
        response,
        lists === 1 ? { metadata: { resourceVersion: '3' }, items: [node('a')] } : { kind: 'Status', status: 'Success' },
      );
    });
    const { names, reflector } = reflecting(kubeconfig, {});
    await waitFor('more lists', () => lists >= 4);
    expect(names).toEqual(['a']);
    expect(reflector.trouble?.message).toContain('the answer is no list');
  });

  test('that ends again and again as soon as it began is not repeated without a pause', async () => {
    let watches = 0;
    const kubeconfig = await serving((request, response) => {
      if (!isWatch(request)) return json(response, { metadata: { resourceVersion: '3' }, items: [node('a')] });
      watches += 1;
      response.writeHead(200);
      response.end();
    });
    const startedAt = performance.now();
    reflecting(kubeconfig, { backoff: { firstMs: 20, factor: 2, maxMs: 10_000 } });
    await waitFor('the sixth watch', () => watches === 6);
    // Half of 20 + 40 + 80 + 160 + 320, the least that chance allows.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(310);
  });
});
