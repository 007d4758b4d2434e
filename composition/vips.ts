import type { LegacyKinds } from '../actors/ports/migration.ts';
import { CONTROLLERS, type Options } from '../adapters/cli/options.ts';
import { KubernetesMigrationWriter } from '../adapters/kubernetes/migration-writer.ts';
import { type Surroundings, TIMINGS } from '../adapters/kubernetes/reflector.ts';
import { KubernetesVipSource } from '../adapters/kubernetes/vip-source.ts';
import { KubernetesVipWriter } from '../adapters/kubernetes/vip-writer.ts';
import { KubernetesVirtualIPSource } from '../adapters/kubernetes/virtual-ip-source.ts';
import { type Admission, type AdmissionContext, startAdmission } from './admission.ts';

export interface VipsContext extends AdmissionContext {
  /** Told when IPGroups are served, and when they are not any more. */
  readonly served: (served: boolean) => void;
}

export interface VipParts {
  readonly source: KubernetesVipSource;
  readonly writer: KubernetesVipWriter;
  /** VirtualIPs, and what is done about them once their kind is served. */
  readonly virtualIPs: LegacyKinds;
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
  const world: Surroundings = { connection, clock, log, random: Math.random, timings: TIMINGS };
  const source = new KubernetesVipSource({
    ...world,
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
    virtualIPs: { source: new KubernetesVirtualIPSource(world), writer: new KubernetesMigrationWriter(connection) },
    hindrance: () => hindrance(),
    close: async () => {
      await (await admission)?.close();
    },
  };
}
