import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Condition, GROUP, type Routed, routedStage } from '../e2e/routed.ts';
import { HTTP, NODE_PORT } from '../e2e/routed-objects.ts';
import { Vips } from '../e2e/vip-objects.ts';
import type { Cluster } from '../support/kube.ts';
import { createPki } from '../support/kube-pki.ts';
import type { Operator } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const NAME = 'policy.example.com';
const ROUTED_IPS = '/apis/routedip.io/v1alpha1/namespaces/default/routedips';
const SERVICES = '/api/v1/namespaces/default/services';

const OTHER_PORT = { ...HTTP, nodePort: NODE_PORT + 1 };

/** What somebody has registered: a Service that is not there, or where something listens and says nothing. */
interface Hook {
  readonly clientConfig: { readonly service?: object; readonly url?: string; readonly caBundle?: string };
  readonly timeoutSeconds?: number;
}
interface ClassObject {
  readonly metadata: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const GONE: Hook = { clientConfig: { service: { namespace: 'default', name: 'gone' } } };

/** Something that takes requests and never says a word. */
async function silent(timeoutSeconds: number): Promise<Hook> {
  const folder = mkdtempSync(join(tmpdir(), 'webhook-'));
  const { ca, certificate } = createPki(folder);
  const { crt, key } = certificate('apiserver');
  const server = createServer({ cert: readFileSync(crt), key: readFileSync(key) }, () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  const caBundle = readFileSync(ca).toString('base64');
  return { clientConfig: { url: `https://127.0.0.1:${port}`, caBundle }, timeoutSeconds };
}

/** Somebody's webhook, without which nothing is to be updated of these resources. It is asked from when this resolves, `probe` being one of the objects. Answers how it goes. */
async function webhook(
  cluster: Cluster,
  group: string,
  resources: readonly string[],
  probe: string,
  somebodys = GONE,
): Promise<() => Promise<void>> {
  const version = group === '' || group === 'paas.org' ? 'v1' : 'v1alpha1';
  const rules = [{ apiGroups: [group], apiVersions: [version], operations: ['UPDATE'], resources, scope: '*' }];
  const hook = { name: NAME, ...somebodys, rules, failurePolicy: 'Fail', sideEffects: 'None', admissionReviewVersions: ['v1'] };
  const body = { metadata: { name: NAME }, webhooks: [hook] };
  const asked = async (): Promise<number> => {
    const labels = { metadata: { labels: { probed: `${Date.now()}` } } };
    return cluster.send(`${probe}?dryRun=All&timeout=2s`, { method: 'PATCH', body: labels }).then(
      ({ status }) => status,
      // When time is up while the API server begins to answer 504, it aborts the connection instead.
      (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? 504 : Promise.reject(error)),
    );
  };
  expect((await cluster.send(WEBHOOKS, { method: 'POST', body })).status).toBe(201);
  let isThere = true;
  const end = async (): Promise<void> => {
    if (!isThere) return;
    isThere = false;
    await cluster.send(`${WEBHOOKS}/${NAME}`, { method: 'DELETE' });
    await waitFor('the webhook is asked no more', async () => (await asked()) < 500, 60_000);
  };
  onTestFinished(end);
  await waitFor('the webhook is asked', async () => (await asked()) >= 500, 60_000);
  return end;
}

describe('an operator whose writes are kept up by a webhook of somebody that nobody answers', () => {
  const { routed, target } = routedStage();

  const cluster = (): Cluster => {
    const { cluster: found } = target();
    if (!found) throw new Error('the simulator calls no webhooks');
    return found;
  };
  const shown = async ({ metrics }: Operator, kind: string): Promise<boolean> =>
    new RegExp(`^routedip_objects_unserved\\{kind="${kind}",reason="APIServerError"\\} [1-9]$`, 'm').test((await metrics()).text);
  const logged = ({ log }: Operator, message: string): boolean =>
    log.some(({ msg, error, level }) => msg === message && level === 'warn' && /webhook|504/.test(String(error)));
  /** Of a webhook that takes longer than the operator waits the server knows no name. */
  const WHY =
    /the API server answers with an error: .*(failed calling webhook "policy\.example\.com"|504 Timeout: request did not complete)/;
  const isTold = async (notes: Promise<readonly string[]>): Promise<boolean> =>
    (await notes).some((note) => note.startsWith('APIServerError: ') && WHY.test(note));
  const ofService = async (vips: Vips, name: string): Promise<readonly string[]> => (await vips.told()).get(name) ?? [];

  /** Event, line and series, in this order. */
  const saysWhy = async (
    { stage }: Routed,
    operator: Operator,
    { kind, notes }: { kind: string; notes: () => Promise<readonly string[]> },
  ) => {
    await stage.until('an Event says why', () => isTold(notes()));
    await stage.until('the log does', () => logged(operator, 'the API server fails a job, which is tried again'));
    await stage.until('a series does', () => shown(operator, kind));
  };
  const isOver = ({ stage }: Routed, operator: Operator, kind: string) =>
    stage.until('no series says so any more', async () => !(await shown(operator, kind)));

  test.each([
    ['gone', 'whose Service is gone', 'service "gone" not found', async () => GONE],
    ['silent', 'that takes the connection and says nothing', 'failed calling webhook "policy.example.com"', () => silent(10)],
    ['slow', 'that may take longer than the operator waits', '504 Timeout', () => silent(30)],
  ])(
    'says why a Service of an IPGroup waits and why one is not let go (%s: one %s), and goes on by itself',
    async (name, _, words, registered) => {
      const vips = new Vips(routed().stage);
      const [old, web] = [`old-${name}`, `web-${name}`];
      await vips.group('edge', '10.8.0.0/29');
      onTestFinished(async () => void (await vips.removeGroup('edge')));
      const operator = await vips.start();
      await vips.service(old);
      await vips.listing(old, '10.8.0.0');

      const end = await webhook(cluster(), '', ['services', 'services/status'], `${SERVICES}/kubernetes`, await registered());
      await vips.service(web);
      await vips.remove(old);
      await saysWhy(routed(), operator, { kind: 'Service', notes: () => ofService(vips, web) });
      expect((await ofService(vips, web)).join('\n')).toContain(words);
      expect(await vips.listed(web)).toBe('');
      await vips.until('it is told of the one that is deleted', () => isTold(ofService(vips, old)));
      expect(await vips.find(old)).not.toBeNull();

      await end();
      await vips.until('it lists an address', async () => (await vips.listed(web)).startsWith('10.8.0.'));
      await vips.until('the other one is gone', async () => (await vips.find(old)) === null);
      await isOver(routed(), operator, 'Service');
      await vips.remove(web);
      await vips.until('nothing is reserved', async () => Object.keys(await vips.reserved()).length === 0);
      expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  /** Each test has a RoutedIP of its own: Events outlive it. */
  const served = async (name: string, policy: JsonObject = {}): Promise<Operator> => {
    const { stage, addFirewall, setClass, service } = routed();
    await stage.nodes('a', 'b');
    await addFirewall();
    await setClass('floating', policy);
    await service(name, ['a', 'b']);
    return stage.start();
  };

  test('says on a Node that it cannot be marked, while the address serves there', async () => {
    const operator = await served('marked');
    const { routedIP, stable, taints, stage, notes } = routed();
    const end = await webhook(cluster(), '', ['nodes'], '/api/v1/nodes/a');
    await routedIP('marked');
    await stable('marked');
    const holder = (await routed().status('marked'))?.assignedNode ?? '';
    await stage.until('an Event of the Node says why', () => isTold(notes(holder)));
    expect(logged(operator, 'taints not written')).toBe(true);
    await end();
    await stage.until('it is marked', async () => (await taints(holder)).includes('routedip.io/routed-ip:PreferNoSchedule'));
  });

  test('says why a new RoutedIP is not served that it cannot guard, and serves it then', async () => {
    const operator = await served('guarded');
    const { routedIP, stable, condition, stage, notes, service } = routed();
    await routedIP('guarded');
    await stable('guarded');
    const end = await webhook(cluster(), 'routedip.io', ['routedips'], `${ROUTED_IPS}/guarded`);
    await service('late', ['a', 'b'], [OTHER_PORT]);
    await routedIP('late');
    await stage.until('its condition says why', async () => WHY.test((await condition('late', 'Ready'))?.message ?? ''));
    await stage.until('an Event does', () => isTold(notes('late')));
    await stage.until('a series does', () => shown(operator, 'RoutedIP'));
    expect(logged(operator, 'a RoutedIP could not be guarded yet; nothing is done for it before')).toBe(true);
    await end();
    await stable('late');
    await isOver(routed(), operator, 'RoutedIP');
  });

  test('says that the status of a RoutedIP cannot be written, and moves its address all the same; a new one waits, and says so', async () => {
    const operator = await served('shown', { taintEffect: 'None' });
    const { routedIP, stable, status, stage, notes, service } = routed();
    await routedIP('shown');
    const address = await stable('shown');
    const from = (await status('shown'))?.assignedNode ?? '';
    const end = await webhook(cluster(), 'routedip.io', ['routedips/status'], `${ROUTED_IPS}/shown/status`);
    await stage.notReady(from);
    await stage.until('it is elsewhere', () => ![null, from].includes(stage.heldBy(address)));
    await stage.until('an Event says why', () => isTold(notes('shown')));
    expect(logged(operator, 'status not written')).toBe(true);
    expect((await status('shown'))?.assignedNode).toBe(from);
    await stage.nodes('c');
    await service('fresh', ['a', 'b', 'c'], [OTHER_PORT]);
    await routedIP('fresh');
    await saysWhy(routed(), operator, { kind: 'RoutedIP', notes: () => notes('fresh') });
    await end();
    await stable('shown', from === 'a' ? 'b' : 'a');
    await stable('fresh', 'c');
    await isOver(routed(), operator, 'RoutedIP');
  });

  test('says why a RoutedIP that is deleted stays, and lets it go', async () => {
    const operator = await served('deleted');
    const { routedIP, stable, status, stage, deleteRoutedIP, notes } = routed();
    await routedIP('deleted');
    await stable('deleted');
    const end = await webhook(cluster(), 'routedip.io', ['routedips'], `${ROUTED_IPS}/deleted`);
    await deleteRoutedIP('deleted');
    await stage.until('an Event says why', () => isTold(notes('deleted')));
    expect(logged(operator, 'finalizer not written')).toBe(true);
    await stage.until('a series does', () => shown(operator, 'RoutedIP'));
    expect(await status('deleted')).not.toBeNull();
    await end();
    await stage.until('it is gone', async () => (await status('deleted')) === null);
    await isOver(routed(), operator, 'RoutedIP');
  });

  test('says why a class that is deleted stays, and lets it go', async () => {
    const operator = await served('used');
    const { routedIP, stable, status, stage, deleteRoutedIP, notes } = routed();
    const floating = { apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name: 'floating' };
    const found = () =>
      stage.target.client.get(floating).then(
        (object) => object as unknown as ClassObject,
        () => null,
      );
    await routedIP('used');
    await stable('used');
    await stage.until('the class is guarded', async () => ((await found())?.metadata.finalizers ?? []).length > 0);
    const path = '/apis/routedip.io/v1alpha1/clusterroutedipclasses';
    const end = await webhook(cluster(), 'routedip.io', ['clusterroutedipclasses'], `${path}/floating`);
    await deleteRoutedIP('used');
    await stage.until('nobody uses it', async () => (await status('used')) === null);
    await stage.target.client.delete(floating);
    await stage.until('an Event says why', () => isTold(notes('floating')));
    expect(logged(operator, 'a class could not be guarded, or let go')).toBe(true);
    await stage.until('a series does', () => shown(operator, 'ClusterRoutedIPClass'));
    const ready = async () => (await found())?.status?.conditions?.find(({ type }) => type === 'Ready');
    await stage.until('its condition does', async () => WHY.test((await ready())?.message ?? ''));
    await end();
    await stage.until('it is gone', async () => (await found()) === null);
    await isOver(routed(), operator, 'ClusterRoutedIPClass');
  });
});
