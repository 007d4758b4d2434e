import { fieldsOf } from '../../../machines/model/types.ts';
import type { Connection } from '../client/connection.ts';
import { list, text } from './trim.ts';

/** So many nodes are looked at: those of a cloud are of one cloud. */
const LOOKED_AT = 50;

/** Whose controllers serve no Services of type LoadBalancer, or of which there is none. */
const SERVE_NONE: ReadonlySet<string> = new Set(['kind', 'kwok', 'metal3', 'vsphere']);

/** The cloud that the nodes are machines of, as their `spec.providerID` begins, such as `digitalocean`, if its controller may serve Services of type LoadBalancer; null for
 *  none. @throws ServerUnreachable | ApiError */
export async function cloudOfNodes(connection: Connection): Promise<string | null> {
  const nodes = fieldsOf(await connection.send({ method: 'GET', path: '/api/v1/nodes', query: { limit: LOOKED_AT } }));
  const clouds = list(nodes.items).map(
    (node) => /^(?<cloud>[\w.-]+):\/\//.exec(text(fieldsOf(fieldsOf(node).spec).providerID))?.groups?.cloud,
  );
  return clouds.find((cloud) => cloud !== undefined && !SERVE_NONE.has(cloud)) ?? null;
}
