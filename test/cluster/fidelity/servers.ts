import { readFileSync } from 'node:fs';
import { type Connection, connectionOf, kubeClient, type RawClient, rawClient } from '../../../simulator/kubernetes/client.ts';
import { addNodes, addPods } from '../../../simulator/kubernetes/cluster.ts';
import { at } from '../../../simulator/kubernetes/objects.ts';
import { startKubernetes } from '../../../simulator/kubernetes/server.ts';
import { startCluster } from '../../support/kube.ts';
import { installCrds, type Server } from '../../support/kube-apply.ts';
import { parsed } from './answer.ts';

/** One of the two. */
export interface Side {
  readonly connection: Connection;
  readonly client: RawClient;
}

/** The simulator and a real API server of the same version, with the same definitions, nodes and Pods. */
export interface Servers {
  readonly ours: Side;
  readonly theirs: Side;
  close(): Promise<void>;
}

const sideOf = (connection: Connection): Side => ({ connection, client: rawClient(connection) });

const asServer = ({ client }: Side): Server => ({
  send: async (path, { method = 'GET', body } = {}) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : undefined;
    const { code, text } = await client.send(method, path, { body: body as never, type });
    return { status: code, body: parsed(text) };
  },
});

const furnish = async (side: Side): Promise<void> => {
  await installCrds(asServer(side));
  const client = kubeClient(side.connection);
  await addNodes(client, 2, { internalIP: '10.1.0.1' });
  // A real server taints what is new until a controller finds that it is ready; none runs.
  for (const name of ['node-1', 'node-2']) await client.patch({ apiVersion: 'v1', kind: 'Node', name }, { spec: { taints: null } });
  await addPods(
    client,
    [1, 2].map((index) => ({ name: `pod-${index}`, node: `node-${index}`, labels: { app: 'x' } })),
  );
  client.close();
};

/** @throws Error when no real server can be started */
export const startServers = async (): Promise<Servers> => {
  const cluster = await startCluster({ controllers: ['namespace'] });
  const theirs = sideOf(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
  const version = String(at(parsed((await theirs.client.send('GET', '/version')).text), 'gitVersion'));
  const simulator = await startKubernetes({ version });
  const ours = sideOf({ url: simulator.url });
  for (const side of [ours, theirs]) await furnish(side);
  return {
    ours,
    theirs,
    close: async () => {
      for (const { client } of [ours, theirs]) client.close();
      await simulator.close();
      await cluster.stop();
    },
  };
};
