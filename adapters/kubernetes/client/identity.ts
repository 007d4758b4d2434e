import type { Connection } from './connection.ts';

/** The UID of the namespace kube-system: identifies the cluster, since it exists as long. @throws ServerUnreachable | ApiError */
export const clusterUid = async (connection: Connection): Promise<string> => {
  const found = (await connection.send({ method: 'GET', path: '/api/v1/namespaces/kube-system' })) as {
    readonly metadata?: { readonly uid?: unknown };
  };
  const uid = found.metadata?.uid;
  if (typeof uid !== 'string' || uid === '') throw new Error('the namespace kube-system has no uid');
  return uid;
};
