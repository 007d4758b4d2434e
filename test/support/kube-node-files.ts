import { join } from 'node:path';
import { stringify } from 'yaml';
import { NETWORK } from './kube-network.ts';

/** Where a node keeps what; all of it below one folder. */
export interface NodePlaces {
  readonly folder: string;
  /** The socket of containerd. */
  readonly socket: string;
  /** Of the cluster's administrator, which all of the node acts as. */
  readonly kubeconfig: string;
  /** The cgroup below which Pods are, as cgroupfs names it. */
  readonly cgroup: string;
}

/** The image that holds a Pod's namespaces: tools/kubernetes/provision-node makes it. */
const PAUSE = 'localhost/pause:1';

export const containerdConfig = ({ folder, socket }: NodePlaces): string => `version = 3
root = "${join(folder, 'containerd')}"
state = "${join(folder, 'containerd-state')}"
[grpc]
  address = "${socket}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${PAUSE}"
[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE nobody may lower it.
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${join(folder, 'cni')}"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "/usr/sbin/runc"
  SystemdCgroup = false
`;

export const cniConfig = ({ folder }: NodePlaces): string => {
  const ipam = {
    type: 'host-local',
    dataDir: join(folder, 'ipam'),
    ranges: [[{ subnet: NETWORK.pods }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: true, hairpinMode: true, ipam };
  const ports = { type: 'portmap', capabilities: { portMappings: true } };
  return JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [bridge, ports] });
};

export const kubeletConfig = ({ folder, socket, cgroup }: NodePlaces): string =>
  stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${socket}`,
    // A kubelet removes what it finds there of Pods that it does not know: those of another node that runs on this machine, too.
    podLogsDir: join(folder, 'pod-logs'),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [NETWORK.node],
    clusterDomain: 'cluster.local',
    nodeStatusUpdateFrequency: '2s',
    // The disk is the machine's, and the images are not to be had again.
    evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '50Mi' },
    imageGCHighThresholdPercent: 100,
  });

export const dnsConfig = ({ kubeconfig }: NodePlaces): string => `cluster.local:53 {
  bind ${NETWORK.node}
  errors
  kubernetes cluster.local {
    kubeconfig ${kubeconfig} test
  }
}
`;
