import type { CertificateData, CertificateStore, OwnUser, WebhookRegistration } from '../../../actors/ports/admission.ts';
import { isConflict, isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

interface Secret {
  readonly metadata: { readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

const encoded = (data: CertificateData): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));

const decoded = (data: Secret['data'] = {}): CertificateData =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')]));

/** Certificates in a Secret. Needs the rights to create Secrets in its namespace, and to get and update this one. */
export const certificateSecret = (
  connection: Connection,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): CertificateStore => {
  const collection = `/api/v1/namespaces/${namespace}/secrets`;
  const path = `${collection}/${name}`;
  const object = (data: CertificateData) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name, labels: { 'app.kubernetes.io/name': 'routedip-operator' } },
    data: encoded(data),
  });
  return {
    read: async () => {
      try {
        const { metadata, data } = (await connection.send({ method: 'GET', path })) as Secret;
        return { data: decoded(data), version: metadata.resourceVersion };
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    write: async (data, version) => {
      try {
        if (version === null) await connection.send({ method: 'POST', path: collection, body: object(data) });
        else await connection.send({ method: 'PUT', path, body: await changed(data, version) });
        return true;
      } catch (error) {
        // It was written or deleted by another client.
        if (isConflict(error) || (version !== null && isNotFound(error))) return false;
        throw error;
      }
    },
  };

  /** The stored Secret with new data: its type is immutable, and its labels are kept. */
  async function changed(data: CertificateData, version: string): Promise<unknown> {
    const found = (await connection.send({ method: 'GET', path })) as Secret;
    return { ...found, metadata: { ...found.metadata, resourceVersion: version }, data: encoded(data) };
  }
};

interface Condition {
  readonly name: string;
  readonly expression: string;
}

interface Webhook {
  readonly clientConfig: { readonly caBundle?: string };
  readonly matchConditions?: readonly Condition[];
}

interface Configuration {
  readonly metadata: { readonly resourceVersion: string };
  readonly webhooks?: readonly Webhook[];
}

/** The name of our matchCondition, which exempts the operator's own writes. */
const OTHERS = 'written-by-others';

/** The webhooks of a ValidatingWebhookConfiguration. The API server calls them only for writes by users other than `operator`, so that its own writes do not depend
 *  on them. Servers before 1.28 drop the condition and call them for all writes. Needs the rights to get and update this one. */
export const webhookConfiguration = (connection: Connection, name: string, operator: OwnUser): WebhookRegistration => {
  const path = `${CONFIGURATIONS}/${name}`;
  /** Whether the API server supports matchConditions; null until one was sent. */
  let knowsConditions: boolean | null = null;

  /** Null when it cannot be determined now: the CA bundle is written anyway. */
  const others = async (): Promise<Condition | null> => {
    const user = knowsConditions === false ? null : await operator().catch(() => null);
    // A JSON string literal is a valid CEL string literal.
    return user === null ? null : { name: OTHERS, expression: `request.userInfo.username != ${JSON.stringify(user)}` };
  };
  const told = (webhook: Webhook, caBundle: string, condition: Condition | null): Webhook => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle },
    ...(condition && { matchConditions: [...(webhook.matchConditions ?? []).filter((one) => one.name !== OTHERS), condition] }),
  });
  const holds = ({ clientConfig, matchConditions = [] }: Webhook, caBundle: string, condition: Condition | null): boolean =>
    clientConfig.caBundle === caBundle && (condition === null || has(matchConditions, condition));
  const has = (conditions: readonly Condition[], condition: Condition): boolean =>
    conditions.some((one) => one.name === OTHERS && one.expression === condition.expression);

  const trust = async (found: Configuration, bundle: string): Promise<boolean> => {
    const caBundle = Buffer.from(bundle).toString('base64');
    const condition = await others();
    const { webhooks = [] } = found;
    if (webhooks.every((webhook) => holds(webhook, caBundle, condition))) return true;
    try {
      // Includes the resourceVersion: concurrent changes by users or other replicas are not undone.
      const body = { ...found, webhooks: webhooks.map((webhook) => told(webhook, caBundle, condition)) };
      const kept = (await connection.send({ method: 'PUT', path, body })) as Configuration;
      if (condition) knowsConditions = kept.webhooks?.every(({ matchConditions = [] }) => has(matchConditions, condition)) ?? false;
      return true;
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
  };
  return {
    read: async () => {
      try {
        const found = (await connection.send({ method: 'GET', path })) as Configuration;
        return { trust: (bundle) => trust(found, bundle) };
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
  };
};
