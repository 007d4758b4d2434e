import type { PoolObject } from '../actors/ports/cluster.ts';
import type { Clock, Json } from '../actors/ports/records.ts';
import { memoryVipCluster } from '../adapters/memory/vip-cluster.ts';
import type { ProcessVips } from '../adapters/memory/vip-process.ts';
import * as ipGroups from '../crds/generated/ipgroup.ts';
import * as routedIPs from '../crds/generated/routedip.ts';
import { asOwner, type ReservedIP, VIP_FINALIZER, type VipService } from '../machines/vip/objects.ts';
import { MIGRATING_ANNOTATION } from '../machines/vip/virtualip.ts';
import { SERVICE } from './manifest.ts';
import { keyOf, type VipScene, type Wish } from './stage.ts';

/** IPGroups and their users, in a rehearsal. */
interface Vips {
  /** The object with this uid has the other one in the rehearsal. */
  isNow(uid: string, rehearsed: string): void;
  /** Creates the IPs; call once every object has its uid. */
  open(): ProcessVips;
  /** Returns false for kinds that it does not handle. */
  apply(change: Wish): boolean;
  allocated(): ReadonlyMap<string, string>;
}

export function stageVips(clock: Clock, scene: VipScene, poolOf: (key: string) => PoolObject | null): Vips {
  const cluster = memoryVipCluster({
    clock,
    loadBalancerClass: scene.loadBalancerClass,
    routedIP: (place) => {
      const pool = poolOf(keyOf({ ...place, kind: routedIPs.KIND }));
      return pool && asOwner(pool);
    },
  });
  const uids = new Map<string, string>();
  const put = (service: VipService): void => {
    const { ref, wanting, guarded, deleting, migrating, createdAt, loadBalancerIP, requestedIP, pinnedGroup, family } = service;
    const { namespace, name } = ref;
    const wish = { type: wanting ? 'LoadBalancer' : 'ClusterIP', createdAt, loadBalancerIP, requestedIP, pinnedGroup, family };
    const more = migrating === undefined ? {} : { more: { annotations: { [MIGRATING_ANNOTATION]: migrating } } };
    const isNew = cluster.service(namespace, name) === null;
    const made = cluster.setService({ namespace, name, ...wish, ...more });
    if (!isNew) return;
    uids.set(ref.uid, made.uid);
    if (guarded) cluster.setFinalizers(made, [VIP_FINALIZER]);
    listed(made, service);
    if (deleting) cluster.deleteService(made);
  };
  /** Its status, and who wrote that. */
  const listed = (made: VipService['ref'], { ingress, by, contended }: VipService): void => {
    if (ingress.length > 0) cluster.setIngress(made, ingress, by === undefined ? {} : { by });
    if (contended !== undefined) cluster.setContended(made, contended);
  };
  for (const { name, spec } of scene.groups) cluster.setGroup(name, (spec ?? null) as Json);
  for (const service of scene.services) put(service);
  const rehearsed = ({ uid: _, address: __, owner, ...ip }: ReservedIP) => ({
    ...ip,
    owner: owner && { ...owner, uid: owner.uid === null ? null : (uids.get(owner.uid) ?? owner.uid) },
  });
  return {
    isNow: (uid, now) => void uids.set(uid, now),
    open: () => {
      for (const ip of scene.ips) cluster.setIP(rehearsed(ip));
      return cluster.process();
    },
    apply: ({ kind, namespace, name, spec }) => {
      if (kind === ipGroups.KIND) cluster.setGroup(name, spec);
      else if (kind === SERVICE) {
        const wanted = scene.applied.find(({ ref }) => ref.namespace === namespace && ref.name === name);
        if (wanted) put(wanted);
      } else return false;
      return true;
    },
    allocated: () => allocatedIn(cluster.services(), cluster.ips()),
  };
}

/** Which object has which address. A listed address may be unreserved, and a reserved one unlisted: what a Service lists decides. */
export const allocatedIn = (
  services: readonly Pick<VipService, 'ref' | 'ingress'>[],
  ips: readonly ReservedIP[],
): ReadonlyMap<string, string> =>
  new Map([
    ...services.flatMap(({ ref, ingress }) => ingress.flatMap(({ ip }): [string, string][] => (ip ? [[ip, keyOf(ref)]] : []))),
    ...ips.flatMap(({ address, owner, reclaim }): [string, string][] =>
      owner && reclaim ? [[address, keyOf({ ...owner, kind: routedIPs.KIND })]] : [],
    ),
  ]);
