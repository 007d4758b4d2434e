import type { LegacyKinds, VirtualIPSource } from '../actors/ports/migration.ts';
import type { VipSource } from '../actors/ports/vip.ts';
import { CONTROLLERS, type Options } from '../adapters/cli/options.ts';
import { type Surroundings, TIMINGS } from '../adapters/kubernetes/cache/reflector.ts';
import { messageOf } from '../adapters/kubernetes/client/api-error.ts';
import { withRefusals } from '../adapters/kubernetes/client/forbidden.ts';
import { OtherLease, whileHeld } from '../adapters/kubernetes/election/foreign-lease.ts';
import { KubernetesVipSource } from '../adapters/kubernetes/source/vip-source.ts';
import { KubernetesVirtualIPSource } from '../adapters/kubernetes/source/virtual-ip-source.ts';
import { KubernetesMigrationWriter } from '../adapters/kubernetes/writer/migration-writer.ts';
import { KubernetesVipWriter } from '../adapters/kubernetes/writer/vip-writer.ts';
import { type Admission, type AdmissionContext, startAdmission } from './admission.ts';
import { otherController } from './other-controller.ts';

export interface VipsContext extends AdmissionContext {
  /** Notified when IPGroups are served, and when they no longer are. */
  readonly served: (served: boolean) => void;
}

export interface VipParts {
  readonly source: VipSource & Pick<KubernetesVipSource, 'missing'>;
  readonly writer: KubernetesVipWriter;
  /** VirtualIPs, and their migration once their kind is served. */
  readonly virtualIPs: LegacyKinds;
  /** False while another allocator has the Lease that the flags name. */
  readonly mayAct: () => boolean;
  /** Rejects when another allocator has taken it since. */
  readonly lost: Promise<never> | null;
  /** Why writes of IPs are not validated as required; null when they are. */
  readonly hindrance: () => string | null;
  /** A permission that was recently denied; null for none. */
  readonly forbidden: () => string | null;
  /** Which other controller may serve the same Services, and what to do about it, once there is an IPGroup; null for none. */
  readonly notice: () => string | null;
  readonly close: () => Promise<void>;
}

/** Services with IPGroup addresses; null when they were disabled. Nothing is done before a cluster serves IPGroups. */
export function vips(options: Options, context: VipsContext): VipParts | null {
  const { controllers = CONTROLLERS, loadBalancerClass = null, loadBalancerClassOnly: classOnly = false } = options;
  if (!controllers.includes('vip')) return null;
  const served = { loadBalancerClass, classOnly };
  const { connection: direct, clock, log } = context;
  const lease = otherLease(options, context);
  const looked = lease?.start();
  const connection = withRefusals(lease ? whileHeld(direct, lease) : direct, clock);
  let admission: Promise<Admission> | null = null;
  let others: (() => string | null) | null = null;
  let hindrance: Admission['hindrance'] = () => null;
  const world: Surroundings = { connection, clock, log, random: Math.random, timings: TIMINGS };
  const source = new KubernetesVipSource({
    ...world,
    ...served,
    served: (isServed) => {
      context.served(isServed);
      // If the definitions are installed later, the webhook starts then: nothing else needs one.
      if (isServed) admission ??= begin();
      if (isServed && !classOnly) others ??= otherController(context);
    },
  });
  const begin = async (): Promise<Admission> => {
    hindrance = () => 'it is not known yet who judges who writes IPs';
    const begun = await startAdmission(options, context);
    ({ hindrance } = begun);
    log.info('serves Services of type LoadBalancer', { admission: begun.mode });
    return begun;
  };
  /** Begins once the Lease is held; callers wait only if it already is. */
  const whenHeld = async (begin: () => Promise<void>): Promise<void> => {
    await looked;
    const begun = lease?.held.then(begin) ?? begin();
    if (lease?.isHeld() ?? true) await begun;
    else begun.catch((error: unknown) => log.error('Services could not be looked at', { error: messageOf(error) }));
  };
  const legacy = new KubernetesVirtualIPSource(world);
  return {
    mayAct: () => lease?.isHeld() ?? true,
    lost: lease?.lost ?? null,
    source: {
      start: (listener) => whenHeld(() => source.start(listener)),
      resync: () => source.resync(),
      renew: () => source.renew(),
      close: () => source.close(),
      missing: () => {
        const refused = lease?.hindrance() ?? null;
        if (refused !== null) return [refused];
        return (lease?.isHeld() ?? true) ? source.missing() : [];
      },
    },
    writer: new KubernetesVipWriter({ connection, clock, ...served }),
    virtualIPs: {
      source: {
        start: (listener) => whenHeld(() => legacy.start(listener)),
        resync: () => legacy.resync(),
        close: () => legacy.close(),
      } satisfies VirtualIPSource,
      writer: new KubernetesMigrationWriter(connection),
    },
    hindrance: () => hindrance(),
    forbidden: () => connection.forbidden(),
    notice: () => (source.hasGroups ? (others?.() ?? null) : null),
    close: async () => {
      lease?.stop();
      await (await admission)?.close();
    },
  };
}

/** The Lease of the allocator to replace; null when there is none. */
function otherLease(options: Options, { connection, namespace, clock, log }: VipsContext): OtherLease | null {
  const { vipLease, leaseDuration: durationMs, renewDeadline: renewDeadlineMs, retryPeriod: retryMs } = options;
  if (!vipLease) return null;
  const timings = { durationMs, renewDeadlineMs, retryMs };
  const identity = `routedip-operator_${namespace}`;
  return new OtherLease({ connection, lease: vipLease, identity, clock, log, random: Math.random, timings });
}
