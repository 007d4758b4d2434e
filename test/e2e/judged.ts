import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { freePort } from '../../tools/free-ports.mjs';
import { objectsIn } from '../support/kube-apply.ts';
import type { OperatorOptions } from '../support/operator.ts';
import { IPS, ipNamed } from '../support/vip-admission.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Target } from './target.ts';

const deploy = (file: string): string => join(import.meta.dirname, '../../deploy', file);

/** Who judges the writes of IPs and VirtualIPs. */
export type Judge = 'policies' | 'the webhook';

/** The simulator calls no webhooks, and old servers evaluate no policies. */
const BY_TARGET: Readonly<Record<string, readonly Judge[]>> = { cluster: ['policies', 'the webhook'], 'cluster-old': ['the webhook'] };

export const JUDGES: readonly Judge[] = BY_TARGET[process.env.TEST_TARGET ?? ''] ?? ['policies'];

/** Has writes of IPs and VirtualIPs judged, as the shipped manifests do it. Answers how the operator is to be started from then on; it finds out by itself who judges. */
export const judged = (target: Target, judge: Judge): Promise<Partial<OperatorOptions>> =>
  judge === 'policies' ? byPolicies(target) : byWebhook(target);

/** The policies; the operator is told apart from the administrator by its token. */
const byPolicies = async ({ client, simulator, cluster }: Target): Promise<Partial<OperatorOptions>> => {
  for (const object of objectsIn(deploy('vip-admission-policies.yaml'))) await client.create(object as unknown as JsonObject);
  if (cluster) {
    const refused = async () => (await cluster.send(`${IPS}?dryRun=All`, { method: 'POST', body: ipNamed('192.0.2.255') })).status === 403;
    await waitFor('the server judges by the policies', refused);
    return { flags: [] };
  }
  const folder = mkdtempSync(join(tmpdir(), 'routedip-judged-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, simulator?.kubeconfig(simulator.tokenFor('routedip-operator', 'routedip-operator')) ?? '', { mode: 0o600 });
  return { kubeconfig, flags: [] };
};

/** The webhook, called at the operator's own address: no Service leads anywhere on an API server alone. */
const byWebhook = async ({ client }: Target): Promise<Partial<OperatorOptions>> => {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const called = (webhook: { clientConfig: { service: { path: string } } }) => ({
    ...webhook,
    clientConfig: { url: `${url}${webhook.clientConfig.service.path}` },
  });
  for (const object of objectsIn(deploy('vip-admission-webhook.yaml'))) {
    const { webhooks } = object as { webhooks?: { clientConfig: { service: { path: string } } }[] };
    await client.create({ ...object, ...(webhooks && { webhooks: webhooks.map(called) }) } as unknown as JsonObject);
  }
  return { flags: [`--webhook-bind-addr=127.0.0.1:${port}`, `--webhook-url=${url}`] };
};
