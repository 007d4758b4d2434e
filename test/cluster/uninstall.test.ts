import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandsOf, stepsOf } from '../support/guide.ts';
import { sectionOf } from '../support/guides.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, type KubeObject, objectsIn } from '../support/kube-apply.ts';
import { type KubectlResult, kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait-for.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The commands of the section, one list a block. */
const BLOCKS = stepsOf(sectionOf(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'), 'Uninstalling')).map(commandsOf);

const OPERATOR = 'system:serviceaccount:routedip-operator:routedip-operator';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
}, 120_000);
afterAll(() => cluster?.stop());

/** Runs the command as it stands, but for what is to be filled in. */
function run(command: string, filled: Readonly<Record<string, string>> = {}): Promise<KubectlResult> {
  const text = Object.entries(filled).reduce((so, [name, value]) => so.replaceAll(`<${name}>`, value), command);
  const args = [...text.matchAll(/(?:[^\s']|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ''));
  expect(args[0]).toBe('kubectl');
  return kubectl(args.slice(1), { kubeconfig: cluster.kubeconfig });
}

const names = async (path: string): Promise<readonly string[]> => {
  const { status, body } = await cluster.send(path);
  return status === 404 ? [] : body.items.map(({ metadata }: KubeObject) => metadata.name).sort();
};

async function install(): Promise<void> {
  for (const object of objectsIn(join(ROOT, 'deploy/bundle.yaml'))) {
    expect([object.kind, (await apply(cluster, object)).status]).toEqual([object.kind, 201]);
  }
  for (const kind of [
    'apis/routedip.io/v1alpha1/routedips',
    'apis/paas.org/v1/ips',
    'apis/flipop.digitalocean.com/v1alpha1/floatingippools',
  ]) {
    await waitFor(`${kind} are served`, async () => (await cluster.send(`/${kind}`)).status === 200);
  }
}

/** The policies that are installed let the operator alone write IPs. */
const created = (object: KubeObject) =>
  object.kind === 'IP' ? cluster.send('/apis/paas.org/v1/ips', { method: 'POST', body: object, user: OPERATOR }) : apply(cluster, object);

interface Owned extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

const USERS: readonly Owned[] = [
  {
    apiVersion: 'flipop.digitalocean.com/v1alpha1',
    kind: 'FloatingIPPool',
    metadata: { name: 'pool', namespace: 'default' },
    spec: { provider: 'digitalocean', desiredIPs: 1, ips: ['203.0.113.1'], match: {} },
  },
  {
    apiVersion: 'routedip.io/v1alpha1',
    kind: 'RoutedIP',
    metadata: { name: 'shop', namespace: 'default', finalizers: ['routedip.io/finalizer'] },
    spec: { className: 'digitalocean.com/floating-ip', serviceRef: { serviceName: 'shop' } },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: 'default', finalizers: ['ips.paas.org/finalizer'] },
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
  },
  { apiVersion: 'paas.org/v1', kind: 'IP', metadata: { name: '10.0.0.1' } },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-a', annotations: { 'flipop.digitalocean.com/ipv4-reserved-ip': '203.0.113.1' } },
  },
];

const users = async () => ({
  pools: await names('/apis/flipop.digitalocean.com/v1alpha1/floatingippools'),
  routedIPs: await names('/apis/routedip.io/v1alpha1/routedips'),
  services: (await names('/api/v1/namespaces/default/services')).filter((name) => name !== 'kubernetes'),
  ips: await names('/apis/paas.org/v1/ips'),
});

test('the commands of docs/install.md take the workloads away and leave what users have; and take off what guards it when nobody else can', async () => {
  const [keeping = [], whole = [], byHand = []] = BLOCKS;
  expect([keeping.length, whole.length, byHand.length]).toEqual([2, 5, 4]);
  await install();
  for (const object of USERS) expect([object.kind, (await created(object)).status]).toEqual([object.kind, 201]);
  const before = await users();
  expect(before).toEqual({ pools: ['pool'], routedIPs: ['shop'], services: ['shop'], ips: ['10.0.0.1'] });
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const installed = await names(definitions);
  expect(installed.length).toBeGreaterThan(5);

  for (const command of keeping) expect([command, await run(command)]).toEqual([command, expect.objectContaining({ code: 0 })]);
  for (const kind of ['deployments', 'statefulsets']) expect(await names(`/apis/apps/v1/namespaces/routedip-operator/${kind}`)).toEqual([]);
  expect([await users(), await names(definitions)]).toEqual([before, installed]);

  const [deleteRoutedIPs = '', listServices = ''] = whole;
  expect(await run(`${deleteRoutedIPs} --wait=false`)).toMatchObject({ code: 0 });
  expect((await run(listServices)).stdout).toContain('default/shop ["ips.paas.org/finalizer"]');
  await run('kubectl delete service shop --namespace default --wait=false');
  expect(await users()).toEqual(before);
  const filled = { name: 'shop', namespace: 'default', address: '10.0.0.1' };
  const deleteIP = byHand.at(-1) ?? '';
  await waitFor('nobody may delete the IP', async () =>
    (await run(`${deleteIP} --dry-run=server`, filled)).stderr.includes('cannot delete ip objects'),
  );
  for (const command of byHand.slice(0, -1))
    expect([command, await run(command, filled)]).toEqual([command, expect.objectContaining({ code: 0 })]);
  // The server hears of it from itself, a moment later.
  await waitFor('it may be deleted', async () => (await run(deleteIP, filled)).code === 0);
  expect(await users()).toEqual({ ...before, routedIPs: [], services: [], ips: [] });
  const [annotations = ''] = whole.filter((command) => command.includes('annotate'));
  expect(await run(annotations)).toMatchObject({ code: 0 });
  const { body } = await cluster.send('/api/v1/nodes/node-a');
  expect(body.metadata.annotations ?? {}).not.toHaveProperty(['flipop.digitalocean.com/ipv4-reserved-ip']);
}, 120_000);
