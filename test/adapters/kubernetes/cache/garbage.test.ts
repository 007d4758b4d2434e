import type { RequestListener, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listAll } from '../../../../adapters/kubernetes/cache/pages.ts';
import { Reflector } from '../../../../adapters/kubernetes/cache/reflector.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import { termOf } from '../../../../adapters/kubernetes/election/lease.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import { termIn } from '../../../../machines/status/restore-pool.ts';
import { kubeconfigText } from '../../../../simulator/kubernetes/kubeconfig.ts';
import { serving } from '../../../support/serving.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { electing } from '../election/electing.ts';
import { connected, QUICK, recordedLog } from '../support.ts';

const NODES = '/api/v1/nodes';
const NODE = `${NODES}/a`;
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/x/leases/y';
const MIB = 2 ** 20;

const answering = async (listener: RequestListener) => connected(kubeconfigText(await serving(listener)));

const node = (name: string, resourceVersion = '5') => ({ metadata: { name, uid: name, resourceVersion } });
const listOf = (...items: readonly unknown[]) => ({ kind: 'NodeList', metadata: { resourceVersion: '3' }, items });

/** As much as the other side takes. */
const pour = (response: ServerResponse, piece: string): void => {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
};

describe('an answer about an object', () => {
  test.each([
    ['a page of a proxy', '<html>Welcome</html>'],
    ['half of one', '{"metadata":{"name":"a","uid":"b"'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a text', '"a"'],
    ['an object without a uid', JSON.stringify({ metadata: { name: 'a', resourceVersion: '1' } })],
    ['an object without metadata', '{}'],
    ['an object whose version is a number', JSON.stringify({ metadata: { name: 'a', uid: 'a', resourceVersion: 1 } })],
    ['another object', JSON.stringify(node('b'))],
    ['a list of it', JSON.stringify(listOf(node('a')))],
  ])('that is %s says nothing of it', async (_, body) => {
    const connection = await answering((_request, response) => response.end(body));
    await expect(connection.send({ method: 'GET', path: NODE })).rejects.toMatchObject({ name: 'ServerUnreachable' });
  });

  test('that comes compressed, though nobody asked for it, is not unpacked', async () => {
    const bomb = gzipSync(Buffer.from(`${JSON.stringify(node('a'))}${' '.repeat(64 * MIB)}`));
    const connection = await answering(({ headers }, response) => {
      expect(headers['accept-encoding']).toBeUndefined();
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    await expect(connection.send({ method: 'GET', path: NODE })).rejects.toMatchObject({ name: 'ServerUnreachable' });
    await expect(connection.list({ path: NODES }, () => undefined)).rejects.toMatchObject({ name: 'ServerUnreachable' });
  });

  test('that leads elsewhere is not followed', async () => {
    const strayed: string[] = [];
    const elsewhere = await serving((request, response) => {
      strayed.push(request.url ?? '');
      response.end(JSON.stringify(node('a')));
    });
    const connection = await answering((_request, response) => {
      response.writeHead(302, { location: `${elsewhere}${NODE}` });
      response.end();
    });
    await expect(connection.send({ method: 'GET', path: NODE })).rejects.toMatchObject({ name: 'ServerUnreachable' });
    const watched = Promise.withResolvers<Error | null>();
    const handlers = { opened: () => undefined, event: () => undefined, done: watched.resolve };
    connection.watch({ path: NODES, query: {}, connectMs: 5_000, quietMs: () => 5_000 }, handlers);
    expect(await watched.promise).toMatchObject({ name: 'ServerUnreachable', message: 'watch nodes: 302' });
    expect(strayed).toEqual([]);
  });

  test('that has no end is read so far and no further', async () => {
    const connection = await answering((_request, response) => pour(response, 'x'.repeat(MIB)));
    await expect(connection.send({ method: 'GET', path: NODE })).rejects.toThrow('an answer of more than 16 MiB');
  });

  test.each([
    ['2', 2_000],
    ['99999999999', 60_000],
    ['-5', null],
    ['Infinity', null],
    ['soon', null],
  ])('that asks to wait for %s is waited for within reason', async (header, retryAfterMs) => {
    const connection = await answering((_request, response) => {
      response.writeHead(429, { 'retry-after': header });
      response.end();
    });
    await expect(connection.send({ method: 'GET', path: NODE })).rejects.toMatchObject({ retryAfterMs });
  });

  test('is told as one short line, whatever it says', async () => {
    const connection = await answering((_request, response) => {
      response.writeHead(500);
      response.end(JSON.stringify({ message: `\u001b[31m\n\u202e${'x'.repeat(MIB)}` }));
    });
    const failed: unknown = await connection.send({ method: 'GET', path: NODE }).catch((error: unknown) => error);
    expect((failed as Error).message).toMatch(/^get nodes: 500 \\u001b\[31m\\n\\u202exxx/);
    expect((failed as Error).message.length).toBeLessThan(3_000);
  });
});

describe('a list', () => {
  test.each([
    ['with what is no object among its items', listOf(node('a'), 1)],
    ['of null', listOf(null)],
    ['of objects without a uid', listOf(node('a'), { metadata: { name: 'b', resourceVersion: '5' } })],
    ['of objects without metadata', listOf({})],
    ['with an object of another kind', listOf({ kind: 'Pod', ...node('b') })],
    ['of another kind', { ...listOf(node('a')), kind: 'PodList' }],
    ['without a version', { ...listOf(node('a')), metadata: {} }],
    ['with a number for a version', { ...listOf(node('a')), metadata: { resourceVersion: 3 } }],
    ['whose items are no list', { ...listOf(), items: { a: node('a') } }],
  ])('%s is none: whatever is missing would count as gone', async (_, answer) => {
    const connection = await answering((_request, response) => response.end(JSON.stringify(answer)));
    const { told } = reflecting(connection);
    await waitFor('trouble', () => told.some((line) => line.startsWith('trouble')));
    expect(told.filter((line) => !line.startsWith('trouble'))).toEqual([]);
  });

  test.each([
    ['an item', '{"kind":"NodeList","items":[{"a":"'],
    ['what stands around them', '{"kind":"'],
  ])('in which %s has no end is read so far and no further', async (_, head) => {
    const connection = await answering((_request, response) => {
      response.write(head);
      pour(response, 'x'.repeat(MIB));
    });
    await expect(connection.list({ path: NODES }, () => undefined)).rejects.toThrow('an item of more than 16 MiB');
  });

  test.each([
    ['ends before it begins', '}}}{"items":[]}', 'the list ends before it begins'],
    ['is deeper than anything is', `{"items":[${'['.repeat(100_000)}`, 'the list ends in the middle'],
  ])('that %s is refused', async (_, body, why) => {
    const connection = await answering((_request, response) => response.end(body));
    await expect(connection.list({ path: NODES }, () => undefined)).rejects.toThrow(why);
  });
});

const reflecting = (connection: ReturnType<typeof connected>) => {
  const told: string[] = [];
  const reflector = new Reflector(
    { connection, clock: systemClock(), random: () => 0, log: recordedLog(), timings: QUICK },
    {
      query: { path: NODES, labelSelector: '' },
      trim: (object) => {
        const { name, uid } = (object as ReturnType<typeof node>).metadata;
        return { key: name, uid, value: name };
      },
      same: () => true,
    },
    {
      set: (name) => void told.push(name),
      gone: (name) => void told.push(`-${name}`),
      synced: () => undefined,
      troubled: (error) => void (error && told.push(`trouble ${error.message}`)),
    },
  );
  onTestFinished(() => reflector.stop());
  reflector.start();
  return { told, reflector };
};

describe('a watch', () => {
  const line = (type: unknown, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

  test.each([
    ['is no JSON', '{"type":"ADDED","object":{"metadata"\n'],
    ['is no event', '[]\n'],
    ['has no type', line(undefined, node('b', '6'))],
    ['has another type', line('CHANGED', node('b', '6'))],
    ['is about nothing', line('ADDED', null)],
    ['is about an object without a uid', line('MODIFIED', { metadata: { name: 'a', resourceVersion: '6' } })],
    ['is about an object without metadata', line('DELETED', {})],
    ['is about another kind', line('DELETED', { kind: 'Pod', ...node('a', '6') })],
    ['is a bookmark of nothing', line('BOOKMARK', { metadata: { resourceVersion: 6 } })],
    ['is an error that says nothing', line('ERROR', null)],
    ['is an error with other types', line('ERROR', { code: 'x', message: 5 })],
    ['has no end', null],
  ])('in which a line %s is taken up where it was: what that line was about is not lost', async (_, garbage) => {
    const from: (string | null)[] = [];
    const connection = await answering((request, response) => {
      const url = new URL(request.url ?? '', 'http://x');
      if (!url.searchParams.has('watch')) return void response.end(JSON.stringify(listOf(node('a'))));
      from.push(url.searchParams.get('resourceVersion'));
      response.writeHead(200).flushHeaders();
      if (from.length > 1) return void response.write(line('ADDED', node('b', '6')) + line('ADDED', node('c', '7')));
      if (garbage === null) return pour(response, 'x'.repeat(MIB));
      return void response.write(garbage + line('ADDED', node('c', '7')));
    });
    const { told } = reflecting(connection);
    await waitFor('what comes after', () => told.includes('c'));
    expect(told.filter((each) => !each.startsWith('trouble'))).toEqual(['a', 'b', 'c']);
    expect(told.some((each) => each.startsWith('trouble'))).toBe(true);
    expect(from).toEqual(['3', '3']);
  });

  test.each([
    ['ends as soon as it begins', '', 'it ends as soon as it begins'],
    ['always says that its beginning is too old', line('ERROR', { code: 410, message: 'too old' }), '410 too old'],
  ])('that %s is told of, and lists go on showing what there is', async (_, answer, why) => {
    let lists = 0;
    const connection = await answering((request, response) => {
      if (request.url?.includes('watch=true')) return void response.end(answer);
      lists += 1;
      return void response.end(JSON.stringify(listOf(node('a'), ...(lists > 2 ? [node('b')] : []))));
    });
    const { told } = reflecting(connection);
    await waitFor('both', () => told.includes('b') && told.some((each) => each.includes(why)));
  });

  test('with a line of 10 MB is read', async () => {
    const connection = await answering((request, response) => {
      if (!request.url?.includes('watch=true')) return void response.end(JSON.stringify(listOf(node('a'))));
      return void response.write(line('ADDED', { ...node('b'), filler: 'x'.repeat(10 * MIB) }));
    });
    const { told } = reflecting(connection);
    await waitFor('it', () => told.includes('b'));
    expect(told).toEqual(['a', 'b']);
  });
});

describe('the Lease', () => {
  test.each([
    ['no Lease', { kind: 'Node' }],
    ['of another version', { apiVersion: '-1' }],
    ['without metadata', { metadata: undefined }],
    ['without a version', { metadata: { name: 'y' } }],
    ['whose annotations are no texts', { metadata: { resourceVersion: '9', annotations: { 'routedip.io/term': 9 } } }],
    ['that nobody knows the length of', { spec: { leaseDurationSeconds: 'long' } }],
    ['that lasts for no time', { spec: { leaseDurationSeconds: 0 } }],
    ['that a number holds', { spec: { holderIdentity: 1 } }],
    ['that another holds than wrote it', { spec: { holderIdentity: 'somebody' } }],
  ])('that is answered %s is not kept: the next renewal is built on the one before', async (_, garbage) => {
    const { candidate, clock, told } = electing();
    const { leadership, connection, start } = candidate('first');
    await start();
    const { send } = connection;
    let answers = 0;
    connection.send = async (request) => {
      answers += 1;
      const answer = await send(request);
      return answers === 1 ? { ...(answer as object), ...garbage } : answer;
    };
    await clock.advance(60_000);
    expect(told).toEqual(['first acquired']);
    expect(leadership.lease().durationMs).toBe(15_000);
  });

  test('that is answered with a page is none', async () => {
    const connection = await answering((_request, response) => response.end('{"kind":"Status"}'));
    await expect(connection.send({ method: 'GET', path: LEASE })).rejects.toMatchObject({ name: 'ServerUnreachable' });
  });
});

test.each(['9'.repeat(13), '9'.repeat(15), '1e300', '-1', 'garbage', ''])('the term %s on the Lease is none', (term) => {
  expect(termOf({ metadata: { annotations: { 'routedip.io/term': term } } })).toBe(0);
});

test.each([1e12, 1e15, 2 ** 53, -1, 1.5, '7', null])('the term %j in a status is none', (term) => {
  expect(termIn({ term })).toBe(0);
});

test.each([true, false])('a list that does not end is given up before it fills the memory; in pages: %s', async (inPages) => {
  let count = 0;
  const list = async (_: unknown, item: (object: unknown) => void) => {
    do {
      count += 1;
      item(node(`n${count}`));
    } while (!inPages || count % 10_000 !== 0);
    return { kind: 'NodeList', metadata: { resourceVersion: '3', continue: 'more' }, items: [] };
  };
  const all = listAll({ list } as unknown as Connection, { path: NODES, labelSelector: '' }, (value) => ({ key: 'a', uid: 'a', value }));
  await expect(all).rejects.toThrow('it does not end');
  expect(count).toBeLessThanOrEqual(inPages ? 1_000_001 : 200_001);
});
