import { afterAll } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { ADMITTED_CRDS } from '../support/vip-admission.ts';
import { describePolicies } from '../support/vip-policies-suite.ts';

let simulator: KubernetesSimulator | undefined;

describePolicies(async () => {
  const started = await startKubernetes({ crds: ADMITTED_CRDS });
  simulator = started;
  return async (method, path, body, user) => {
    const response = await fetch(started.url + path, {
      method,
      headers: {
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        ...(user !== undefined && { 'impersonate-user': user }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { code: response.status, body: (await response.json()) as JsonObject };
  };
});

afterAll(() => simulator?.close());
