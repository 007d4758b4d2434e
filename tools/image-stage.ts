import { once } from 'node:events';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { startDigitalOcean } from '../simulator/digitalocean/server.ts';
import { connectionOf, kubeClient } from '../simulator/kubernetes/client.ts';
import { addNode, addPod } from '../simulator/kubernetes/cluster.ts';
import { startKubernetes } from '../simulator/kubernetes/server.ts';

const ROOT = join(import.meta.dirname, '..');
export const TOKEN = 'token-of-the-image-tests';
export const NAMESPACE = 'routedip-operator';
const POOL = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
/** What podman calls this machine within a container that has a network of its own. */
const OUTSIDE = 'host.containers.internal';

/** The simulators, with one address and two nodes that may have it, and the Secret that whoever installs makes. */
export async function openStage(work: string) {
  const crds = readdirSync(join(ROOT, 'crds'))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(ROOT, 'crds', name));
  const kubernetes = await startKubernetes({ crds });
  const cloud = await startDigitalOcean({ token: TOKEN });
  const kubeconfig = join(work, 'kubeconfig');
  /** With another URL of the cluster, where that is given. */
  const writeKubeconfig = (url = kubernetes.url): void => {
    writeFileSync(kubeconfig, kubernetes.kubeconfig().replaceAll(kubernetes.url, url));
    // The user in the container is another one.
    chmodSync(kubeconfig, 0o644);
  };
  writeKubeconfig();
  const client = kubeClient(connectionOf(kubernetes.kubeconfig()));
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const data = { DIGITALOCEAN_ACCESS_TOKEN: Buffer.from(TOKEN).toString('base64') };
  await client.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'routedip-operator', namespace: NAMESPACE }, data });
  const { ip } = cloud.addReservedIP({ region: 'nyc3' });
  const droplets = new Map<string, number>();
  for (const name of ['a', 'b']) {
    const droplet = cloud.addDroplet({ name, region: 'nyc3' });
    droplets.set(name, droplet.id);
    await addNode(client, { name, dropletID: droplet.id, region: 'nyc3' });
    await addPod(client, { name: `ingress-${name}`, namespace: 'default', node: name, labels: { app: 'ingress' } });
  }
  const close = async () => {
    client.close();
    await kubernetes.close();
    await cloud.close();
  };
  return { client, cloud, url: kubernetes.url, kubeconfig, writeKubeconfig, droplets, ip, close };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Makes a pool that wants the address. */
export async function wantAddress({ client, ip }: Stage): Promise<void> {
  const { namespace, name, ...kind } = POOL;
  const match = { podNamespace: 'default', podLabel: 'app=ingress' };
  const spec = { provider: 'digitalocean', region: 'nyc3', desiredIPs: 1, ips: [ip], match };
  await client.create({ ...kind, metadata: { name, namespace }, spec });
}

/** Where the address is by its pool's status and at the provider; null where they do not agree that it is anywhere. */
export async function holder({ client, cloud, droplets, ip }: Stage): Promise<string | null> {
  const { status } = (await client.get(POOL)) as unknown as {
    readonly status?: { readonly ips?: Readonly<Record<string, { readonly state: string; readonly nodeName?: string }>> };
  };
  const shown = status?.ips?.[ip];
  const at = shown?.state === 'active' ? (shown.nodeName ?? null) : null;
  return at !== null && cloud.state.reservedIPs.get(ip)?.dropletId === droplets.get(at) ? at : null;
}

/** Lets containers that have a network of their own reach a server on this loopback. Resolves with the URL that they have for it, and what ends that. */
export async function reachable(url: string): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const port = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => sockets.delete(socket));
      socket.pipe(other);
    }
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const close = async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  return { url: `http://${OUTSIDE}:${(server.address() as AddressInfo).port}`, close };
}
