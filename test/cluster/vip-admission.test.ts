import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OwnUser } from '../../actors/ports/admission.ts';
import { keepCertificates } from '../../adapters/admission/keeper.ts';
import { CONFIGURATION, IP_PATH, SECRET, VIRTUAL_IP_PATH } from '../../adapters/admission/names.ts';
import { CERTIFICATE_TIMES, type CertificateTimes } from '../../adapters/admission/renewal.ts';
import { startWebhook, type Webhook } from '../../adapters/admission/server.ts';
import { type Connection, connect } from '../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../adapters/kubernetes/client/kube-config.ts';
import { ownUser } from '../../adapters/kubernetes/client/own-user.ts';
import { isPolicyBound } from '../../adapters/kubernetes/writer/admission-policies.ts';
import { certificateSecret, webhookConfiguration } from '../../adapters/kubernetes/writer/webhook-registration.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { admitIP, admitVirtualIP } from '../../machines/migration/admission.ts';
import { freePort } from '../../tools/free-ports.mjs';
import { recordedLog } from '../adapters/kubernetes/support.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, installRoles, type KubeObject, objectsIn, pathOf } from '../support/kube-apply.ts';
import { OPERATOR_IDENTITY } from '../support/kube-connection.ts';
import { ADMITTED_CRDS, DENIALS, IPS, ipNamed, VIRTUAL_IPS, virtualIP } from '../support/vip-admission.ts';
import { waitFor } from '../support/wait-for.ts';

const deploy = (file: string): string => join(import.meta.dirname, '../../deploy', file);
const NAMESPACE = 'routedip-operator';
const OPERATOR = `system:serviceaccount:${NAMESPACE}:routedip-operator`;
const CONFIGURATION_PATH = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${CONFIGURATION}`;
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;

const RBAC = 'rbac.authorization.k8s.io';
const named = (kind: string, fields: object): KubeObject => ({
  apiVersion: `${RBAC}/v1`,
  kind,
  metadata: { name: 'vip-writers' },
  ...fields,
});

/** Both may write IPs as far as RBAC goes, so that it is admission that says no. */
const WRITERS = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'jane', namespace: 'default' } },
  named('ClusterRole', { rules: [{ apiGroups: ['paas.org'], resources: ['*'], verbs: ['*'] }] }),
  named('ClusterRoleBinding', {
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'vip-writers' },
    subjects: [
      { kind: 'ServiceAccount', name: 'jane', namespace: 'default' },
      { kind: 'ServiceAccount', name: 'routedip-operator', namespace: NAMESPACE },
    ],
  }),
];
const JANE = 'system:serviceaccount:default:jane';

/** In production it takes weeks. A certificate tells whole seconds: what is 2 s here may be a second only, which the looks have to stay well below. */
const QUICK: CertificateTimes = { ...CERTIFICATE_TIMES, renewBeforeMs: CERTIFICATE_TIMES.lifeMs - 1_000, overlapMs: 2_000, everyMs: 50 };

let cluster: Cluster;
let token: string;
let jane: string;
let webhook: Webhook;
let connection: Connection;
let whoAmI: OwnUser;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const asUser = (user: string, method: Method, path: string, body?: unknown) =>
  cluster.send(path, { method, token: user, ...(body === undefined ? {} : { body }) });

/** `allowed`, or what the user is told. */
const told = async (user: string, method: Method, path: string, body?: unknown): Promise<string> => {
  const { status, body: answer } = await asUser(user, method, path, body);
  return status < 300 ? 'allowed' : `${status} ${answer.message}`;
};

const by = (name: string, message: string): string => `403 admission webhook "${name}" denied the request: ${message}`;

const asOperator = (kubeconfig: string): { connection: Connection; whoAmI: OwnUser } => {
  const config = loadConfig(kubeconfig);
  const made = connect(config, OPERATOR_IDENTITY);
  return { connection: made, whoAmI: ownUser(config, made) };
};

const startedWebhook = (port: number, who: () => OwnUser): Promise<Webhook> =>
  startWebhook({
    bind: { host: '127.0.0.1', port },
    rules: {
      [IP_PATH]: { resource: 'ips', decide: async (facts) => admitIP(facts, await who()()) },
      [VIRTUAL_IP_PATH]: { resource: 'virtualips', decide: admitVirtualIP },
    },
    log: recordedLog(),
  });

const keeping = (served: Webhook, times = CERTIFICATE_TIMES) =>
  keepCertificates({
    store: certificateSecret(connection, { namespace: NAMESPACE, name: SECRET }),
    registration: webhookConfiguration(connection, CONFIGURATION, async () => OPERATOR),
    names: ['127.0.0.1'],
    clock: systemClock(),
    log: recordedLog(),
    use: served.use,
    hide: () => undefined,
    times,
  });

/** The shipped registration, with the address of this process in the place of the Service: no kube-proxy runs here. */
const registration = (object: KubeObject, url: string): KubeObject => {
  const { webhooks } = object as unknown as { webhooks: { clientConfig: { service: { path: string } } }[] };
  return { ...object, webhooks: webhooks.map((each) => ({ ...each, clientConfig: { url: `${url}${each.clientConfig.service.path}` } })) };
};

const accepted = async (object: KubeObject): Promise<void> => {
  const { status, body } = await apply(cluster, object);
  expect([object.metadata.name, status < 300 ? 'accepted' : body.message]).toEqual([object.metadata.name, 'accepted']);
};

const servedAt = (path: string): Promise<void> => waitFor(`${path} is served`, async () => (await cluster.send(path)).status === 200);

/** What VirtualIPs there were before, by name: their state, and whether their migration was begun. */
const BEFORE = {
  valid: ['Valid'],
  error: ['Error'],
  preparing: ['Migrating: preparing for migration', ''],
  cleaning: ['Migrating: cleaning up', ''],
} as const;

const virtualIPsOfBefore = async (): Promise<void> => {
  for (const [name, [state, migrate]] of Object.entries(BEFORE)) {
    await accepted({ ...virtualIP(name, { ip: '1.1.1.9', ...(migrate !== undefined && { migrate }) }) });
    expect((await cluster.send(`${VIRTUAL_IPS}/${name}/status`, { method: 'PATCH', body: { status: { state } } })).status).toBe(200);
  }
};

beforeAll(async () => {
  cluster = await startCluster();
  for (const file of ADMITTED_CRDS) await applyFile(cluster, file);
  await Promise.all([IPS, VIRTUAL_IPS].map(servedAt));
  await installRoles(cluster);
  for (const object of WRITERS) await accepted(object);
  await virtualIPsOfBefore();
  token = await cluster.tokenFor(NAMESPACE, 'routedip-operator');
  // Here it is asked in the operator's name for more of these than the operator may.
  for (const plural of ['secrets', 'validatingwebhookconfigurations']) cluster.forbidden.add(plural);
  jane = await cluster.tokenFor('default', 'jane');
  ({ connection, whoAmI } = asOperator(cluster.kubeconfigFor(token)));
  // It is started again there: nobody is given a port of these meanwhile.
  webhook = await startedWebhook(await freePort(), () => whoAmI);
  for (const object of objectsIn(deploy('vip-admission-webhook.yaml'))) {
    await accepted(object.kind === 'ValidatingWebhookConfiguration' ? registration(object, webhook.url) : object);
  }
  const keeper = keeping(webhook);
  await waitFor('the webhook is trusted', () => keeper.hindrance() === null);
  keeper.close();
  // Not refused by RBAC, which may not have heard of her rights yet.
  const asked = async () => (await told(jane, 'POST', `${IPS}?dryRun=All`, ipNamed('9.9.9.9'))).startsWith('403 admission webhook');
  await waitFor('the webhook is asked', asked);
});

afterAll(async () => {
  await webhook?.close();
  await connection?.close();
  await cluster?.stop();
});

describe('an IP on a real API server', () => {
  test('is written by the operator alone', async () => {
    expect(await isPolicyBound(connection, 'ips.paas.org')).toBe(false);
    expect(await whoAmI()).toBe(OPERATOR);
    const denied = (user: string, verb: string) => by('vip.kb.io', `user ${user} cannot ${verb} ip objects, only ${OPERATOR} is allowed`);
    expect(await told(jane, 'POST', IPS, ipNamed('1.1.1.1'))).toBe(denied(JANE, 'create'));
    expect(await told(token, 'POST', IPS, ipNamed('1.1.1.1'))).toBe('allowed');
    const labels = { metadata: { labels: { ipgroup: 'mine' } } };
    expect(await told(jane, 'PATCH', `${IPS}/1.1.1.1`, labels)).toBe(denied(JANE, 'update'));
    expect(await told(jane, 'DELETE', `${IPS}/1.1.1.1`)).toBe(denied(JANE, 'delete'));
    expect(await told(jane, 'DELETE', IPS)).toBe(denied(JANE, 'delete'));
    expect(await told(token, 'PATCH', `${IPS}/1.1.1.1`, labels)).toBe('allowed');
    const { status, body } = await cluster.send(`${IPS}/1.1.1.1`, { method: 'DELETE' });
    expect([status, body.message]).toEqual([403, denied('admin', 'delete').replace('403 ', '')]);
    expect(body).toMatchObject({ reason: 'Forbidden', status: 'Failure' });
    expect(await told(token, 'DELETE', `${IPS}/1.1.1.1`)).toBe('allowed');
  });
});

describe('a VirtualIP on a real API server', () => {
  const MIGRATE = 'virtualips.paas.org/migrate';
  const annotated = (value: string | null) => ({ metadata: { annotations: { [MIGRATE]: value } } });

  test.each<[string, keyof typeof BEFORE, object, string]>([
    ['keeps its address', 'valid', { spec: { ip: '1.1.1.8' } }, DENIALS.immutable],
    ['keeps its address in its migration', 'cleaning', { spec: { ip: null } }, DENIALS.immutable],
    ['does not begin its migration in Error', 'error', annotated(''), DENIALS.notValid],
    ['begins its migration when it is Valid', 'valid', annotated(''), 'allowed'],
    ['does not stop its migration', 'cleaning', annotated(null), DENIALS.notStopped],
    ['stops its migration while nothing was changed', 'preparing', annotated(null), 'allowed'],
    ['keeps its Service in its migration', 'cleaning', { spec: { service: 'other' } }, DENIALS.notChanged],
    ['changes its Service otherwise', 'error', { spec: { service: 'other' } }, 'allowed'],
    ['has its finalizers changed', 'cleaning', { metadata: { finalizers: ['paas.org/x'] } }, 'allowed'],
  ])('%s', async (_, name, change, expected) => {
    const answer = await told(jane, 'PATCH', `${VIRTUAL_IPS}/${name}?dryRun=All`, change);
    expect(answer).toBe(expected === 'allowed' ? 'allowed' : by('vvirtualip.kb.io', expected));
  });

  test('is not created, may be deleted, and has its status written', async () => {
    expect(await told(jane, 'POST', VIRTUAL_IPS, virtualIP('late'))).toBe(by('vvirtualip.kb.io', DENIALS.deprecated));
    expect(await told(jane, 'DELETE', `${VIRTUAL_IPS}/cleaning?dryRun=All`)).toBe('allowed');
    expect(await told(token, 'PATCH', `${VIRTUAL_IPS}/error/status`, { status: { state: 'Valid' } })).toBe('allowed');
  });
});

describe('the admission webhook on a real API server', () => {
  test('is asked on while its certificates are renewed, again and again', async () => {
    const secret = async (): Promise<Readonly<Record<string, string>>> => (await cluster.send(`${SECRETS}/${SECRET}`)).body.data;
    const served = new Set<string>();
    const others = await startedWebhook(0, () => whoAmI);
    // Two replicas keep the same Secret; the API server asks the one that is slower to look.
    const keepers = [keeping(webhook, { ...QUICK, everyMs: 250 }), keeping(others, QUICK)];
    onTestFinished(async () => {
      for (const keeper of keepers) keeper.close();
      await others.close();
    });
    let written = 0;
    await waitFor(
      'three certificates were served',
      async () => {
        written += 1;
        expect(await told(jane, 'POST', `${IPS}?dryRun=All`, ipNamed(`10.0.0.${written % 250}`))).toMatch(
          /^403 admission webhook "vip\.kb\.io" denied/,
        );
        served.add((await secret())['tls.crt'] ?? '');
        return served.size >= 3;
      },
      25_000,
    );
    expect(written).toBeGreaterThan(8);
    const { body } = await cluster.send(CONFIGURATION_PATH);
    const bundle = Buffer.from(body.webhooks[0].clientConfig.caBundle, 'base64').toString();
    expect(bundle.match(/BEGIN/g)?.length).toBeLessThanOrEqual(3);
    const [cert = ''] = [...served].slice(-1);
    expect(new X509Certificate(Buffer.from(cert, 'base64')).checkIP('127.0.0.1')).toBe('127.0.0.1');
  });

  test('that is down lets nobody write an IP but the operator; once it is back, it answers again', async () => {
    const port = Number(new URL(webhook.url).port);
    await webhook.close();
    const refused = await told(jane, 'POST', IPS, ipNamed('1.1.1.2'));
    expect(refused).toMatch(/^500 Internal error occurred: failed calling webhook "vip\.kb\.io": /);
    expect((await cluster.send(`${IPS}/1.1.1.2`)).status).toBe(404);
    expect(await told(token, 'POST', IPS, ipNamed('1.1.1.2'))).toBe('allowed');
    webhook = await startedWebhook(port, () => whoAmI);
    const keeper = keeping(webhook);
    await waitFor('it answers', async () => (await told(jane, 'POST', IPS, ipNamed('1.1.1.9'))).startsWith('403 admission webhook'));
    keeper.close();
  });

  test('of an operator that cannot tell who it is refuses for now, and goes on once it can', async () => {
    const known = whoAmI;
    whoAmI = async () => {
      throw new Error('the API server does not answer');
    };
    expect(await told(jane, 'POST', IPS, ipNamed('1.1.1.3'))).toMatch(/^500 .*failed calling webhook "vip\.kb\.io"/);
    whoAmI = known;
    expect(await told(jane, 'POST', IPS, ipNamed('1.1.1.3'))).toMatch(/^403 admission webhook/);
  });

  test('knows who the operator is by its client certificate, too', async () => {
    const admin = asOperator(cluster.kubeconfig);
    onTestFinished(() => admin.connection.close());
    expect(await admin.whoAmI()).toBe('admin');
    const known = whoAmI;
    whoAmI = admin.whoAmI;
    expect(await told(jane, 'POST', IPS, ipNamed('1.1.1.4'))).toBe(
      by('vip.kb.io', `user ${JANE} cannot create ip objects, only admin is allowed`),
    );
    const { status } = await cluster.send(IPS, { method: 'POST', body: ipNamed('1.1.1.4') });
    expect(status).toBe(201);
    whoAmI = known;
  });

  test('has the rights that its certificates need, and no others', async () => {
    const other = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other', namespace: NAMESPACE } };
    const configuration: KubeObject = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'other' },
    };
    await accepted(configuration);
    const otherPath = await pathOf(cluster, configuration);
    expect((await asUser(token, 'GET', `${SECRETS}/${SECRET}`)).status).toBe(200);
    expect((await asUser(token, 'GET', CONFIGURATION_PATH)).status).toBe(200);
    const refused = await Promise.all([
      asUser(token, 'DELETE', `${SECRETS}/${SECRET}`),
      asUser(token, 'PUT', `${SECRETS}/other`, other),
      asUser(token, 'GET', otherPath),
      asUser(token, 'PUT', otherPath, configuration),
      asUser(token, 'DELETE', CONFIGURATION_PATH),
      asUser(token, 'GET', otherPath.replace('/other', '')),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
  });
});
