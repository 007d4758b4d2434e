import type { CertificateData, CertificateStore, WebhookRegistration } from '../../actors/ports/admission.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { Connection } from './connection.ts';

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
        // Somebody else has written it, or taken it away.
        if (isConflict(error) || (version !== null && isNotFound(error))) return false;
        throw error;
      }
    },
  };

  /** The Secret as it is with other data: its type cannot be changed, and its labels are not ours to drop. */
  async function changed(data: CertificateData, version: string): Promise<unknown> {
    const found = (await connection.send({ method: 'GET', path })) as Secret;
    return { ...found, metadata: { ...found.metadata, resourceVersion: version }, data: encoded(data) };
  }
};

interface Configuration {
  readonly metadata: { readonly resourceVersion: string };
  readonly webhooks?: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

/** The webhooks of a ValidatingWebhookConfiguration. Needs the rights to get and update this one. */
export const webhookConfiguration = (connection: Connection, name: string): WebhookRegistration => {
  const path = `${CONFIGURATIONS}/${name}`;
  const trust = async (found: Configuration, bundle: string): Promise<boolean> => {
    const caBundle = Buffer.from(bundle).toString('base64');
    const { webhooks = [] } = found;
    if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return true;
    const trusting = webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }));
    try {
      // With the resourceVersion read: what a person or another replica changes at the same time is not undone.
      await connection.send({ method: 'PUT', path, body: { ...found, webhooks: trusting } });
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
