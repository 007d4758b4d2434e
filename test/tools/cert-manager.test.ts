import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { keepCertificates } from '../../adapters/admission/keeper.ts';
import { CONFIGURATION, SECRET } from '../../adapters/admission/names.ts';
import { CERTIFICATE_TIMES } from '../../adapters/admission/renewal.ts';
import { connect } from '../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../adapters/kubernetes/client/kube-config.ts';
import { ownUser } from '../../adapters/kubernetes/client/own-user.ts';
import { certificateSecret, webhookConfiguration } from '../../adapters/kubernetes/writer/webhook-registration.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { recordedLog } from '../adapters/kubernetes/support.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installRoles, type KubeObject, objectsInText } from '../support/kube-apply.ts';
import { OPERATOR_IDENTITY } from '../support/kube-connection.ts';
import { waitFor } from '../support/wait-for.ts';
import { wholeTemplate } from './helm.ts';

const NAMESPACE = 'routedip-operator';
const NAME = 'routedip-operator-webhook';
const SERVICE = `vip-allocator-operator-webhook-service.${NAMESPACE}.svc`;
const CONFIGURATION_PATH = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${CONFIGURATION}`;
const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const HOUR = 3_600_000;

const VALUES = { admission: 'webhook', webhook: { certManager: { enabled: true } } };
const objects = (...flags: readonly string[]): readonly KubeObject[] =>
  objectsInText(wholeTemplate(VALUES, NAMESPACE, undefined, ...flags)).filter((object) => object !== null);
const one = (kind: string, name: string, among = objects()) => {
  const found = among.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`the chart has no ${kind} ${name}`);
  // biome-ignore lint/suspicious/noExplicitAny: of many kinds, read by tests that assert what they find
  return found as any;
};

interface Request {
  readonly isCA: boolean;
  readonly dnsNames: readonly string[];
  readonly usages: readonly string[];
}

/** What cert-manager makes of a Certificate of a self-signed Issuer. */
const madeBy = async ({ isCA, dnsNames, usages }: Request) => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const flags = { 'digital signature': x509.KeyUsageFlags.digitalSignature, 'cert sign': x509.KeyUsageFlags.keyCertSign };
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '1234567890abcdef',
    name: 'CN=routedip-operator webhook',
    notBefore: new Date(Date.now() - 1_000),
    notAfter: new Date(Date.now() + 2_160 * HOUR),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(isCA, undefined, true),
      new x509.KeyUsagesExtension(
        Object.entries(flags).reduce((so, [usage, flag]) => (usages.includes(usage) ? so | flag : so), 0),
        true,
      ),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(dnsNames.map((value) => ({ type: 'dns', value }))),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { cert: `${cert.toString('pem')}\n`, key: `${key}\n` };
};

const encoded = (text: string): string => Buffer.from(text).toString('base64');

describe('with cert-manager, the chart', () => {
  test('asks it for a certificate of the Service, in the Secret that is served, and for the trust of the API server', () => {
    const { spec, metadata } = one('Certificate', NAME);
    expect(spec).toMatchObject({ secretName: SECRET, dnsNames: [SERVICE], issuerRef: { kind: 'Issuer', name: NAME } });
    expect(one('Issuer', NAME)).toMatchObject({ metadata: { namespace: metadata.namespace }, spec: { selfSigned: {} } });
    const { annotations } = one('ValidatingWebhookConfiguration', CONFIGURATION).metadata;
    expect(annotations).toEqual({ 'cert-manager.io/inject-ca-from': `${metadata.namespace}/${NAME}` });
    // Before the operator would.
    expect(Number.parseInt(spec.renewBefore, 10) * HOUR).toBeGreaterThan(CERTIFICATE_TIMES.renewBeforeMs + 24 * HOUR);
    expect(Number.parseInt(spec.duration, 10)).toBeGreaterThan(Number.parseInt(spec.renewBefore, 10));
  });

  test('leaves the operator the right to say whom the webhook is not asked about where the chart cannot: before Kubernetes 1.28', () => {
    const old = objects('--kube-version', '1.27.16');
    expect(one('ClusterRole', NAME, old).rules[0]).toMatchObject({ verbs: ['get', 'update'] });
    expect(JSON.stringify(one('ValidatingWebhookConfiguration', CONFIGURATION, old))).not.toContain('matchConditions');
    expect(one('ClusterRole', NAME).rules[0]).toMatchObject({ verbs: ['get'] });
  });
});

describe('an operator that may only read what cert-manager writes', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ audit: false });
    await installRoles(cluster);
    for (const object of objects()) {
      if (object.metadata.name !== NAME && object.metadata.name !== CONFIGURATION) continue;
      // Those of cert-manager, whose definitions are not here.
      if (object.kind === 'Issuer' || object.kind === 'Certificate') continue;
      expect([object.kind, (await apply(cluster, object)).status]).toEqual([object.kind, 201]);
    }
  });
  afterAll(() => cluster?.stop());

  test('serves its certificate as soon as it is there and trusted, and writes nothing', async () => {
    const config = loadConfig(cluster.kubeconfigFor(await cluster.tokenFor(NAMESPACE, NAMESPACE)));
    const connection = connect(config, OPERATOR_IDENTITY);
    onTestFinished(() => connection.close());
    const used: string[] = [];
    const keeper = keepCertificates({
      store: certificateSecret(connection, { namespace: NAMESPACE, name: SECRET }),
      registration: webhookConfiguration(connection, CONFIGURATION, ownUser(config, connection)),
      names: [SERVICE],
      clock: systemClock(),
      log: recordedLog(),
      use: ({ cert }) => void used.push(cert),
      hide: () => undefined,
      times: { ...CERTIFICATE_TIMES, everyMs: 50 },
    });
    onTestFinished(() => keeper.close());
    await waitFor('it says what it may not', async () => keeper.hindrance()?.includes('may not create secrets') ?? false);
    expect((await cluster.send(`${SECRETS}/${SECRET}`)).status).toBe(404);

    for (const round of ['the first one', 'the one after its renewal']) {
      const { cert, key } = await madeBy(one('Certificate', NAME).spec);
      const data = { 'ca.crt': encoded(cert), 'tls.crt': encoded(cert), 'tls.key': encoded(key) };
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: SECRET, namespace: NAMESPACE },
        data,
      };
      expect((await apply(cluster, secret as KubeObject)).status).toBeLessThan(300);
      const { body: before } = await cluster.send(CONFIGURATION_PATH);
      const webhooks = before.webhooks.map((webhook: { clientConfig: object }) => ({
        ...webhook,
        clientConfig: { ...webhook.clientConfig, caBundle: encoded(cert) },
      }));
      const injected = await cluster.send(CONFIGURATION_PATH, { method: 'PUT', body: { ...before, webhooks } });
      expect(injected.status).toBe(200);
      await waitFor(`it serves ${round}`, async () => used.at(-1) === cert && keeper.hindrance() === null);
      // Some looks later all is as it was.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(keeper.hindrance()).toBeNull();
      expect((await cluster.send(CONFIGURATION_PATH)).body.metadata.resourceVersion).toBe(injected.body.metadata.resourceVersion);
      expect((await cluster.send(`${SECRETS}/${SECRET}`)).body.data).toEqual(data);
    }
    expect(new Set(used).size).toBe(2);
  });
});
