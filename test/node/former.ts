import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { installFlipopsDefinitions } from '../support/flipop-definitions.ts';
import { REGION } from './bare-nodes.ts';
import { type NodeStage, ROOT, TOKEN } from './stage.ts';

const HOLDER = readFileSync(join(import.meta.dirname, 'lease-holder.mjs'), 'utf8');
const ANNOTATION = 'flipop.digitalocean.com/ipv4-reserved-ip';

interface Former {
  readonly namespace: string;
  /** Of its Deployment, ServiceAccount, and roles. */
  readonly name: string;
  readonly lease: string;
  /** Gives its Lease up when it ends. */
  readonly releases: boolean;
}

/** The objects of an operator that is to be replaced, of which nothing runs but what holds its Lease. */
function manifests({ namespace, name, lease, releases }: Former): readonly JsonObject[] {
  const metadata = { name, namespace };
  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const labels = { app: name };
  const container = {
    name: 'stand-in',
    image: 'routedip-operator:0.1.0',
    command: ['node', '/script/lease-holder.mjs'],
    env: [
      { name: 'LEASE', value: `${namespace}/${lease}` },
      { name: 'RELEASES', value: releases ? 'yes' : 'no' },
      { name: 'NODE_EXTRA_CA_CERTS', value: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' },
    ],
    volumeMounts: [{ name: 'script', mountPath: '/script' }],
  };
  const spec = { serviceAccountName: name, containers: [container], volumes: [{ name: 'script', configMap: { name } }] };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'lease-holder.mjs': HOLDER } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }],
    },
    { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef: { apiGroup: rbac, kind: 'Role', name }, subjects },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [] },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects,
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
  ];
}

const FLIPOP: Former = { namespace: 'flipop', name: 'flipop', lease: 'floating-ip-pool-controller-leader-election', releases: true };
const VIP_ALLOCATOR: Former = {
  namespace: 'vip-allocator-operator',
  name: 'vip-allocator-operator-controller-manager',
  lease: '88cd116a.org',
  releases: false,
};

const textOf = (objects: readonly JsonObject[]): string => objects.map((object) => `---\n${JSON.stringify(object)}\n`).join('');

async function run(stage: NodeStage, { namespace, name }: Former, bundle: string): Promise<void> {
  await stage.pipe(bundle, 'apply', '--filename=-');
  await stage.kubectl('--namespace', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=170s');
}

/** FLIPOP, with a pool of which it has put the address on the first of two nodes. Resolves with that address. */
export async function flipopRuns(stage: NodeStage): Promise<string> {
  for (const name of ['floatingippools', 'nodednsrecordsets']) await stage.kubectl('apply', '--filename', join(ROOT, `crds/${name}.yaml`));
  await stage.kubectl('wait', '--for=condition=Established', 'customresourcedefinition/floatingippools.flipop.digitalocean.com');
  await installFlipopsDefinitions(stage.client);
  await run(stage, FLIPOP, textOf(manifests(FLIPOP)));
  await stage.kubectl('--namespace=flipop', 'create', 'secret', 'generic', 'flipop', `--from-literal=DIGITALOCEAN_ACCESS_TOKEN=${TOKEN}`);
  for (const name of ['a', 'b']) await stage.nodes.add(name);
  const droplet = stage.nodes.dropletOf('a') ?? 0;
  const { ip } = stage.cloud.addReservedIP({ ip: '203.0.113.1', region: REGION, dropletId: droplet });
  await stage.pool('ingress', ip);
  const ips = { [ip]: { state: 'active', nodeName: 'a', providerID: `digitalocean://${droplet}` } };
  const pool = { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
  await stage.client.patch(pool, { status: { ips, assignableNodes: ['b'] } }, { subresource: 'status' });
  await stage.kubectl('annotate', 'node', 'a', `${ANNOTATION}=${ip}`);
  return ip;
}

/** The VIP allocator, with a Service that has an address of its one group. Resolves with its `bundle.yaml`. */
export async function vipAllocatorRuns(stage: NodeStage): Promise<string> {
  for (const name of ['ipgroups', 'ips']) await stage.kubectl('apply', '--filename', join(ROOT, `crds/${name}.yaml`));
  await stage.kubectl(
    'wait',
    '--for=condition=Established',
    'customresourcedefinition/ips.paas.org',
    'customresourcedefinition/ipgroups.paas.org',
  );
  const webhook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'vip-allocator-operator-validating-webhook-configuration' },
    webhooks: [],
  };
  const bundle = textOf([...manifests(VIP_ALLOCATOR), webhook]);
  await run(stage, VIP_ALLOCATOR, bundle);
  const service = { name: 'web', namespace: 'default', finalizers: ['ips.paas.org/finalizer'] };
  const given: readonly JsonObject[] = [
    { apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: 'edge' }, spec: { segment: '198.51.100.0/28', excludedIPs: [] } },
    {
      apiVersion: 'paas.org/v1',
      kind: 'IP',
      metadata: { name: '198.51.100.0', labels: { ipgroup: 'edge' }, annotations: { 'virtualips.paas.il/owner': 'default/web' } },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: service, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
  ];
  for (const object of given) await stage.client.create(object);
  const ref = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' };
  await stage.client.patch(ref, { status: { loadBalancer: { ingress: [{ ip: '198.51.100.0' }] } } }, { subresource: 'status' });
  return bundle;
}
