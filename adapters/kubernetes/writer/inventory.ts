import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { InventoryWriter } from '../../../actors/ports/inventory.ts';
import { INVENTORY_KEY, INVENTORY_NAME } from '../../../machines/status/inventory.ts';
import { isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

const NOTE =
  'What the accounts hold, for kubectl routedip inventory. The operator writes it and never reads it. See docs/kubectl-plugin.md';

/** A ConfigMap in the operator's namespace: RBAC controls who may read it, and readers need not reach the operator. Compressed, since a ConfigMap is limited to
 *  1 MiB, and a few thousand addresses take more. `hide` redacts secrets. Needs the rights to create and update ConfigMaps there. */
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
