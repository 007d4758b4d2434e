import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from './kube.ts';
import { apply } from './kube-apply.ts';
import { NETWORK } from './kube-network.ts';
import { cniConfig, containerdConfig, dnsConfig, kubeletConfig, type NodePlaces } from './kube-node-files.ts';
import { startServer } from './kube-process.ts';
import { waitFor } from './wait-for.ts';

export interface NodeOptions {
  /** A cluster that runs Pods (`runsPods`), with all controllers. */
  readonly cluster: Cluster;
  /** With the binaries and pause.tar, as tools/kubernetes/provision-node makes it. */
  readonly assets: string;
  /** For all that the node keeps, its logs too. */
  readonly folder: string;
  /** Docker archives that its Pods can name. */
  readonly images: readonly string[];
  /** A cgroup that is there, as cgroupfs names it. */
  readonly cgroup: string;
}

export const NODE_NAME = 'node-1';
/** For claims without a class. What a claim leaves behind is given to no other. */
const DISKS = 24;
const READY_MS = 120_000;

/** Starts what a node of Kubernetes runs: containerd, kubelet, kube-proxy, and beside them the scheduler and CoreDNS. Resolves when the node is Ready. It is to be called in
 *  network, mount and process namespaces of its own, as root: all of it ends with these. The network is that of openNetwork. @throws Error when something does not start */
export async function startNode({ cluster, assets, folder, images, cgroup }: NodeOptions): Promise<void> {
  const { kubeconfig } = cluster;
  const places: NodePlaces = { folder, socket: join(folder, 'containerd.sock'), kubeconfig, cgroup };
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const start = (name: string, ...flags: readonly string[]) => startServer(join(assets, name), flags, folder);
  const ctr = (...args: readonly string[]) => execFileSync(join(assets, 'ctr'), ['--address', places.socket, ...args], { stdio: 'pipe' });

  mkdirSync(join(folder, 'cni'), { recursive: true });
  file('cni/10-pods.conflist', cniConfig(places));
  await start('containerd', '--config', file('containerd.toml', containerdConfig(places)));
  await waitFor('containerd answers', () => succeeds(() => ctr('version')));
  for (const image of [join(assets, 'pause.tar'), ...images]) ctr('--namespace', 'k8s.io', 'images', 'import', image);
  await start('kube-scheduler', `--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--bind-address=127.0.0.1');
  await start(
    'kube-proxy',
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${NETWORK.pods}`,
    '--bind-address=127.0.0.1',
    '--conntrack-max-per-core=0',
  );
  await start('coredns', '-conf', file('Corefile', dnsConfig(places)));
  await start(
    'kubelet',
    `--kubeconfig=${kubeconfig}`,
    `--config=${file('kubelet.yaml', kubeletConfig(places))}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NETWORK.node}`,
  );
  await waitFor(`${NODE_NAME} is Ready`, () => isReady(cluster), READY_MS);
  for (let disk = 1; disk <= DISKS; disk++) await provideDisk(cluster, `disk-${disk}`, folder);
}

/** Makes the network of a node in the namespace of this process, which has none yet: loopback, and the bridge of the Pods, where the node has its address. */
export function openNetwork(): void {
  const ip = (...args: readonly string[]) => execFileSync('ip', args, { stdio: 'pipe' });
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'cni0', 'type', 'bridge');
  ip('address', 'add', `${NETWORK.node}/24`, 'dev', 'cni0');
  ip('link', 'set', 'cni0', 'up');
  // The API server calls webhooks by the address of their Service: without a route there is nothing for the rules of kube-proxy to rewrite.
  ip('route', 'add', NETWORK.services, 'dev', 'cni0');
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
}

const succeeds = (run: () => unknown): boolean => {
  try {
    run();
    return true;
  } catch {
    return false;
  }
};

async function isReady(cluster: Cluster): Promise<boolean> {
  const { body } = await cluster.send(`/api/v1/nodes/${NODE_NAME}`);
  const conditions: readonly { readonly type: string; readonly status: string }[] = body.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** A disk that any user may write to, as a provisioner makes it. */
async function provideDisk(cluster: Cluster, name: string, folder: string): Promise<void> {
  const path = join(folder, name);
  mkdirSync(path);
  chmodSync(path, 0o777);
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path } };
  const { status, body } = await apply(cluster, { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec });
  if (status >= 300) throw new Error(`PersistentVolume ${name}: ${status} ${body.message}`);
}
