import { fieldsOf } from '../../../machines/model/types.ts';
import type { Connection } from '../client/connection.ts';
import { list, text } from './trim.ts';

/** How many nodes are inspected: all nodes of a cluster belong to the same cloud. */
const LOOKED_AT = 50;

/** Clouds whose controllers do not serve Services of type LoadBalancer, or that have no controller. */
const SERVE_NONE: ReadonlySet<string> = new Set(['kind', 'kwok', 'metal3', 'vsphere']);

/** The cloud of the nodes, i.e. the scheme of their `spec.providerID` such as `digitalocean`, if its controller may serve Services of type LoadBalancer; null for
 *  none. @throws ServerUnreachable | ApiError */
export async function cloudOfNodes(connection: Connection): Promise<string | null> {
  const nodes = fieldsOf(await connection.send({ method: 'GET', path: '/api/v1/nodes', query: { limit: LOOKED_AT } }));
  const clouds = list(nodes.items).map(
    (node) => /^(?<cloud>[\w.-]+):\/\//.exec(text(fieldsOf(fieldsOf(node).spec).providerID))?.groups?.cloud,
  );
  return clouds.find((cloud) => cloud !== undefined && !SERVE_NONE.has(cloud)) ?? null;
}
