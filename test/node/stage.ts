import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { onTestFailed } from 'vitest';
import { stringify } from 'yaml';
import { type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type KubectlOptions, kubectl as runKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait-for.ts';
import { BareNodes, REGION } from './bare-nodes.ts';

export const ROOT = join(import.meta.dirname, '../..');
export const NAMESPACE = 'routedip-operator';
export const TOKEN = 'token-of-the-node-tests';
const GROUP = 'flipop.digitalocean.com/v1alpha1';
/** For what the machine does beside other work: images are unpacked, processes started, probes asked. */
const DEADLINE_MS = 180_000;
const KUBECTL_MS = 280_000;

/** A real node, which tools/kubernetes/with-node started before the suite, other nodes beside it, and a cloud that Pods reach. */
export interface NodeStage {
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly client: KubeClient;
  readonly cloud: DigitalOceanSimulator;
  readonly nodes: BareNodes;
  /** What kubectl prints. @throws Error with what it says when it fails */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The same, given `input`, for `-f -`. */
  pipe(input: string, ...args: readonly string[]): Promise<string>;
  /** The path of a folder with a kustomization of deploy/ and these of its components, of patches, and of one by which the operator calls this cloud. */
  overlay(components: readonly string[], ...patches: readonly JsonObject[]): string;
  pool(name: string, ...addresses: readonly string[]): Promise<void>;
  /** The node that an address of the pool is active on by its status, and at the provider; null where it is nowhere, or the two do not agree. */
  activeOn(pool: string, address: string): Promise<string | null>;
  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

/** @throws Error when the suite was not started beside a node */
export async function openStage(): Promise<NodeStage> {
  const { KUBECONFIG: kubeconfig, NODE_IP: host } = process.env;
  if (!kubeconfig || !host) throw new Error('these tests run beside a real node: npm run test:node');
  const client = kubeClient(connectionOf(readFileSync(kubeconfig, 'utf8')));
  const cloud = await startDigitalOcean({ host, token: TOKEN, actionMs: 150, reservedIPQuota: 20 });
  const nodes = new BareNodes(client, cloud);
  const folder = mkdtempSync(join(tmpdir(), 'overlays-'));
  let overlays = 0;
  const poolRef = (name: string) => ({ apiVersion: GROUP, kind: 'FloatingIPPool', namespace: 'default', name });
  const run = async (args: readonly string[], options: Partial<KubectlOptions> = {}): Promise<string> => {
    const { code, stdout, stderr } = await runKubectl(args, { kubeconfig, timeoutMs: KUBECTL_MS, ...options });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  return {
    kubeconfig,
    client,
    cloud,
    nodes,
    kubectl: (...args) => run(args),
    pipe: (input, ...args) => run(args, { input }),
    overlay: (components, ...patches) => {
      overlays += 1;
      const path = mkdtempSync(join(folder, `${overlays}-`));
      const from = (target: string) => relative(path, join(ROOT, 'deploy', target));
      const kustomization = {
        resources: [from('.')],
        components: components.map((name) => from(`components/${name}`)),
        patches: [callsCloud(cloud.url), ...patches],
      };
      writeFileSync(join(path, 'kustomization.yaml'), stringify(kustomization));
      return path;
    },
    pool: async (name, ...ips) => {
      const match = { podNamespace: 'default', podLabel: 'app=ingress' };
      const spec = { provider: 'digitalocean', region: REGION, desiredIPs: ips.length, ips: [...ips], match };
      await client.create({ apiVersion: GROUP, kind: 'FloatingIPPool', metadata: { name, namespace: 'default' }, spec });
    },
    activeOn: async (pool, address) => {
      const { status } = (await client.get(poolRef(pool))) as unknown as Pool;
      const shown = status?.ips?.[address];
      const at = shown?.state === 'active' ? (shown.nodeName ?? null) : null;
      return at !== null && nodes.holderOf(address) === at ? at : null;
    },
    until: (what, holds) => waitFor(what, holds, DEADLINE_MS),
    close: async () => {
      await nodes.close();
      client.close();
      await cloud.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Pool {
  readonly status?: { readonly ips?: Readonly<Record<string, { readonly state: string; readonly nodeName?: string }>> };
}

/** A patch by which the operator of a kustomization calls that cloud and not the real one. */
export const callsCloud = (url: string): JsonObject => ({
  target: { kind: 'Deployment', name: 'routedip-operator' },
  patch: stringify([{ op: 'add', path: '/spec/template/spec/containers/0/env/-', value: { name: 'DIGITALOCEAN_API_URL', value: url } }]),
});

/** Tells of Pods and Events when the test fails that runs now. */
export function tellOnFailure(stage: NodeStage): void {
  onTestFailed(async ({ task }) => {
    console.log(task.result?.errors?.map(({ message }) => message).join('\n'));
    for (const command of [
      ['get', 'pods', '--all-namespaces', '--output=wide'],
      ['get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp'],
      [
        'logs',
        '--namespace',
        NAMESPACE,
        '--selector=app.kubernetes.io/name=routedip-operator',
        '--all-containers',
        '--prefix',
        '--tail=30',
      ],
    ]) {
      const said = await stage.kubectl(...command).catch(String);
      console.log(`kubectl ${command.join(' ')}\n${said.split('\n').slice(-60).join('\n')}`);
    }
  });
}

/** How long something took goes to the log: it says nothing about whether it is right. */
export const note = (what: string, sinceMs: number): void =>
  console.log(`${what}: ${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`);
