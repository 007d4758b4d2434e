import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CREATED, PLATFORM_TOKEN, type SamplePlatform, startPlatform } from '../support/sample-platform.ts';
import { install, replicas, uninstall } from './install.ts';
import { type NodeStage, note, openStage, ROOT, tellOnFailure } from './stage.ts';

const JOBS = 'routedip-jobs';
const SAMPLE = join(ROOT, 'crds/samples/routedip-jobs.yaml');
const SERVICE = 'ingress-nginx-controller';
const ROUTED_IP = { apiVersion: 'routedip.io/v1alpha1', kind: 'RoutedIP', namespace: 'default', name: 'ingress' };
const NODES = ['a', 'b'];

let stage: NodeStage;
let platform: SamplePlatform;

beforeAll(async () => {
  stage = await openStage();
  platform = await startPlatform(process.env.NODE_IP);
  for (const name of NODES) await stage.nodes.add(name);
  await install(stage, stage.overlay([]));
  await replicas(stage);
});
afterAll(async () => {
  // While the operator runs, which has to let it go.
  await stage.kubectl('delete', 'routedip', ROUTED_IP.name);
  await stage.kubectl('delete', 'service', SERVICE);
  await uninstall(stage);
  await stage.kubectl('delete', 'namespace', JOBS, '--ignore-not-found');
  platform.close();
  await stage.close();
});
beforeEach(() => tellOnFailure(stage));

/** The sample for a platform whose servers are the nodes of this cluster. */
const sample = (): string => readFileSync(SAMPLE, 'utf8').replace('value: example://', 'value: digitalocean://');

/** A Service whose Pods are on the nodes. */
async function serve(): Promise<void> {
  const spec = { selector: { app: 'ingress' }, ports: [{ name: 'http', port: 80 }] };
  await stage.client.create({ apiVersion: 'v1', kind: 'Service', metadata: { name: SERVICE, namespace: 'default' }, spec });
}

/** The node whose server has the address at the platform. */
const holder = (): string | null => stage.nodes.nameOf(Number(platform.addresses.get(CREATED)?.server));

const isReady = async (): Promise<boolean> => {
  const { status } = (await stage.client.get(ROUTED_IP)) as unknown as {
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  };
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;
};

const rules = (): readonly string[] => [...platform.rules.keys()];
const ruleOf = (node: string | null): string => `routedip-tcp-80-${stage.nodes.dropletOf(node ?? '')}`;

describe('a RoutedIP of the sample class, whose Jobs run in Pods', () => {
  test('has an address made, its port opened and the address put on a node', async () => {
    await stage.pipe(sample(), 'apply', '--filename=-');
    const given = [`--from-literal=API_URL=${platform.url}`, `--from-literal=API_TOKEN=${PLATFORM_TOKEN}`];
    await stage.kubectl('--namespace', JOBS, 'create', 'secret', 'generic', 'platform', ...given);
    const at = performance.now();
    await serve();
    await stage.until('the address is on a node', async () => holder() !== null && (await isReady()));
    note('an address by Jobs, from nothing', at);
    expect(rules()).toEqual([ruleOf(holder())]);
    expect(platform.calls.filter((call) => call.startsWith('PUT /addresses?owner='))).toHaveLength(1);
  });

  test('is moved by Jobs when its node dies', async () => {
    const from = holder() ?? '';
    stage.nodes.die(from);
    await stage.until('the node controller gives the node up', () => stage.nodes.isUnknown(from));
    const at = performance.now();
    await stage.until('the address is on the other node', async () => ![null, from].includes(holder()) && (await isReady()));
    note("failover by Jobs: after the node controller's verdict", at);
    await stage.until('the port is open there alone', () => rules().join() === ruleOf(holder()));
    await stage.nodes.revive(from);
  });

  test('is tried again when the platform does not answer, and says so', async () => {
    const from = holder() ?? '';
    platform.refuse = 503;
    stage.nodes.die(from);
    await stage.until('a Job has failed', async () => (await stage.kubectl('--namespace', 'default', 'get', 'events')).includes(': 503'));
    platform.refuse = null;
    await stage.until('the address is on the other node', async () => ![null, from].includes(holder()) && (await isReady()));
    await stage.nodes.revive(from);
  });

  test('has had Pods that the standard restricted lets in, and that have ended', async () => {
    const labels = await stage.kubectl('get', 'namespace', JOBS, '--show-labels');
    expect(labels).toContain('pod-security.kubernetes.io/enforce=restricted');
    const completed = await stage.kubectl('--namespace', JOBS, 'get', 'events', '--field-selector=reason=Completed', '--output=name');
    expect(completed.trim().split('\n').length).toBeGreaterThan(3);
  });
});
