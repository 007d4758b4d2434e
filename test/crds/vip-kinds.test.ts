import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { applyFile } from '../support/kube-apply.ts';
import { sendTo } from '../support/simulated.ts';
import { describeVipKinds } from '../support/vip-suite.ts';

const CRDS = ['ipgroups', 'ips', 'legacy/virtualips', 'legacy/groupsegmentmappings'];
const crd = (name: string): string => join(import.meta.dirname, `../../crds/${name}.yaml`);

let simulator: KubernetesSimulator;

const send = sendTo(() => simulator.url);

beforeAll(async () => {
  simulator = await startKubernetes({ crds: CRDS.map(crd) });
  await applyFile({ send }, join(import.meta.dirname, '../../crds/samples/vip/namespace.yaml'));
});

afterAll(() => simulator?.close());

describeVipKinds(() => ({ send }));

// Old servers that were built with a newer Go take an empty text for none at all.
test('an IPGroup of an empty segment is accepted', async () => {
  const body = { apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: 'empty' }, spec: { segment: '', excludedIPs: [''] } };
  expect((await send('/apis/paas.org/v1/ipgroups', { method: 'POST', body })).status).toBe(201);
});
