import type { RoutedIPSubject } from '../../machines/model/firewall-policy.ts';
import type { NodeRef, ProviderID } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { JobAction, JobRequest } from '../ports/job-driver.ts';
import type { JobContext } from './job.ts';

/** The contract's variables; those that a request does not set are empty. */
type Env = Record<
  | `ROUTEDIP_${'NAMESPACE' | 'NAME' | 'UID' | 'ADDRESS' | 'REGION' | 'RECLAIM_POLICY'}`
  | `ROUTEDIP_${'' | 'PREVIOUS_'}NODE${'' | '_PROVIDER_ID' | '_INSTANCE_ID'}`
  | `ROUTEDIP_${'SERVICE_NAMESPACE' | 'SERVICE_NAME' | 'FIREWALL' | 'PORTS' | 'ATTEMPT'}`,
  string
>;

/** What a chart may add about a try. */
interface Counted {
  /** The number of this try in a row of tries, from 1. */
  readonly attempt?: number;
}

type About = Pick<JobContext<'find' | 'assign' | 'create' | 'release'>, 'input' | 'command'>;

/** The machine's name in the cloud: `123` of `digitalocean://123`, `i-0abc` of `aws:///us-east-1a/i-0abc`. */
export const instanceOf = (providerID: ProviderID): string => providerID.slice(providerID.lastIndexOf('/') + 1);

const nodeEnv = <P extends '' | 'PREVIOUS_'>(prefix: P, node: NodeRef | null) =>
  ({
    [`ROUTEDIP_${prefix}NODE`]: node?.name ?? '',
    [`ROUTEDIP_${prefix}NODE_PROVIDER_ID`]: node?.providerID ?? '',
    [`ROUTEDIP_${prefix}NODE_INSTANCE_ID`]: node ? instanceOf(node.providerID) : '',
  }) as Pick<Env, `ROUTEDIP_${P}NODE${'' | '_PROVIDER_ID' | '_INSTANCE_ID'}`>;

/** The request for a Job of `updateRoutedIP`. @throws ProviderError when the input has no subject */
export function addressRequest(
  { input, command }: About,
  action: JobAction,
  {
    address = '',
    node = null,
    attempt = command,
  }: { readonly address?: string; readonly node?: NodeRef | null; readonly attempt?: string },
): JobRequest {
  const subject: (RoutedIPSubject & Counted) | undefined = input.subject;
  if (!subject) throw new ProviderError('Unsupported', `${action}: the Jobs of ${input.provider} work for RoutedIPs only`);
  const { namespace, name, uid, epoch } = subject;
  const env: Env = {
    ROUTEDIP_NAMESPACE: namespace,
    ROUTEDIP_NAME: name,
    ROUTEDIP_UID: uid,
    ROUTEDIP_ADDRESS: address,
    ROUTEDIP_REGION: subject.region,
    ROUTEDIP_RECLAIM_POLICY: subject.reclaimPolicy,
    ...nodeEnv('', node),
    ...nodeEnv('PREVIOUS_', subject.previous),
    ROUTEDIP_SERVICE_NAMESPACE: subject.serviceNamespace,
    ROUTEDIP_SERVICE_NAME: subject.serviceName,
    ROUTEDIP_FIREWALL: subject.firewall,
    ROUTEDIP_PORTS: subject.ports.join(','),
    ROUTEDIP_ATTEMPT: String(subject.attempt ?? 1),
  };
  return { purpose: 'updateRoutedIP', action, subject: uid, routedIP: { namespace, name, uid }, env, request: null, epoch, attempt };
}

/** The request for a Job of `updateFirewall`, which works for all that share the firewall. */
export function firewallRequest(
  { input, command }: Pick<JobContext<'openFirewall' | 'prune'>, 'input' | 'command'>,
  action: 'open' | 'prune',
  request: JobRequest['request'],
): JobRequest {
  const { attempt }: Counted = input as Counted;
  const env: Env = {
    ROUTEDIP_NAMESPACE: '',
    ROUTEDIP_NAME: '',
    ROUTEDIP_UID: '',
    ROUTEDIP_ADDRESS: '',
    ROUTEDIP_REGION: '',
    ROUTEDIP_RECLAIM_POLICY: '',
    ...nodeEnv('', null),
    ...nodeEnv('PREVIOUS_', null),
    ROUTEDIP_SERVICE_NAMESPACE: '',
    ROUTEDIP_SERVICE_NAME: '',
    ROUTEDIP_FIREWALL: input.firewall,
    ROUTEDIP_PORTS: '',
    ROUTEDIP_ATTEMPT: String(attempt ?? 1),
  };
  const subject = `${input.provider}/${input.firewall}`;
  return { purpose: 'updateFirewall', action, subject, routedIP: null, env, request, epoch: 0, attempt: command };
}
