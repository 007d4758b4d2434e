import { isConflict, isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

export interface SecretKey {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Creates the Secret with the result of `make`, unless it exists; of concurrent callers one creates it. An existing Secret is never changed. May be repeated.
 *  Needs the rights to create Secrets in the namespace, and to get this one.
 *  @throws ServerUnreachable | ApiError; Error when the Secret exists without a value under the key */
export async function ensureSecret(
  connection: Connection,
  { namespace, name, key }: SecretKey,
  make: () => string,
): Promise<'made' | 'found'> {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const isThere = async (): Promise<boolean> => {
    const data = await dataOf(connection, `${collection}/${encodeURIComponent(name)}`);
    if (data !== null && !data[key]) {
      throw new Error(
        `the Secret ${namespace}/${name} has nothing under the key ${key}: add it, or delete the Secret to have a new one made`,
      );
    }
    return data !== null;
  };
  if (await isThere()) return 'found';
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, labels: { 'app.kubernetes.io/name': 'routedip-operator' } },
    data: { [key]: Buffer.from(make()).toString('base64') },
  };
  try {
    await connection.send({ method: 'POST', path: collection, body });
    return 'made';
  } catch (error) {
    // Another replica was faster: its value is used.
    if (isConflict(error) && (await isThere())) return 'found';
    throw error;
  }
}

/** Null when there is no such Secret. */
async function dataOf(connection: Connection, path: string): Promise<Readonly<Record<string, string>> | null> {
  try {
    const { data = {} } = (await connection.send({ method: 'GET', path })) as { readonly data?: Readonly<Record<string, string>> };
    return data;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
