import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubeClient } from '../../simulator/kubernetes/client.ts';
import { addNodes, addPods } from '../../simulator/kubernetes/cluster.ts';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { kubectl, kubectlVersion } from '../support/kubectl.ts';

const ROOT = join(import.meta.dirname, '../..');
const SAMPLE = join(ROOT, 'crds/samples/floatingippool.yaml');

const JSON_PATCH = '[{"op":"replace","path":"/spec/desiredIPs","value":5}]';

/** Commands in their order with what must be in their output. `since` is the first minor version of kubectl that has the command. */
const WALK: readonly { args: readonly string[]; says: string; since?: number }[] = [
  { args: ['get', 'nodes', '-o', 'wide'], says: 'INTERNAL-IP' },
  { args: ['get', 'nodes', '-o', 'yaml'], says: 'providerID: digitalocean://1' },
  { args: ['get', 'pods', '-A', '-l', 'app=x', '--field-selector', 'spec.nodeName=node-1'], says: 'pod-1' },
  { args: ['describe', 'node', 'node-1'], says: 'Non-terminated Pods:          (1 in total)' },
  { args: ['describe', 'pod', 'pod-1'], says: 'node-1' },
  { args: ['api-resources'], says: 'floatingippools' },
  { args: ['explain', 'node.spec.taints'], says: 'effect' },
  { args: ['explain', 'floatingippools.spec.match'], says: 'Label selector for nodes' },
  { args: ['apply', '-f', SAMPLE], says: 'ingress-pool created' },
  { args: ['apply', '-f', SAMPLE], says: 'ingress-pool unchanged' },
  { args: ['get', 'floatingippools'], says: 'DESIRED' },
  { args: ['describe', 'floatingippool', 'ingress-pool'], says: 'Node Label' },
  { args: ['patch', 'floatingippool', 'ingress-pool', '--type', 'merge', '-p', '{"spec":{"desiredIPs":4}}'], says: 'patched' },
  { args: ['patch', 'floatingippool', 'ingress-pool', '--type', 'json', '-p', JSON_PATCH], says: 'patched' },
  { args: ['get', 'floatingippool', 'ingress-pool', '-o', 'jsonpath={.spec.desiredIPs}'], says: '5' },
  { args: ['wait', '--for=jsonpath={.spec.desiredIPs}=5', 'floatingippool/ingress-pool'], says: 'condition met', since: 23 },
  { args: ['wait', '--for=condition=Ready', 'node/node-1'], says: 'condition met' },
  { args: ['apply', '--server-side', '--force-conflicts', '-f', SAMPLE], says: 'serverside-applied' },
  { args: ['label', 'node', 'node-1', 'a=b'], says: 'labeled' },
  { args: ['annotate', 'node', 'node-1', 'a=b'], says: 'annotated' },
  { args: ['taint', 'node', 'node-1', 'k=v:NoSchedule'], says: 'tainted' },
  { args: ['cordon', 'node-1'], says: 'cordoned' },
  { args: ['get', 'nodes'], says: 'SchedulingDisabled' },
  { args: ['drain', 'node-2', '--force', '--timeout=25s'], says: 'pod-2' },
  { args: ['create', 'configmap', 'c', '--from-literal=a=b'], says: 'created' },
  { args: ['create', 'namespace', 'walk'], says: 'created' },
  { args: ['delete', 'namespace', 'walk', '--timeout=25s'], says: 'deleted' },
  { args: ['auth', 'can-i', 'get', 'pods'], says: 'yes' },
  { args: ['get', 'events', '-A'], says: '' },
  { args: ['delete', 'pod', 'pod-1', '--timeout=25s'], says: 'deleted' },
  { args: ['delete', 'floatingippools', '--all'], says: 'deleted' },
];

describe('a stock kubectl works on the simulator', () => {
  let simulator: KubernetesSimulator;
  let folder: string;
  let kubeconfig: string;

  beforeAll(async () => {
    simulator = await startKubernetes({ crds: [join(ROOT, 'crds/floatingippools.yaml')], podTerminationMs: 50 });
    folder = mkdtempSync(join(tmpdir(), 'simulator-kubectl-'));
    kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, simulator.kubeconfig());
    const client = kubeClient({ url: simulator.url });
    await addNodes(client, 2, { internalIP: '10.0.0.1' });
    await addPods(
      client,
      [1, 2].map((index) => ({ name: `pod-${index}`, node: `node-${index}`, labels: { app: 'x' } })),
    );
    client.close();
  });

  afterAll(async () => {
    await simulator?.close();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  test.each(WALK)('kubectl $args', async ({ args, says, since = 0 }) => {
    const { stdout, stderr, code } = await kubectl(args, { kubeconfig });
    if (kubectlVersion().minor < since) {
      expect(stderr).toContain('unrecognized condition');
      return;
    }
    expect(code, stderr).toBe(0);
    expect(stdout).toContain(says);
  });

  test('kubectl apply refuses a misspelt field, and says which', async () => {
    const input = 'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, prts: []}]}\n';
    const { stderr, code } = await kubectl(['apply', '-f', '-'], { kubeconfig, input });
    expect(code).not.toBe(0);
    expect(stderr).toContain('prts');
  });
});
