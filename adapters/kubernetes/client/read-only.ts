import { type Connection, STRATEGIC_MERGE_PATCH } from './connection.ts';
import { wholeSeconds } from './kube-time.ts';

/** Questions that are asked by POST and store nothing. */
const REVIEWS = /^\/apis\/(authentication|authorization)\.k8s\.io\//;

/** `connection`, over which nothing is written: what would be is answered as if it had been, so that whoever writes goes on. */
export const readOnly = (connection: Connection): Connection => ({
  send: async (request) => (request.method === 'GET' || REVIEWS.test(request.path) ? connection.send(request) : (request.body ?? {})),
  list: (request, item) => connection.list(request, item),
  watch: (options, handlers) => connection.watch(options, handlers),
  close: () => connection.close(),
});

/** A Pod says by this condition that its operator only observes. */
export const OBSERVE_ONLY = 'routedip.io/ObserveOnly';

/** Writes the condition on the operator's own Pod: nobody else writes that, and the condition goes with it. @throws ServerUnreachable | ApiError */
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
