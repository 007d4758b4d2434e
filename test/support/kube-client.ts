import { readFileSync, writeFileSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import type { Pki } from './kube-pki.ts';

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body. Default: application/json, for PATCH application/merge-patch+json. */
  readonly contentType?: string;
  readonly accept?: string;
  /** Bearer token of the caller; without one the caller is the administrator. */
  readonly token?: string;
  /** In whose name the administrator asks. */
  readonly user?: string;
}

export interface ApiResponse {
  readonly status: number;
  /** Parsed when it is JSON, else the text. Typed by the caller, since it depends on the path. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of a foreign server, read by tests that assert what they find
  readonly body: any;
}

export interface ApiClient {
  /** One request. Resolves with whatever status the server answers. @throws Error when there is no answer within 30 s */
  send(path: string, options?: ApiRequest): Promise<ApiResponse>;
  close(): void;
}

const TIMEOUT_MS = 30_000;

const parsed = (answer: string, contentType: string | undefined): unknown =>
  contentType?.includes('json') && answer !== '' ? JSON.parse(answer) : answer;

const headersOf = ({ method, body, contentType, accept, token, user }: ApiRequest): OutgoingHttpHeaders => ({
  accept: accept ?? 'application/json',
  ...(body === undefined
    ? {}
    : { 'content-type': contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json') }),
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...(user === undefined ? {} : { 'impersonate-user': user }),
});

const send = (url: string, agent: Agent, options: ApiRequest): Promise<ApiResponse> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', body } = options;
    const call = request(url, { method, headers: headersOf(options), agent, timeout: TIMEOUT_MS });
    call.on('timeout', () => call.destroy(new Error(`${method} ${url}: no answer in ${TIMEOUT_MS} ms`)));
    call.on('error', reject);
    call.on('response', (response) => {
      text(response).then(
        (answer) => resolve({ status: response.statusCode ?? 0, body: parsed(answer, response.headers['content-type']) }),
        reject,
      );
    });
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });

/** A client of the API server at `url` that trusts `pki` and acts as the administrator, or as the bearer of a token. */
export const apiClient = (url: string, pki: Pki): ApiClient => {
  const ca = readFileSync(pki.ca);
  const admin = pki.certificate('admin');
  const asAdmin = new Agent({ ca, cert: readFileSync(admin.crt), key: readFileSync(admin.key), keepAlive: true });
  // A certificate would win over the token: bearers need connections of their own.
  const asBearer = new Agent({ ca, keepAlive: true });
  return {
    send: (path, options = {}) => send(`${url}${path}`, options.token === undefined ? asAdmin : asBearer, options),
    close: () => {
      asAdmin.destroy();
      asBearer.destroy();
    },
  };
};

type User = { readonly token: string } | { readonly 'client-certificate': string; readonly 'client-key': string };

/** Writes a kubeconfig with one context to `path`, readable by its owner only, and returns the path. */
export const writeKubeconfig = (path: string, server: string, ca: string, user: User, namespace?: string): string => {
  const inline = (file: string): string => readFileSync(file).toString('base64');
  const credentials =
    'token' in user
      ? { token: user.token }
      : { 'client-certificate-data': inline(user['client-certificate']), 'client-key-data': inline(user['client-key']) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': inline(ca) } }],
    users: [{ name: 'user', user: credentials }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'user', ...(namespace && { namespace }) } }],
    'current-context': 'test',
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
};
