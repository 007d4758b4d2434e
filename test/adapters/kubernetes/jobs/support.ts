import type { JobTemplates, SecretRef } from '../../../../actors/ports/directory.ts';
import type { Fence } from '../../../../actors/ports/fence.ts';
import type { JobRequest } from '../../../../actors/ports/job-driver.ts';
import type { Json } from '../../../../actors/ports/records.ts';

/** A JobSpec with one container; say what is different of the spec, of its Pods and of the container. */
export const jobSpec = ({
  spec = {},
  pod = {},
  container = {},
}: {
  readonly spec?: object;
  readonly pod?: object;
  readonly container?: object;
} = {}): Json =>
  JSON.parse(
    JSON.stringify({
      ...spec,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8', ...container }], ...pod } },
    }),
  );

export const templatesOf = (change: Partial<JobTemplates> = {}): JobTemplates => ({
  owner: { kind: 'ClusterRoutedIPClass', namespace: '', name: 'http', uid: 'uid-class' },
  className: 'example.com/http',
  namespace: 'jobs',
  updateRoutedIP: jobSpec(),
  updateFirewall: jobSpec(),
  ...change,
});

export const NO_SECRETS: readonly SecretRef[] = [];

/** An assign of an address to node a; say what is different. */
export const requestOf = (change: Partial<JobRequest> = {}): JobRequest => ({
  purpose: 'updateRoutedIP',
  action: 'assign',
  subject: 'uid-1',
  routedIP: { namespace: 'web', name: 'ingress', uid: 'uid-1' },
  env: { ROUTEDIP_ADDRESS: '192.0.2.10', ROUTEDIP_NODE: 'a', ROUTEDIP_NODE_PROVIDER_ID: 'example://7', ROUTEDIP_ATTEMPT: '1' },
  request: null,
  epoch: 3,
  attempt: 'try-1',
  ...change,
});

export const firewallRequestOf = (change: Partial<JobRequest> = {}): JobRequest =>
  requestOf({
    purpose: 'updateFirewall',
    action: 'open',
    subject: 'job.http/edge',
    routedIP: null,
    env: { ROUTEDIP_FIREWALL: 'edge' },
    ...change,
  });

/** Lets everything pass; counts how often it was asked. */
export const openFence = (): Fence & { asked: number } => {
  const fence = {
    asked: 0,
    read: async () => {
      fence.asked += 1;
    },
    assertFresh: () => undefined,
  };
  return fence;
};
