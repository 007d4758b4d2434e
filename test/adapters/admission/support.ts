import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { CONFIGURATION, IP_PATH, VIRTUAL_IP_PATH } from '../../../adapters/admission/names.ts';
import type { JsonObject } from '../../../simulator/kubernetes/objects.ts';

export const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

const webhook = (name: string, url: string, path: string, plural: string, operations: string[]): JsonObject => ({
  name,
  clientConfig: { url: `${url}${path}` },
  rules: [{ apiGroups: ['paas.org'], apiVersions: ['v1'], operations, resources: [plural] }],
  failurePolicy: 'Fail',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  timeoutSeconds: 10,
});

/** The shipped registration, for a webhook that is called by its URL. */
export const registrationAt = (url: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: CONFIGURATION },
  webhooks: [
    webhook('vip.kb.io', url, IP_PATH, 'ips', ['CREATE', 'UPDATE', 'DELETE']),
    webhook('vvirtualip.kb.io', url, VIRTUAL_IP_PATH, 'virtualips', ['CREATE', 'UPDATE']),
  ],
});

export interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Post {
  readonly ca: string;
  readonly method?: string;
  readonly contentType?: string;
  readonly body?: string;
  /** Its length is not told beforehand. */
  readonly chunked?: boolean;
}

/** One request to the webhook, by a client that trusts `ca` alone. @throws Error when the handshake fails */
export const post = (
  url: string,
  { ca, method = 'POST', contentType = 'application/json', body = '', chunked = false }: Post,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const call = request(url, { ca, method, agent: false, headers: { 'content-type': contentType } }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject);
    });
    call.on('error', reject);
    if (chunked) call.write(body);
    call.end(chunked ? undefined : body);
  });
