import { expect, onTestFinished } from 'vitest';
import type { Pair } from '../../../adapters/admission/certificates.ts';
import { type Keeper, keepCertificates } from '../../../adapters/admission/keeper.ts';
import { CONFIGURATION, SECRET } from '../../../adapters/admission/names.ts';
import { CERTIFICATE_TIMES, type CertificateTimes } from '../../../adapters/admission/renewal.ts';
import type { Request } from '../../../adapters/kubernetes/client/connection.ts';
import { certificateSecret, webhookConfiguration } from '../../../adapters/kubernetes/writer/webhook-registration.ts';
import type { VirtualClock } from '../../../adapters/memory/clock.ts';
import { at, type JsonObject } from '../../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { connected, type RecordedLog, recordedLog, simulated } from '../kubernetes/support.ts';
import { CONFIGURATIONS, registrationAt } from './support.ts';

export const SECRETS = '/api/v1/namespaces/default/secrets';
export const OPERATOR = 'system:serviceaccount:default:routedip-operator';
export const NAMES = ['hook.default.svc'];

export const send = async (server: KubernetesSimulator, method: string, path: string, body?: JsonObject): Promise<JsonObject> => {
  const response = await fetch(server.url + path, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  expect([method, path, response.status]).toEqual([method, path, method === 'POST' ? 201 : 200]);
  return (await response.json()) as JsonObject;
};

const decodedAt = (object: JsonObject, ...path: (string | number)[]): string => {
  const text = at(object, ...path);
  return Buffer.from(typeof text === 'string' ? text : '', 'base64').toString('utf8');
};

export interface Replica {
  readonly keeper: Keeper;
  readonly log: RecordedLog;
  readonly used: Pair[];
  readonly hidden: string[];
}

interface Deviation {
  readonly times?: CertificateTimes;
  /** Runs around each request. */
  readonly around?: (request: Request, send: (changed?: Request) => Promise<unknown>) => Promise<unknown>;
}

export const replica = (server: KubernetesSimulator, clock: VirtualClock, deviation: Deviation = {}): Replica => {
  const { times = CERTIFICATE_TIMES, around = (_, send) => send() } = deviation;
  const real = connected(server.kubeconfig());
  const connection = { ...real, send: (request: Request) => around(request, (changed = request) => real.send(changed)) };
  const used: Pair[] = [];
  const hidden: string[] = [];
  const log = recordedLog();
  const keeper = keepCertificates({
    store: certificateSecret(connection, { namespace: 'default', name: SECRET }),
    registration: webhookConfiguration(connection, CONFIGURATION, async () => OPERATOR),
    names: NAMES,
    clock,
    log,
    use: (pair) => used.push(pair),
    hide: (secret) => hidden.push(secret),
    times,
  });
  onTestFinished(() => keeper.close());
  return { keeper, log, used, hidden };
};

export const registered = async (): Promise<KubernetesSimulator> => {
  const server = await simulated();
  await send(server, 'POST', CONFIGURATIONS, registrationAt('https://127.0.0.1:1'));
  return server;
};

export const bundleOf = async (server: KubernetesSimulator, index = 0): Promise<string> =>
  decodedAt(await send(server, 'GET', `${CONFIGURATIONS}/${CONFIGURATION}`), 'webhooks', index, 'clientConfig', 'caBundle');

export const storedIn = async (server: KubernetesSimulator, key: string): Promise<string> =>
  decodedAt(await send(server, 'GET', `${SECRETS}/${SECRET}`), 'data', key);

/** All keepers have looked and wait for their next look. */
export const looked = (clock: VirtualClock, keepers: number): Promise<void> =>
  waitFor('all have looked', () => clock.pending() === keepers);

/** What the API server trusts at this very moment. */
export const trustedNow = (server: KubernetesSimulator): string => {
  const ref = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', name: CONFIGURATION };
  return decodedAt(server.store.get(ref), 'webhooks', 0, 'clientConfig', 'caBundle');
};

/** Lets all keepers look once more. */
export const nextLook = async (clock: VirtualClock, keepers = 1): Promise<void> => {
  await looked(clock, keepers);
  await clock.advance(CERTIFICATE_TIMES.everyMs);
  await looked(clock, keepers);
};

export const ready = async (clock: VirtualClock, ...replicas: readonly Replica[]): Promise<void> => {
  await looked(clock, replicas.length);
  for (const { keeper, used } of replicas) expect([keeper.hindrance(), used.length > 0]).toEqual([null, true]);
};
