import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import type { Server } from '../support/kube-apply.ts';
import { describeRoutedIPKinds } from '../support/routedip-suite.ts';

const CRDS = ['routedips', 'routedipissuers', 'clusterroutedipclasses', 'ipgroups'].map((name) =>
  join(import.meta.dirname, `../../crds/${name}.yaml`),
);

let simulator: KubernetesSimulator;

beforeAll(async () => {
  simulator = await startKubernetes({ crds: CRDS });
});

afterAll(() => simulator?.close());

const send: Server['send'] = async (path, { method = 'GET', body, accept = 'application/json' } = {}) => {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(simulator.url + path, { method, headers: { accept, 'content-type': contentType }, ...sent });
  return { status: response.status, body: await response.json() };
};

describeRoutedIPKinds(() => ({ send }));
