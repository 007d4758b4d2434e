import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import { type AdmissionMode, type AdmissionWish, modeOf, namesOf, type PoliciesInCluster } from '../adapters/admission/mode.ts';
import { CONFIGURATION, IP_PATH, SECRET, VIRTUAL_IP_PATH } from '../adapters/admission/names.ts';
import type { Options } from '../adapters/cli/options.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import type { KeptConfig } from '../adapters/kubernetes/client/kube-config.ts';
import { ownUser } from '../adapters/kubernetes/client/own-user.ts';
import { isPolicyBound, servesPolicies } from '../adapters/kubernetes/writer/admission-policies.ts';
import { certificateSecret, webhookConfiguration } from '../adapters/kubernetes/writer/webhook-registration.ts';
import { parseBindAddress } from '../adapters/telemetry/bind-address.ts';
import type { Redaction } from '../adapters/telemetry/redaction.ts';
import { admitIP, admitVirtualIP } from '../machines/migration/admission.ts';
import { untilAnswered } from './until-answered.ts';

/** The policy for IPs in deploy/vip-admission-policies.yaml; its other one concerns VirtualIPs, which need not exist. */
const IP_POLICY = 'ips.paas.org';

export interface AdmissionContext {
  readonly config: KeptConfig;
  readonly connection: Connection;
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Redaction;
  readonly stopping: Promise<void>;
}

export interface Admission {
  readonly mode: AdmissionMode;
  /** Why writes of IPs cannot be validated here, for /readyz; null when they can, or when others validate them. */
  readonly hindrance: () => string | null;
  readonly close: () => Promise<void>;
}

const NONE = { hindrance: () => null, close: async () => undefined };

/** Validates writes of IPs and VirtualIPs in the requested mode. Never throws: a failure is logged and reported as `hindrance`. */
export async function startAdmission(options: Options, context: AdmissionContext): Promise<Admission> {
  const wish = {
    asked: options.admission,
    ...(options.webhookService !== undefined && { service: options.webhookService }),
    ...(options.webhookUrl !== undefined && { url: options.webhookUrl }),
  };
  const mode = modeOf(wish, wish.asked === 'auto' ? await policiesIn(context) : 'unserved');
  try {
    return { mode, ...(await begun(mode, wish, options, context)) };
  } catch (error) {
    const hindrance = error instanceof Error ? error.message : String(error);
    context.log.error('nobody judges who writes IPs', { error: hindrance });
    return { mode, ...NONE, hindrance: () => hindrance };
  }
}

/** @throws Error when the webhook cannot listen, or its URL is invalid */
async function begun(
  mode: AdmissionMode,
  wish: AdmissionWish,
  options: Options,
  context: AdmissionContext,
): Promise<Omit<Admission, 'mode'>> {
  const { connection, log } = context;
  switch (mode) {
    case 'off':
      if (wish.asked === 'auto') {
        log.warn('nobody judges who writes IPs: this cluster evaluates no ValidatingAdmissionPolicies, and no --webhook-service is named');
      }
      return NONE;
    case 'policy':
      await checkPolicies(connection, log);
      return NONE;
    case 'webhook':
      return webhook(options, namesOf(wish, context.namespace), context);
  }
}

async function webhook(
  options: Options,
  names: readonly string[],
  { config, connection, namespace, clock, log, secrets }: AdmissionContext,
): Promise<Omit<Admission, 'mode'>> {
  // Certificate libraries are large, and rarely needed.
  const { keepCertificates } = await import('../adapters/admission/keeper.ts');
  const { startWebhook } = await import('../adapters/admission/server.ts');
  const operator = ownUser(config, connection);
  const served = await startWebhook({
    bind: parseBindAddress(options.webhookBindAddr),
    rules: {
      [IP_PATH]: { resource: 'ips', decide: async (facts) => admitIP(facts, await operator()) },
      [VIRTUAL_IP_PATH]: { resource: 'virtualips', decide: admitVirtualIP },
    },
    log,
  });
  log.info('serves the admission webhook', { url: served.url, names });
  const keeper = keepCertificates({
    store: certificateSecret(connection, { namespace, name: SECRET }),
    registration: webhookConfiguration(connection, CONFIGURATION, operator),
    names,
    clock,
    log,
    use: served.use,
    hide: (key) => secrets.add({ text: key, what: 'private key of the webhook' }),
  });
  return {
    hindrance: () => keeper.hindrance(),
    close: () => {
      keeper.close();
      return served.close();
    },
  };
}

/** Checked once: a cluster upgrade restarts the Pods. Waits for the API server without limit, until the operator is stopping. */
async function policiesIn({ connection, clock, log, stopping }: AdmissionContext): Promise<PoliciesInCluster> {
  const failed = (error: unknown, attempt: number): void =>
    log.warn('cannot tell yet whether the cluster evaluates ValidatingAdmissionPolicies', { attempt, error: String(error) });
  const ask = async (): Promise<PoliciesInCluster> => {
    if (!(await servesPolicies(connection))) return 'unserved';
    return (await isPolicyBound(connection, IP_POLICY)) === false ? 'unbound' : 'bound';
  };
  return (await untilAnswered(ask, { clock, stopping, failed })) ?? 'unserved';
}

async function checkPolicies(connection: Connection, log: Log): Promise<void> {
  try {
    const bound = await isPolicyBound(connection, IP_POLICY);
    if (bound === null)
      log.info('may not look whether the policy about IPs is installed', { object: `ValidatingAdmissionPolicy ${IP_POLICY}` });
    if (bound === false)
      log.warn('nobody judges who writes IPs: apply deploy/vip-admission-policies.yaml', {
        object: `ValidatingAdmissionPolicy ${IP_POLICY}`,
      });
  } catch (error) {
    log.warn('cannot tell whether writes of IPs are judged', { object: `ValidatingAdmissionPolicy ${IP_POLICY}`, error: String(error) });
  }
}
