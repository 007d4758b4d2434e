import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { describeRoutedIPKinds } from '../support/routedip-suite.ts';
import { sendTo } from '../support/simulated.ts';

const CRDS = ['routedips', 'routedipissuers', 'clusterroutedipclasses', 'ipgroups'].map((name) =>
  join(import.meta.dirname, `../../crds/${name}.yaml`),
);

let simulator: KubernetesSimulator;

beforeAll(async () => {
  simulator = await startKubernetes({ crds: CRDS });
});

afterAll(() => simulator?.close());

const send = sendTo(() => simulator.url);

describeRoutedIPKinds(() => ({ send }));
