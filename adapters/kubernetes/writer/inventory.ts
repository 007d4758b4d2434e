import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { InventoryWriter } from '../../../actors/ports/inventory.ts';
import { INVENTORY_KEY, INVENTORY_NAME } from '../../../machines/status/inventory.ts';
import { isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

const NOTE =
  'What the accounts hold, for kubectl routedip inventory. The operator writes it and never reads it. See docs/kubectl-plugin.md';

/** A ConfigMap in the namespace of the operator: the API server lets those read it who may, and nobody has to be able to reach the operator. Compressed, since it may hold 1 MiB, and
 *  some thousand addresses are more. `hide` takes secrets out. Needs the rights to create and update ConfigMaps there. */
export const kubernetesInventory = (connection: Connection, own: string, hide: (json: string) => string): InventoryWriter => {
  const collection = `/api/v1/namespaces/${encodeURIComponent(own)}/configmaps`;
  return {
    write: async (text) => {
      const body = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: INVENTORY_NAME,
          namespace: own,
          labels: { 'app.kubernetes.io/name': 'routedip-operator', 'app.kubernetes.io/component': 'inventory' },
          annotations: { 'routedip.io/about': NOTE },
        },
        binaryData: { [INVENTORY_KEY]: (await promisify(gzip)(hide(text))).toString('base64') },
      };
      try {
        await connection.send({ method: 'PUT', path: `${collection}/${INVENTORY_NAME}`, body });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await connection.send({ method: 'POST', path: collection, body });
      }
    },
  };
};
