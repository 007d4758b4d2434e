import { describe, expect, test } from 'vitest';
import type { Connection, Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { readOnly, showObserveOnly } from '../../../../adapters/kubernetes/client/read-only.ts';

/** A server that answers everything by the path that was asked for. */
function server(): { readonly connection: Connection; readonly sent: Request[] } {
  const sent: Request[] = [];
  const connection: Connection = {
    send: async (request) => {
      sent.push(request);
      return request.path;
    },
    list: async ({ path }, item) => {
      item(path);
      return path;
    },
    watch: (_, handlers) => {
      handlers.opened();
      return () => undefined;
    },
    close: async () => undefined,
  };
  return { connection, sent };
}

describe('a connection that is only read over', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)('sends no %s, and answers as if it had been done', async (method) => {
    const { connection, sent } = server();
    const body = { metadata: { name: 'a' } };
    expect(await readOnly(connection).send({ method, path: '/api/v1/nodes/a', body })).toBe(body);
    expect(await readOnly(connection).send({ method, path: '/api/v1/nodes/a' })).toEqual({});
    expect(sent).toEqual([]);
  });

  test('reads, and asks who somebody is and what he may', async () => {
    const { connection, sent } = server();
    const reading = readOnly(connection);
    const items: unknown[] = [];
    await reading.list({ path: '/api/v1/pods' }, (item) => items.push(item));
    expect(items).toEqual(['/api/v1/pods']);
    for (const [method, path] of [
      ['GET', '/api/v1/nodes/a'],
      ['POST', '/apis/authentication.k8s.io/v1/tokenreviews'],
      ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ] as const)
      expect(await reading.send({ method, path })).toBe(path);
    expect(sent).toHaveLength(3);
    await reading.send({ method: 'POST', path: '/apis/example.com/v1/x/authentication.k8s.io/' });
    expect(sent).toHaveLength(3);
  });

  test('one condition of the own Pod is written beside it', async () => {
    const { connection, sent } = server();
    await showObserveOnly(connection, { namespace: 'ops', name: 'pod-1' }, 'why', Date.parse('2026-03-01T12:00:00.900Z'));
    const condition = { type: 'routedip.io/ObserveOnly', status: 'True', reason: 'ObserveOnly', message: 'why' };
    expect(sent).toEqual([
      {
        method: 'PATCH',
        path: '/api/v1/namespaces/ops/pods/pod-1/status',
        // Merged by the types of conditions: those of the kubelet stay.
        contentType: 'application/strategic-merge-patch+json',
        body: { status: { conditions: [{ ...condition, lastTransitionTime: '2026-03-01T12:00:00Z' }] } },
      },
    ]);
  });
});
