import type { VipListener } from '../ports/vip.ts';
import type { VipDesk } from './desk.ts';
import { type ObservedVips, vipActor } from './observed.ts';

/** Keeps what is told, and hands it on to the desk of the term, while this process leads. `groupsChanged`: what IPGroups show may be another thing now. */
export const vipListener = (seen: ObservedVips, desk: () => VipDesk | null, groupsChanged: () => void): VipListener => ({
  serviceObserved(service) {
    const key = vipActor(service.ref);
    seen.putService(key, service);
    desk()?.serviceChanged(key);
  },
  serviceGone(ref) {
    const key = vipActor(ref);
    // Another one of that name may have been told already.
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
    groupsChanged();
  },
  ipGone({ name, uid }) {
    if (seen.ips.get(name)?.uid !== uid) return;
    const before = seen.removeIp(name);
    desk()?.ipChanged(before, null);
    groupsChanged();
  },
  vipsSynced() {
    seen.synced = true;
    desk()?.open();
    groupsChanged();
  },
});
