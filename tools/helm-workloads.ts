import { parse } from 'yaml';
import { manifestText } from './manifests.ts';

export interface Workload {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: object;
    readonly template: { readonly spec: { readonly containers: readonly [Container]; readonly initContainers?: readonly Container[] } };
    readonly volumeClaimTemplates?: readonly {
      readonly spec: { readonly resources: { readonly requests: { readonly storage: string } } };
    }[];
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly object[];
  readonly resources: object;
}

/** The operator's Deployment and the StatefulSet of Redis, from which the chart takes its defaults. */
export const workloads = (): { readonly operator: Workload; readonly redis: Workload } => {
  const operator: Workload = parse(manifestText('operator.yaml'));
  const redis = manifestText('redis.yaml')
    .split('\n---\n')
    .map((text): Workload & { readonly kind: string } => parse(text))
    .find(({ kind }) => kind === 'StatefulSet');
  if (!redis) throw new Error('deploy/redis.yaml has no StatefulSet');
  return { operator, redis };
};

export const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0];
