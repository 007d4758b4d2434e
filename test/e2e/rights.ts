import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import type { Target } from './target.ts';

const ROLE: ClientRef = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'routedip-operator' };

interface Rule {
  readonly resources?: readonly string[];
}

/** Takes from the operator the right to do anything with these resources, by their plural names; what it answers gives it back. The simulator, which has
 *  no RBAC, refuses its lists: watches that are open go on there. */
export async function forbid({ client, simulator, cluster }: Target, ...plurals: readonly string[]): Promise<() => Promise<void>> {
  if (simulator) {
    for (const plural of plurals) simulator.faults.failLists(plural, 1_000_000, 403);
    return async () => simulator.faults.clear();
  }
  for (const plural of plurals) cluster?.forbidden.add(plural);
  const { rules = [] } = (await client.get(ROLE)) as unknown as { readonly rules?: readonly Rule[] };
  const isLeft = (resource: string): boolean => !plurals.includes(resource.split('/')[0] ?? '');
  const rest = rules
    .map((rule) => (rule.resources ? { ...rule, resources: rule.resources.filter(isLeft) } : rule))
    .filter(({ resources }) => resources === undefined || resources.length > 0);
  await client.patch(ROLE, { rules: rest as unknown as JsonObject[] });
  return async () => void (await client.patch(ROLE, { rules: rules as unknown as JsonObject[] }));
}
