import { join } from 'node:path';
import { isReady, OPERATOR, type Pod, podsOf } from './pods.ts';
import { NAMESPACE, type NodeStage, ROOT, TOKEN } from './stage.ts';

const ROLLOUT = ['rollout', 'status', '--timeout=170s'];

/** Makes the Secret that whoever installs makes. Its namespace has to be there. */
export const giveToken = ({ kubectl }: NodeStage, namespace = NAMESPACE): Promise<string> =>
  kubectl(
    '--namespace',
    namespace,
    'create',
    'secret',
    'generic',
    'routedip-operator',
    `--from-literal=DIGITALOCEAN_ACCESS_TOKEN=${TOKEN}`,
  );

/** Applies a kustomization. Resolves when its Deployment is rolled out. */
export async function applied(stage: NodeStage, overlay: string, namespace = NAMESPACE): Promise<void> {
  await stage.kubectl('apply', '--kustomize', overlay);
  await rolledOut(stage, namespace);
}

/** Installs from nothing, with a token. Resolves when all replicas are ready. */
export async function install(stage: NodeStage, overlay: string): Promise<void> {
  await stage.kubectl('apply', '--filename', join(ROOT, 'deploy/namespace.yaml'));
  await giveToken(stage);
  await applied(stage, overlay);
}

/** Resolves when the Deployment is rolled out, and nothing is left of what it was before. */
export async function rolledOut(stage: NodeStage, namespace = NAMESPACE): Promise<void> {
  await stage.kubectl('--namespace', namespace, ...ROLLOUT, 'deployment/routedip-operator');
  await stage.until('the former replicas have ended', async () => {
    const pods = (await stage.client.list('v1', 'Pod', { namespace, selector: OPERATOR })) as unknown as readonly Pod[];
    return pods.every(({ metadata }) => metadata.deletionTimestamp === undefined);
  });
}

/** Resolves with the replicas once so many are there and ready. */
export async function replicas(stage: NodeStage, count = 2): Promise<readonly Pod[]> {
  let ready: readonly Pod[] = [];
  await stage.until(`${count} replicas are ready`, async () => {
    const pods = await podsOf(stage, OPERATOR);
    ready = pods.filter(isReady);
    return pods.length === count && ready.length === count;
  });
  return ready;
}

/** What an installation makes outside of its namespace, and that. */
const KINDS = [
  'namespaces',
  'customresourcedefinitions',
  'clusterroles',
  'clusterrolebindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
];

/** Names of what is still there of an installation, with their kinds. */
export async function leftBehind({ kubectl }: NodeStage): Promise<readonly string[]> {
  const names = await kubectl('get', KINDS.join(','), '--output=name');
  return names.split('\n').filter((name) => /routedip|flipop|paas\.org|vip-/.test(name));
}

/** Everything that was applied goes, with all objects of the kinds that it defined. */
export async function uninstall(stage: NodeStage, overlay = join(ROOT, 'deploy')): Promise<void> {
  await stage.kubectl('delete', '--kustomize', overlay, '--ignore-not-found');
}
