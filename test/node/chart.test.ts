import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { giveToken, leftBehind, rolledOut } from './install.ts';
import { OPERATOR, podsOf, untilLed } from './pods.ts';
import { type NodeStage, note, openStage, ROOT, tellOnFailure } from './stage.ts';
import { serviceUrl } from './ways.ts';

const CHART = join(ROOT, 'deploy/chart');
/** Neither is called as the project is. */
const RELEASE = 'rip';
const NET = 'net';
const TIMEOUT = '--timeout=4m';

let stage: NodeStage;
let address: string;

beforeAll(async () => {
  stage = await openStage();
  for (const name of ['a', 'b']) await stage.nodes.add(name);
  address = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
});
afterAll(() => stage.close());
beforeEach(() => tellOnFailure(stage));

async function helm(...args: readonly string[]): Promise<string> {
  const { CHECK_TOOLS: tools = '' } = process.env;
  const { stdout } = await promisify(execFile)(join(tools, 'helm'), ['--kubeconfig', stage.kubeconfig, '--namespace', NET, ...args]);
  return stdout;
}

const inNamespace = (...args: readonly string[]): Promise<string> => stage.kubectl('--namespace', NET, ...args);

/** Names of the objects of a kind in the namespace, with the kind. */
const there = async (kinds: string): Promise<readonly string[]> =>
  (await inNamespace('get', kinds, '--output=name')).split('\n').filter((name) => name !== '');

/** The operator calls the real DigitalOcean unless it is told otherwise. */
const toCloud = (): readonly string[] =>
  ['name=DIGITALOCEAN_API_URL', `value=${stage.cloud.url}`].flatMap((part) => ['--set', `extraEnv[0].${part}`]);

const active = (): Promise<void> => stage.until('the address is active', async () => (await stage.activeOn('ingress', address)) !== null);

/** Changes that the provider was asked for. */
const writes = (): number => stage.cloud.calls.select({ writes: true }).length;

/** Resolves with what `helm test` says when it ends well, and rejects when it does not. */
const helmTest = (): Promise<string> => helm('test', RELEASE, TIMEOUT);

describe('the chart', () => {
  test('is installed by helm, and serves a pool', async () => {
    const at = performance.now();
    await helm('install', RELEASE, CHART, '--create-namespace', '--wait', TIMEOUT, ...toCloud());
    note('helm install --wait', at);
    await giveToken(stage, NET);
    await stage.pool('ingress', address);
    await active();
  });

  test('passes helm test, where only restricted Pods may run', async () => {
    await stage.kubectl('label', 'namespace', NET, 'pod-security.kubernetes.io/enforce=restricted');
    expect(await helmTest()).toMatch(/Phase: +Succeeded/);
    await stage.until('the Pod of the test is gone', async () => !(await there('pods')).includes('pod/routedip-operator-test'));
  });

  test('fails helm test while a replica is missing, and its Pod says so', async () => {
    await inNamespace('scale', 'deployment/routedip-operator', '--replicas=1');
    await stage.until('one replica is left', async () => (await podsOf(stage, OPERATOR, NET)).length === 1);
    await expect(helmTest()).rejects.toThrow('routedip-operator-test');
    const said = await inNamespace(
      'get',
      'pod/routedip-operator-test',
      '--output=jsonpath={.status.containerStatuses[0].state.terminated.message}',
    );
    expect(said).toMatch(/: ok\n1 ready, 2 wanted/);
    await inNamespace('scale', 'deployment/routedip-operator', '--replicas=2');
    await rolledOut(stage, NET);
  });

  test('is upgraded to other values while an address fails over', async () => {
    const from = stage.nodes.holderOf(address) ?? '';
    stage.nodes.die(from);
    await stage.until('the node controller gives the node up', () => stage.nodes.isUnknown(from));
    const at = performance.now();
    const values = [
      'dashboard.enabled=true',
      'journal.enabled=true',
      'admission=webhook',
      'resources.limits.memory=448Mi',
      'metrics.auth=token-review',
    ];
    const upgraded = helm('upgrade', RELEASE, CHART, '--wait', TIMEOUT, ...toCloud(), ...values.flatMap((value) => ['--set', value]));
    await stage.until(
      'the address is active on the other node',
      async () => ![null, from].includes(await stage.activeOn('ingress', address)),
    );
    note("failover, during helm upgrade: after the node controller's verdict", at);
    await upgraded;
    note('helm upgrade --wait', at);
    await rolledOut(stage, NET);
    await stage.nodes.revive(from);
    for (const pod of await podsOf(stage, OPERATOR, NET)) expect(pod.spec.containers[0]?.resources?.limits?.memory).toBe('448Mi');
    expect((await fetch(await serviceUrl(stage, NET, 'routedip-operator-dashboard'))).status).toBe(401);
    await stage.until('the webhook judges', () =>
      stage
        .pipe('{"apiVersion":"paas.org/v1","kind":"IP","metadata":{"name":"192.0.2.1"}}', 'create', '--filename=-', '--dry-run=server')
        .then(
          () => false,
          (error: unknown) => String(error).includes('cannot create ip objects'),
        ),
    );
    await active();
    // Metrics ask for a token now; whether a replica is ready may still be asked without.
    expect(await helmTest()).toMatch(/Phase: +Succeeded/);
  });

  test('goes back to what it was, by helm rollback', async () => {
    await helm('rollback', RELEASE, '1', '--wait', TIMEOUT);
    await rolledOut(stage, NET);
    for (const pod of await podsOf(stage, OPERATOR, NET)) expect(pod.spec.containers[0]?.resources?.limits?.memory).toBe('512Mi');
    await expect(serviceUrl(stage, NET, 'routedip-operator-dashboard')).rejects.toThrow('not found');
    expect((await leftBehind(stage)).filter((name) => name.includes('webhook'))).toEqual([]);
  });

  test('is uninstalled, which keeps the definitions, the Secrets, the disk of Redis and every address where it is', async () => {
    const node = stage.nodes.holderOf(address);
    const before = writes();
    await helm('uninstall', RELEASE, '--wait', TIMEOUT);
    await stage.until('its Pods have ended', async () => (await there('pods')).length === 0);
    const left = await there('all,serviceaccounts,roles,rolebindings,networkpolicies,poddisruptionbudgets,persistentvolumeclaims,secrets');
    expect(left.filter((name) => name !== 'serviceaccount/default').sort()).toEqual([
      'persistentvolumeclaim/data-routedip-operator-redis-0',
      'secret/routedip-operator',
      'secret/routedip-operator-dashboard',
      'secret/routedip-operator-redis',
      'secret/vip-allocator-operator-webhook-server-cert',
    ]);
    const kinds = (await leftBehind(stage)).map((name) => name.split('/')[0]);
    expect(new Set(kinds)).toEqual(new Set(['customresourcedefinition.apiextensions.k8s.io']));
    expect(stage.nodes.holderOf(address)).toBe(node);
    expect(writes()).toBe(before);
  });

  test('is installed again, and takes over what is there', async () => {
    const before = writes();
    await helm('install', RELEASE, CHART, '--wait', TIMEOUT, ...toCloud());
    await rolledOut(stage, NET);
    await untilLed(stage, NET);
    await active();
    expect(writes()).toBe(before);
  });

  test('is taken away for good with its namespace and the definitions', async () => {
    await helm('uninstall', RELEASE, '--wait', TIMEOUT);
    await stage.kubectl('delete', '--filename', join(ROOT, 'deploy/crds.yaml'));
    await stage.kubectl('delete', 'namespace', NET);
    expect(await leftBehind(stage)).toEqual([]);
  });
});
