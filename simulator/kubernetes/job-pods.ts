import { at, isObject, type JsonObject, type KubeObject, timestamp } from './objects.ts';

/** The Pod that a Job controller makes for a Job. Without a node nobody has scheduled it. */
export const podOf = (job: KubeObject, name: string, node: string | null): JsonObject => {
  const template = at(job, 'spec', 'template');
  const metadata = at(template, 'metadata');
  const spec = at(template, 'spec');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(isObject(metadata) ? metadata : {}),
      name,
      namespace: job.metadata.namespace ?? 'default',
      ownerReferences: [
        {
          apiVersion: 'batch/v1',
          kind: 'Job',
          name: job.metadata.name ?? '',
          uid: job.metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { ...(isObject(spec) ? spec : {}), ...(node === null ? {} : { nodeName: node }) },
  };
};

/** What the Job controller tells of a Pod that it could not make. */
export const refusedEvent = ({ metadata }: KubeObject, why: string): JsonObject => {
  const { namespace = 'default', name = '', uid = '' } = metadata;
  const now = timestamp(Date.now());
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: `${name}.`, namespace },
    involvedObject: { apiVersion: 'batch/v1', kind: 'Job', namespace, name, uid },
    type: 'Warning',
    reason: 'FailedCreate',
    message: `Error creating: pods "${name}-" is forbidden: ${why}`,
    source: { component: 'job-controller' },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
};

const containersOf = (pod: KubeObject): JsonObject[] => {
  const containers = at(pod, 'spec', 'containers');
  return (Array.isArray(containers) ? containers : []).filter(isObject);
};

const statuses = (pod: KubeObject, ready: boolean, state: JsonObject): JsonObject[] =>
  containersOf(pod).map(({ name, image }) => ({
    name: name ?? '',
    image: image ?? '',
    imageID: '',
    ready,
    restartCount: 0,
    started: ready,
    state,
  }));

const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: timestamp(Date.now()),
});

export const unscheduledStatus = (): JsonObject => ({
  phase: 'Pending',
  conditions: [condition('PodScheduled', 'False', 'Unschedulable', '0/1 nodes are available: 1 Insufficient cpu.')],
});

export const pullingStatus = (pod: KubeObject): JsonObject => {
  const image = String(containersOf(pod)[0]?.image ?? '');
  const waiting = { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` };
  return { phase: 'Pending', containerStatuses: statuses(pod, false, { waiting }) };
};

export const runningStatus = (pod: KubeObject): JsonObject => ({
  phase: 'Running',
  startTime: timestamp(Date.now()),
  containerStatuses: statuses(pod, true, { running: { startedAt: timestamp(Date.now()) } }),
});

/** As the kubelet cuts it off, bytes. */
const LONGEST_MESSAGE = 4096;

export const endedStatus = (pod: KubeObject, exitCode: number, message: string): JsonObject => {
  const now = timestamp(Date.now());
  const terminated = {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    ...(message === '' ? {} : { message: Buffer.from(filled(message, pod)).subarray(0, LONGEST_MESSAGE).toString() }),
    startedAt: now,
    finishedAt: now,
  };
  return { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses: statuses(pod, false, { terminated }) };
};

/** `$(NAME)` is what the environment of the first container says. */
const filled = (text: string, pod: KubeObject): string => {
  const env = at(containersOf(pod)[0], 'env');
  const values = new Map((Array.isArray(env) ? env : []).map((entry) => [at(entry, 'name'), at(entry, 'value')]));
  return text.replaceAll(/\$\(([A-Z0-9_]+)\)/g, (_, name: string) => String(values.get(name) ?? ''));
};
