import { readdirSync, readFileSync } from 'node:fs';
import type { KubeObject } from '../../simulator/kubernetes/objects.ts';
import { NAMESPACE, type NodeStage } from './stage.ts';

/** A Pod as far as tests look at it. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly containers: readonly { readonly image: string; readonly resources?: { readonly limits?: { readonly memory?: string } } }[];
  };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly lastTransitionTime: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state: {
    readonly waiting?: { readonly reason: string; readonly message?: string };
    readonly terminated?: { readonly exitCode: number; readonly finishedAt: string };
  };
}

export const OPERATOR = 'app.kubernetes.io/name=routedip-operator';
export const REDIS = 'app.kubernetes.io/name=routedip-operator-redis';
const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'floating-ip-pool-controller-leader-election' };

/** Those that are not being deleted. */
export async function podsOf({ client }: NodeStage, selector: string, namespace = NAMESPACE): Promise<readonly Pod[]> {
  const all = (await client.list('v1', 'Pod', { namespace, selector })) as unknown as readonly Pod[];
  return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false;

/** Seconds from a Pod's creation to its being Ready, by the API server's clock, which counts whole ones. */
export function secondsToReady({ metadata, status }: Pod): number {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return (Date.parse(ready?.lastTransitionTime ?? '') - Date.parse(metadata.creationTimestamp)) / 1_000;
}

/** The replica that has the Lease and runs; null while none does. */
export async function leader(stage: NodeStage, namespace = NAMESPACE): Promise<Pod | null> {
  const lease = (await stage.client.get({ ...LEASE, namespace }).catch(() => null)) as KubeObject | null;
  const holder = (lease?.spec as { readonly holderIdentity?: string } | undefined)?.holderIdentity ?? '';
  return (await podsOf(stage, OPERATOR, namespace)).find(({ metadata }) => holder.startsWith(metadata.name)) ?? null;
}

/** @throws Error when nobody leads within the stage's deadline */
export async function untilLed(stage: NodeStage, namespace = NAMESPACE): Promise<Pod> {
  let found: Pod | null = null;
  await stage.until('a replica leads', async () => {
    found = await leader(stage, namespace);
    return found !== null;
  });
  if (found === null) throw new Error('nobody leads');
  return found;
}

/** Numbers of the processes of a Pod that the machine runs, by the kernel's record of their cgroup, those that hold its namespaces not among them. */
export function processesOf({ metadata }: Pod): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = pids.filter((pid) => textOf(`/proc/${pid}/cgroup`).includes(`pod${metadata.uid}`));
  return found.filter((pid) => textOf(`/proc/${pid}/comm`).trim() !== 'pause').map(Number);
}

/** '' for what has ended meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
