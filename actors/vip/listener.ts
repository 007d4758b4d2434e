import { vipActor, virtualIPActor } from '../../machines/model/actor-id.ts';
import type { VirtualIPListener } from '../ports/migration.ts';
import type { VipListener } from '../ports/vip.ts';
import type { ObservedVips } from './object-cache.ts';
import type { VipDesk } from './service-allocation.ts';

export interface GroupsShown {
  /** IPGroups have changed. */
  readonly groupsChanged: () => void;
  /** Their status may have changed. */
  readonly usageChanged: () => void;
}

/** Caches what is observed, and passes it to the allocation of the term while this process leads. */
export const vipListener = (seen: ObservedVips, desk: () => VipDesk | null, { groupsChanged, usageChanged }: GroupsShown): VipListener => ({
  serviceObserved(service) {
    const key = vipActor(service.ref);
    seen.putService(key, service);
    desk()?.serviceChanged(key);
  },
  serviceGone(ref) {
    const key = vipActor(ref);
    // Another object of that name may have been observed already.
    if (seen.services.get(key)?.ref.uid === ref.uid) seen.removeService(key);
    desk()?.serviceChanged(key);
  },
  groupObserved(group) {
    seen.groups.set(group.ref.name, group);
    desk()?.groupChanged(group.ref.name, group);
    groupsChanged();
  },
  groupGone({ name, uid }) {
    if (seen.groups.get(name)?.ref.uid !== uid) return;
    seen.groups.delete(name);
    desk()?.groupChanged(name, null);
    groupsChanged();
  },
  ipObserved(ip) {
    const before = seen.putIp(ip);
    desk()?.ipChanged(before, ip);
    usageChanged();
  },
  ipGone({ name, uid }) {
    if (seen.ips.get(name)?.uid !== uid) return;
    const before = seen.removeIp(name);
    desk()?.ipChanged(before, null);
    usageChanged();
  },
  vipsSynced() {
    seen.synced = true;
    desk()?.open();
    groupsChanged();
  },
});

/** The same for VirtualIPs. */
export const virtualIPListener = (seen: ObservedVips, desk: () => VipDesk | null): VirtualIPListener => ({
  virtualIPObserved(vip) {
    const key = virtualIPActor(vip.ref);
    const before = seen.virtualIPs.get(key) ?? null;
    seen.virtualIPs.set(key, vip);
    desk()?.virtualIPChanged(key, before, vip);
  },
  virtualIPGone(ref) {
    const key = virtualIPActor(ref);
    const before = seen.virtualIPs.get(key) ?? null;
    // Another object of that name may have been observed already.
    if (before?.ref.uid !== ref.uid) return;
    seen.virtualIPs.delete(key);
    desk()?.virtualIPChanged(key, before, null);
  },
  serviceTouched: (place) => desk()?.virtualIPs?.serviceTouched(place),
  virtualIPsSynced() {
    seen.virtualIPsSynced = true;
    desk()?.virtualIPsSeen();
  },
});
