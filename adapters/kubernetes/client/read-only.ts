import { type Connection, STRATEGIC_MERGE_PATCH } from './connection.ts';
import { wholeSeconds } from './kube-time.ts';

/** Queries that use POST but store nothing. */
const REVIEWS = /^\/apis\/(authentication|authorization)\.k8s\.io\//;

/** `connection` without writes: a write returns its own body as if it had succeeded, so that the caller continues. */
export const readOnly = (connection: Connection): Connection => ({
  send: async (request) => (request.method === 'GET' || REVIEWS.test(request.path) ? connection.send(request) : (request.body ?? {})),
  list: (request, item) => connection.list(request, item),
  watch: (options, handlers) => connection.watch(options, handlers),
  close: () => connection.close(),
});

/** The condition of a Pod whose operator only observes. */
export const OBSERVE_ONLY = 'routedip.io/ObserveOnly';

/** Writes the condition on the operator's own Pod: no other process writes it there, and it disappears with the Pod. @throws ServerUnreachable | ApiError */
export async function showObserveOnly(
  connection: Connection,
  pod: { readonly namespace: string; readonly name: string },
  message: string,
  now: number,
): Promise<void> {
  const condition = { type: OBSERVE_ONLY, status: 'True', reason: 'ObserveOnly', message, lastTransitionTime: wholeSeconds(now) };
  await connection.send({
    method: 'PATCH',
    path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/status`,
    contentType: STRATEGIC_MERGE_PATCH,
    body: { status: { conditions: [condition] } },
  });
}
