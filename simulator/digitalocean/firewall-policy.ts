import type { Cloud } from './cloud.ts';
import type { Firewall, FirewallRule, PendingChange } from './model.ts';

/** Droplets named by id or by one of the tags, as they are now. */
export function membersOf(cloud: Cloud, { dropletIds, tags }: Pick<Firewall, 'dropletIds' | 'tags'>): ReadonlySet<number> {
  const tagged = [...cloud.droplets.values()].filter((droplet) => droplet.tags.some((tag) => tags.includes(tag)));
  return new Set([...dropletIds.filter((id) => cloud.droplets.has(id)), ...tagged.map((droplet) => droplet.id)]);
}

/** The firewalls of which the droplet is a member or whose rules are still in force on it. */
export const firewallsOf = (cloud: Cloud, dropletId: number): readonly Firewall[] =>
  [...cloud.firewalls.values()].filter((firewall) => firewall.members.includes(dropletId) || dropletId in firewall.applied);

/** The changes that droplets still wait for. */
export const pendingIn = ({ hanging, now }: Cloud, { pending }: Firewall): readonly PendingChange[] =>
  pending.filter(({ dueAt, dropletId }) => dueAt > now() || hanging.has(dropletId));

/** Brings every firewall to the present: changes that are due come into force, and droplets that a tag brings in or takes out get a change of their own. */
export function settleFirewalls(cloud: Cloud): void {
  for (const firewall of cloud.firewalls.values()) {
    applyDue(cloud, firewall);
    recordChanges(cloud, firewall, 'members');
    applyDue(cloud, firewall);
  }
}

function applyDue(cloud: Cloud, firewall: Firewall): void {
  const left = pendingIn(cloud, firewall);
  const due = firewall.pending.filter((change) => !left.includes(change));
  if (due.length === 0) return;
  const applied: Record<number, readonly FirewallRule[]> = { ...firewall.applied };
  for (const { dropletId, removing, inboundRules } of due) {
    if (removing) delete applied[dropletId];
    else applied[dropletId] = inboundRules;
  }
  firewall.applied = applied;
  firewall.pending = left;
}

/** Every member waits for its policy when the rules changed; else only those that came or went. They get it one after the other, the last one when the
 *  time for a change is over. */
export function recordChanges(cloud: Cloud, firewall: Firewall, changed: 'rules' | 'members'): void {
  const before = new Set(firewall.members);
  const after = membersOf(cloud, firewall);
  const came = [...after].filter((id) => changed === 'rules' || !before.has(id));
  const went = [...before].filter((id) => !after.has(id) && cloud.droplets.has(id));
  firewall.members = [...after];
  if (came.length + went.length === 0) return;
  const touched = [...came, ...went];
  const fresh = touched.map((dropletId, index): PendingChange => {
    const dueAt = cloud.now() + (cloud.firewallMs * (index + 1)) / touched.length;
    return { dropletId, removing: !after.has(dropletId), dueAt, inboundRules: firewall.inboundRules };
  });
  firewall.pending = [...firewall.pending.filter(({ dropletId }) => !touched.includes(dropletId)), ...fresh];
}

/** A droplet that is destroyed is in no firewall and waits for nothing. */
export function leaveFirewalls(cloud: Cloud, id: number): void {
  for (const firewall of cloud.firewalls.values()) {
    firewall.dropletIds = firewall.dropletIds.filter((one) => one !== id);
    firewall.members = firewall.members.filter((one) => one !== id);
    firewall.pending = firewall.pending.filter(({ dropletId }) => dropletId !== id);
    const { [id]: _, ...applied } = firewall.applied;
    firewall.applied = applied;
  }
}

/** From now on no change is applied on the droplet; null for all again. */
export function setHanging(cloud: Cloud, dropletId: number, status: 'waiting' | 'failed' | null): void {
  if (status === null) cloud.hanging.delete(dropletId);
  else cloud.hanging.set(dropletId, status);
}
