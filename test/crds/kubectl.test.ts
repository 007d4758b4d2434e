import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { describeKubectl } from '../support/kubectl-suite.ts';
import { sendTo } from '../support/simulated.ts';

const CRDS = join(import.meta.dirname, '../../crds');

let simulator: KubernetesSimulator;
let folder: string;

beforeAll(async () => {
  const files = readdirSync(CRDS).filter((name) => name.endsWith('.yaml'));
  simulator = await startKubernetes({ crds: files.map((name) => join(CRDS, name)) });
  folder = mkdtempSync(join(tmpdir(), 'kubectl-'));
  writeFileSync(join(folder, 'kubeconfig'), simulator.kubeconfig());
});

afterAll(async () => {
  await simulator?.close();
  if (folder) rmSync(folder, { recursive: true });
});

const send = sendTo(() => simulator.url);

describeKubectl(() => ({ send, kubeconfig: join(folder, 'kubeconfig') }));
