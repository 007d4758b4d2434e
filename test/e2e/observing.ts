import { hostname } from 'node:os';
import { expect } from 'vitest';
import type { Difference } from '../../machines/model/types.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import type { Operator } from '../support/operator.ts';
import type { Stage } from './stage.ts';
import type { Target } from './target.ts';

export const OBSERVER_NAMESPACE = 'routedip-observer';
const FLAGS = ['--observe', `--namespace=${OBSERVER_NAMESPACE}`, '--dashboard-bind-addr=127.0.0.1:0', '--journal-bind-addr=127.0.0.1:0'];

/** One that only observes, under its own roles, in a Pod of its own. */
export async function observe(stage: Stage): Promise<Operator> {
  const kubeconfig = await stage.target.observerKubeconfig();
  await stage.target.client.create(OWN_POD).catch((error: unknown) => expect(String(error)).toContain('already exists'));
  return stage.start({ kubeconfig, flags: FLAGS, env: { KUBERNETES_SERVICE_HOST: '127.0.0.1' } });
}

/** As its namespace enforces it. */
const OWN_POD: JsonObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: hostname(), namespace: OBSERVER_NAMESPACE },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ name: 'operator', image: 'x', securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }],
  },
};

export const OWN_CONDITION = `PATCH /api/v1/namespaces/${OBSERVER_NAMESPACE}/pods/${hostname()}/status`;

/** What the Pod says of its operator. */
export async function conditionOfPod({ client }: Target): Promise<unknown> {
  const { status } = await client.get({ apiVersion: 'v1', kind: 'Pod', namespace: OBSERVER_NAMESPACE, name: hostname() });
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  return conditions.find(({ type }) => type === 'routedip.io/ObserveOnly')?.status;
}

export const served = (operator: Operator, what: string): string =>
  String(operator.log.find(({ msg }) => msg === `serves the ${what}`)?.url ?? '');

/** What it would do, by its dashboard. */
export async function planOf(operator: Operator): Promise<readonly Difference[]> {
  const url = served(operator, 'dashboard');
  if (url === '') return [];
  const answer = await fetch(`${url}/api/plan`);
  return ((await answer.json()) as { readonly differences: readonly Difference[] }).differences;
}

/** In the order of a dictionary: what is decided at once is in none. */
export const rows = (plan: readonly Difference[]): readonly string[] =>
  plan.map(({ what, subject, from, to }) => `${what} ${subject}: ${from ?? '-'} > ${to ?? '-'}`).sort();

/** Resolves once it would do exactly this. */
export async function plans(stage: Stage, operator: Operator, wanted: readonly (RegExp | string)[]): Promise<void> {
  let last: readonly string[] = [];
  const isRow = (row: string, each: RegExp | string): boolean => (typeof each === 'string' ? row === each : each.test(row));
  const isWanted = async (): Promise<boolean> => {
    last = rows(await planOf(operator));
    return last.length === wanted.length && wanted.every((each) => last.some((row) => isRow(row, each)));
  };
  await stage.until('it plans what is wanted', isWanted).catch((cause: unknown) => {
    throw new Error(`it plans\n${last.join('\n')}`, { cause });
  });
}
