import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import { podObject, setPod } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { forbid } from '../e2e/rights.ts';
import { CLASS_NAME, GROUP, routedStage } from '../e2e/routed.ts';
import type { Stage } from '../e2e/stage.ts';
import type { Operator } from '../support/operator.ts';
import { plugin, throughKubectl } from '../support/plugin.ts';

const JOURNAL: ClientRef = { apiVersion: 'v1', kind: 'Service', namespace: 'routedip-operator', name: 'routedip-operator-journal' };

const SERVICE = { apiVersion: 'v1', kind: 'Service' };
const DOOR = { type: 'LoadBalancer', selector: { app: 'door' }, ports: [{ name: 'http', port: 80, targetPort: 80 }] };

/** Of this machine, as the API server reaches it: it takes no endpoint on loopback. */
const ownAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';

/** The Pod as Pod security `restricted` lets it in, which the operator's namespace enforces. */
const restricted = (pod: JsonObject): JsonObject => {
  const { containers, ...spec } = pod.spec as { readonly containers: JsonObject[] } & JsonObject;
  const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  return {
    ...pod,
    spec: {
      ...spec,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: containers.map((container) => ({ ...container, securityContext: confined })),
    },
  };
};

/** The Service in front of the journal of this operator, as deploy/journal.yaml has it where Pods run. */
async function journalService({ target: { client }, until }: Stage, { log }: Operator): Promise<void> {
  const said = () => log.find(({ msg }) => msg === 'serves the journal');
  await until('it has said where its journal is', () => said() !== undefined);
  const { port } = new URL(String(said()?.url));
  const { apiVersion, namespace, name } = JOURNAL;
  const ports = [{ name: 'journal', port: Number(port) }];
  const metadata = { name, namespace: namespace ?? '' };
  await client.create({ apiVersion, kind: 'Service', metadata, spec: { ports: [{ ...ports[0], targetPort: Number(port) }] } });
  // The API server passes requests on to Pods only, by the addresses of their status.
  const pod = { name: 'journal', namespace: metadata.namespace };
  const ip = ownAddress();
  await client.create(restricted(podObject({ ...pod, node: 'a' })));
  await setPod(client, pod, { ready: true });
  const status = { podIP: ip, podIPs: [{ ip }] };
  await client.patch({ apiVersion: 'v1', kind: 'Pod', ...pod }, { status }, { subresource: 'status' });
  const addresses = [{ ip, targetRef: { kind: 'Pod', ...pod } }];
  await client.create({ apiVersion, kind: 'Endpoints', metadata, subsets: [{ addresses, ports }] });
}

/** Rows of a plan that are about an address. */
const AN_ADDRESS = /^(?:move|assign|create|leave|allocate|release) /gm;

/** `kubectl routedip plan` of an object in a file. */
async function planned(kubeconfig: string, object: object) {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-plan-'));
  const file = join(folder, 'object.json');
  writeFileSync(file, JSON.stringify(object));
  const ran = await plugin(kubeconfig, 'plan', '-f', file, '-n', 'default');
  rmSync(folder, { recursive: true });
  if (process.env.SHOW) console.log(ran.stdout);
  return ran;
}

/** The plugin as its users run it: a process of its own, with their kubeconfig. */
describe('kubectl routedip', () => {
  const { routed: current, served } = routedStage();

  test('shows a pool and a RoutedIP, with kubectl too, and says which right a user lacks', async () => {
    const routed = current();
    const { ip, holder, stage, operator } = await served(['a', 'b', 'c'], { flags: ['--journal-bind-addr=:0'] });
    await routed.addFirewall();
    await routed.setClass('floating');
    await routed.service('shop', ['a', 'b']);
    await routed.routedIP('shop');
    const address = await routed.stable('shop');
    const { assignedNode } = (await routed.status('shop')) ?? {};
    await stage.until('both are ready by their conditions', async () => (await routed.condition('shop', 'Ready'))?.status === 'True');
    const { adminKubeconfig, operatorKubeconfig } = stage.target;

    const shown = await throughKubectl(adminKubeconfig, 'status', '-A');
    expect([shown.stderr, shown.code]).toEqual(['', 0]);
    expect(shown.stdout).toMatch(new RegExp(`^default +floatingippool/ingress +${ip} +${holder} +active `, 'm'));
    expect(shown.stdout).toMatch(new RegExp(`^default +routedip/shop +${address} +${assignedNode} +Stable `, 'm'));
    if (process.env.SHOW) console.log(shown.stdout);

    // What happened, by way of the API server; the Service has an endpoint where no Pods run.
    const kept = await plugin(adminKubeconfig, 'journal', ip, '-A');
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('there is no Service routedip-operator-journal:journal')]);
    await journalService(stage, operator);
    const asked = () => plugin(adminKubeconfig, 'journal', ip, '-A');
    await stage.until('the API server knows what is behind it', async () => (await asked()).code === 0);
    const journal = await asked();
    expect([journal.stderr, journal.code]).toEqual(['', 0]);
    expect(journal.stdout).toMatch(/assign done +Assigning +Pruning|assign done +Assigning +Stable/);
    const replay = await plugin(adminKubeconfig, 'replay', address, '-A');
    expect([replay.stderr, replay.code]).toEqual(['', 0]);
    expect(replay.stdout).toMatch(/^(\d+) of \1 transitions came out the same\.$/m);
    if (process.env.SHOW) console.log(journal.stdout, replay.stdout);

    const why = await plugin(adminKubeconfig, 'explain', address, '-A');
    expect([why.stderr, why.code]).toEqual(['', 0]);
    expect(why.stdout).toMatch(new RegExp(`^${assignedNode} +holds it +-$`, 'm'));
    expect(why.stdout).toMatch(/^c +refused +no ready endpoint of the Service is on it$/m);
    if (process.env.SHOW) console.log(why.stdout);

    const spare = ['a', 'b', 'c'].find((name) => name !== holder && name !== assignedNode) ?? '';
    await routed.service('inner', [spare], [{ name: 'http', port: 80, targetPort: 80, nodePort: 30_081 }]);
    const spec = { className: CLASS_NAME, serviceRef: { serviceName: 'inner' } };
    const plan = await planned(adminKubeconfig, { apiVersion: GROUP, kind: 'RoutedIP', metadata: { name: 'shop' }, spec });
    expect([plan.stderr, plan.code]).toEqual(['', 3]);
    expect(plan.stdout).toMatch(new RegExp(`^move +${address} +${assignedNode} +${spare}$`, 'm'));
    expect(plan.stdout.match(AN_ADDRESS)).toHaveLength(1);

    await stage.target.client.create({ ...SERVICE, metadata: { name: 'door', namespace: 'default' }, spec: DOOR });
    const segment = { segment: '192.0.2.8/32', excludedIPs: [] };
    const given = await planned(adminKubeconfig, {
      apiVersion: 'paas.org/v1',
      kind: 'IPGroup',
      metadata: { name: 'edge' },
      spec: segment,
    });
    expect([given.stderr, given.code]).toEqual(['', 3]);
    expect(given.stdout).toMatch(/^allocate +192\.0\.2\.8 +- +Service default\/door$/m);
    expect(given.stdout.match(AN_ADDRESS)).toHaveLength(1);

    const paused = await plugin(adminKubeconfig, 'pause', 'ingress', '-n', 'default');
    expect([paused.stderr, paused.code]).toEqual(['', 0]);
    const { metadata } = await stage.getPool('ingress');
    expect((metadata as { readonly annotations?: object }).annotations).toMatchObject({ 'routedip.io/paused': 'true' });
    expect((await plugin(adminKubeconfig, 'resume', 'ingress', '-n', 'default')).stdout).toBe(
      'floatingippool/ingress in default goes on\n',
    );

    const elsewhere = await plugin(adminKubeconfig, 'status', '-n', 'nowhere');
    expect([elsewhere.stdout, elsewhere.code]).toEqual([
      'nothing has or wants an address in namespace nowhere (-A looks at all of them)\n',
      0,
    ]);

    const restore = await forbid(stage.target, 'routedips');
    try {
      await stage.until('the right is gone', async () => (await plugin(operatorKubeconfig, 'status', '-A', '-o', 'json')).code === 1);
      const less = await plugin(operatorKubeconfig, 'status', '-A');
      expect(less.stderr).toMatch(/^you may not list routedips: /);
      expect(less.stdout).toContain(ip);
    } finally {
      await restore();
    }
  });
});
