import { CONTROLLERS, type Options } from '../adapters/cli/options.ts';
import { TIMINGS } from '../adapters/kubernetes/reflector.ts';
import { KubernetesVipSource } from '../adapters/kubernetes/vip-source.ts';
import { KubernetesVipWriter } from '../adapters/kubernetes/vip-writer.ts';
import { type Admission, type AdmissionContext, startAdmission } from './admission.ts';

export interface VipsContext extends AdmissionContext {
  /** Told when IPGroups are served, and when they are not any more. */
  readonly served: (served: boolean) => void;
}

export interface VipParts {
  readonly source: KubernetesVipSource;
  readonly writer: KubernetesVipWriter;
  /** Why writes of IPs are not judged as they are to be; null when they are. */
  readonly hindrance: () => string | null;
  readonly close: () => Promise<void>;
}

/** Services with addresses of IPGroups; null when they were left out. Nothing is done before a cluster serves IPGroups. */
export function vips(options: Options, context: VipsContext): VipParts | null {
  const { controllers = CONTROLLERS, loadBalancerClass = null } = options;
  if (!controllers.includes('vip')) return null;
  const { connection, clock, log } = context;
  let admission: Promise<Admission> | null = null;
  let hindrance: Admission['hindrance'] = () => null;
  const source = new KubernetesVipSource({
    connection,
    clock,
    log,
    random: Math.random,
    timings: TIMINGS,
    loadBalancerClass,
    served: (served) => {
      context.served(served);
      // Who installs the definitions later has the webhook then: nobody else needs one.
      if (served) admission ??= begin();
    },
  });
  const begin = async (): Promise<Admission> => {
    const begun = await startAdmission(options, context);
    ({ hindrance } = begun);
    log.info('serves Services of type LoadBalancer', { admission: begun.mode });
    return begun;
  };
  return {
    source,
    writer: new KubernetesVipWriter({ connection, loadBalancerClass }),
    hindrance: () => hindrance(),
    close: async () => {
      await (await admission)?.close();
    },
  };
}
