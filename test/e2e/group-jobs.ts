import { KubeClientError } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { GROUP } from './routed.ts';
import type { Stage } from './stage.ts';

const JOBS = 'routedip-operator';

const TEMPLATE: JsonObject = {
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'registry.example/shell:1' }] } },
};

/** A class whose Jobs assign addresses of the IPGroup `edge`. */
export const GROUP_CLASS: JsonObject = {
  apiVersion: GROUP,
  kind: 'ClusterRoutedIPClass',
  metadata: { name: 'http' },
  spec: {
    className: 'example.com/http',
    region: 'nyc3',
    nodePortRange: '31000-32767',
    perNodeIPLimit: 10,
    routedIPReclaimPolicy: 'Delete',
    ipGroup: 'edge',
    updateRoutedIP: TEMPLATE,
  },
};

interface JobObject {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly status?: { readonly conditions?: readonly unknown[] };
}

/** Has each Job of the class end well, since nothing runs here; answers their actions. A Job ends by this alone, so none is missed. */
export async function runJobs({ target }: Stage): Promise<readonly string[]> {
  const jobs = (await target.client.list('batch/v1', 'Job', { namespace: JOBS })) as unknown as readonly JobObject[];
  for (const { metadata, status } of jobs.filter((job) => !job.status?.conditions?.length)) {
    // As the Job controller writes it, which the server insists on.
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' }));
    const at = `${new Date().toISOString().slice(0, 19)}Z`;
    const ended = { ...status, startTime: at, completionTime: at, succeeded: 1, conditions };
    const ref = { apiVersion: 'batch/v1', kind: 'Job', namespace: JOBS, name: metadata.name };
    await target.client
      .patch(ref, { status: ended } as unknown as JsonObject, { subresource: 'status' })
      // It may have been cleared meanwhile.
      .catch((error: unknown) => {
        if (!(error instanceof KubeClientError && error.code === 404)) throw error;
      });
  }
  return jobs.map(({ metadata }) => metadata.labels?.['routedip.io/action'] ?? '');
}
