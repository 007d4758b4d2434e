/** Addresses of a cluster in which Pods run: its network is a namespace of its own, so that nothing else has them. */
export const NETWORK = {
  /** Of the node: Pods reach there whatever listens beside the cluster. */
  node: '10.244.0.1',
  pods: '10.244.0.0/24',
  services: '10.0.0.0/24',
  /** The first of these, which is that of the API server. */
  api: '10.0.0.1',
} as const;
