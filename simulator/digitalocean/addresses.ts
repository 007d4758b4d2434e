import { BlockList } from 'node:net';
import type { Cloud } from './cloud.ts';
import type { Action, ActionType, HistoryEntry, Prefix, ReservedIP } from './model.ts';
import { uuid } from './random.ts';
import { addressPending, dropletPending, notFound, quotaReached, Refusal, unprocessable } from './refusal.ts';

/** How faults bend an action that is about to start. */
export interface ActionBend {
  readonly ms: number | null;
  readonly failing: boolean;
}

/** Brings the cloud to the present: ends every action that is due, oldest first. */
export function settle(cloud: Cloud): void {
  if (cloud.pendingActions.size === 0) return;
  const now = cloud.now();
  const due = [...cloud.pendingActions].filter((action) => action.dueAt <= now).sort((a, b) => a.dueAt - b.dueAt || a.id - b.id);
  for (const action of due) finish(cloud, action);
}

function finish(cloud: Cloud, action: Action): void {
  cloud.pendingActions.delete(action);
  action.completedAt = action.dueAt;
  action.status = 'completed';
  if (action.ip === null) return;
  const address = cloud.reservedIPs.get(action.ip);
  if (address === undefined) {
    action.status = 'errored';
    return;
  }
  address.pendingActionId = null;
  if (action.failing || !stillPossible(cloud, action, address)) {
    action.status = 'errored';
    return;
  }
  hold(address, { at: action.dueAt, dropletId: action.dropletId, by: 'action', actionId: action.id });
}

function stillPossible(cloud: Cloud, action: Action, address: ReservedIP): boolean {
  if (action.dropletId === null) return true;
  if (!cloud.droplets.has(action.dropletId)) return false;
  const other = heldBy(cloud, action.dropletId, address.family);
  return other === undefined || other === address;
}

function hold(address: ReservedIP, entry: HistoryEntry): void {
  address.dropletId = entry.dropletId;
  address.history.push(entry);
}

export function heldBy(cloud: Cloud, dropletId: number, family: 4 | 6): ReservedIP | undefined {
  for (const address of cloud.reservedIPs.values()) {
    if (address.dropletId === dropletId && address.family === family) return address;
  }
  return undefined;
}

export function findAddress(cloud: Cloud, ip: string, family: 4 | 6): ReservedIP {
  const address = cloud.reservedIPs.get(ip);
  if (address === undefined || address.family !== family) throw notFound();
  return address;
}

/** The address that is to be assigned: one of a prefix of the account's own comes into being by that. @throws Refusal 404 */
export function findAssignable(cloud: Cloud, ip: string): ReservedIP {
  const prefix = cloud.reservedIPs.has(ip)
    ? undefined
    : cloud.prefixes.find((each) => each.status === 'active' && isWithin(each.prefix, ip));
  if (prefix) return placeAddress(cloud, { ip, region: prefix.region, family: 4, dropletId: null, brought: true });
  return findAddress(cloud, ip, 4);
}

export function placePrefix(
  cloud: Cloud,
  { prefix, region, status = 'active' }: { prefix: string; region: string; status?: string },
): Prefix {
  const placed = { uuid: uuid(cloud.random), prefix, region, status };
  cloud.prefixes.push(placed);
  return placed;
}

function isWithin(cidr: string, ip: string): boolean {
  const [network = '', bits] = cidr.split('/');
  const list = new BlockList();
  list.addSubnet(network, Number(bits));
  return list.check(ip);
}

/** Creates an address in a region, unassigned, within the account's limits. */
export function reserve(cloud: Cloud, region: string, family: 4 | 6, label: string): ReservedIP {
  if (!cloud.regions.has(region)) throw unprocessable('The region you specified is not available.');
  const now = cloud.now();
  cloud.creations = cloud.creations.filter((at) => at > now - 60_000);
  const oldest = cloud.creations[0];
  if (oldest !== undefined && cloud.creations.length >= cloud.createsPerMinute) {
    const retryAfter = Math.max(1, Math.ceil((oldest + 60_000 - now) / 1000));
    throw new Refusal(429, 'too_many_requests', 'API Rate limit exceeded.', { 'retry-after': String(retryAfter) });
  }
  const owned = [...cloud.reservedIPs.values()].filter((address) => address.family === family).length;
  if (owned >= cloud.reservedIPQuota) throw quotaReached(label);
  cloud.creations.push(now);
  const address = placeAddress(cloud, { region, family, dropletId: null });
  const action = startAction(cloud, address, 'reserve_ip', null, { ms: 0, failing: false });
  cloud.pendingActions.delete(action);
  action.status = 'completed';
  action.completedAt = now;
  address.pendingActionId = null;
  return address;
}

const familyOf = (ip: string): 4 | 6 => (ip.includes(':') ? 6 : 4);

/** Puts an address into the account without asking for limits, as if it had been there before. `family` counts when no `ip` is given. */
export function placeAddress(
  cloud: Cloud,
  wanted: { ip?: string | undefined; region: string; family: 4 | 6; dropletId: number | null; token?: string | undefined; brought?: true },
): ReservedIP {
  const now = cloud.now();
  const family = wanted.ip === undefined ? wanted.family : familyOf(wanted.ip);
  const ip = wanted.ip ?? freeAddress(cloud, family);
  if (cloud.reservedIPs.has(ip)) throw unprocessable(`${ip} exists already.`);
  const address: ReservedIP = {
    ip,
    ...(wanted.brought && { brought: true }),
    family,
    region: wanted.region,
    projectId: uuid(cloud.random),
    token: wanted.token ?? null,
    createdAt: now,
    deletedAt: null,
    dropletId: null,
    pendingActionId: null,
    actionIds: [],
    history: [],
  };
  cloud.regions.add(wanted.region);
  cloud.reservedIPs.set(ip, address);
  hold(address, { at: now, dropletId: wanted.dropletId, by: 'created', actionId: null });
  return address;
}

function freeAddress(cloud: Cloud, family: 4 | 6): string {
  for (let n = 1; ; n++) {
    const ip = family === 6 ? `2001:db8::${n.toString(16)}` : ipv4Number(n);
    if (!cloud.reservedIPs.has(ip) && !cloud.deletedIPs.some((gone) => gone.ip === ip)) return ip;
  }
}

/** Documentation addresses first (RFC 5737), then the range set aside for benchmarks (RFC 2544). */
function ipv4Number(n: number): string {
  if (n <= 254) return `203.0.113.${n}`;
  const rest = n - 254;
  return `198.${18 + ((rest >> 16) & 1)}.${(rest >> 8) & 255}.${rest & 255}`;
}

/** Starts pointing the address at a droplet, or at none. Refused as the API refuses: locked, other region, droplet busy or taken. */
export function startAssignment(cloud: Cloud, address: ReservedIP, dropletId: number | null, label: string, bend: ActionBend): Action {
  if (address.pendingActionId !== null) throw addressPending(label);
  if (dropletId === null) {
    if (address.dropletId === null) throw unprocessable(`The ${label} is not assigned to a Droplet.`);
    return startAction(cloud, address, 'unassign_ip', null, bend);
  }
  const droplet = cloud.droplets.get(dropletId);
  if (droplet === undefined) throw notFound();
  if (droplet.region !== address.region) throw unprocessable(`The ${label} and the Droplet must be in the same region.`);
  if (address.family === 6 && droplet.publicIPv6 === null) throw unprocessable('IPv6 is not enabled on the Droplet.');
  if (address.dropletId === dropletId) throw unprocessable(`The ${label} is already assigned to this Droplet.`);
  if (dropletBusy(cloud, dropletId)) throw dropletPending();
  if (heldBy(cloud, dropletId, address.family) !== undefined) throw unprocessable(`Droplet already has a ${label}.`);
  return startAction(cloud, address, 'assign_ip', dropletId, bend);
}

function dropletBusy(cloud: Cloud, dropletId: number): boolean {
  for (const action of cloud.pendingActions) {
    if (action.dropletId === dropletId) return true;
  }
  return false;
}

function startAction(cloud: Cloud, address: ReservedIP, type: ActionType, dropletId: number | null, bend: ActionBend): Action {
  const startedAt = cloud.now();
  const action: Action = {
    id: cloud.nextId(),
    type,
    status: 'in-progress',
    startedAt,
    dueAt: startedAt + (bend.ms ?? cloud.nextActionMs()),
    completedAt: null,
    resourceId: resourceNumber(address.ip),
    resourceType: address.family === 6 ? 'reserved_ipv6' : 'reserved_ip',
    region: address.region,
    ip: address.ip,
    dropletId,
    failing: bend.failing,
  };
  cloud.actions.set(action.id, action);
  cloud.pendingActions.add(action);
  address.actionIds.push(action.id);
  address.pendingActionId = action.id;
  return action;
}

/** `resource_id` of an action on an address: for IPv4 the address as a 32-bit number, as the API has it. */
function resourceNumber(ip: string): number {
  if (ip.includes(':')) return Number.parseInt(ip.slice(ip.lastIndexOf(':') + 1) || '0', 16);
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function removeAddress(cloud: Cloud, address: ReservedIP, label: string): void {
  if (address.pendingActionId !== null) throw addressPending(label);
  // Unlike an IPv4 one (terraform-provider-digitalocean pull request 1277).
  if (address.family === 6 && address.dropletId !== null) throw unprocessable(`The ${label} is assigned to a Droplet.`);
  address.deletedAt = cloud.now();
  if (address.dropletId !== null) hold(address, { at: address.deletedAt, dropletId: null, by: 'deleted', actionId: null });
  cloud.reservedIPs.delete(address.ip);
  cloud.deletedIPs.push(address);
}

/** What a person does in the control panel: at once, and without an action of ours. */
export function moveByHand(cloud: Cloud, ip: string, dropletId: number | null): void {
  settle(cloud);
  const address = cloud.reservedIPs.get(ip);
  if (address === undefined) throw notFound();
  if (dropletId !== null) {
    if (!cloud.droplets.has(dropletId)) throw notFound();
    const other = heldBy(cloud, dropletId, address.family);
    if (other !== undefined && other !== address) throw unprocessable(`Droplet ${dropletId} already has ${other.ip}.`);
  }
  hold(address, { at: cloud.now(), dropletId, by: 'hand', actionId: null });
}

/** A droplet that goes away lets go of its addresses. */
export function releaseDroplet(cloud: Cloud, dropletId: number): void {
  for (const address of cloud.reservedIPs.values()) {
    if (address.dropletId === dropletId) hold(address, { at: cloud.now(), dropletId: null, by: 'droplet removed', actionId: null });
  }
}

/** What a read at time `at` would have shown; null when the address did not exist then. */
export function viewAt(cloud: Cloud, address: ReservedIP, at: number): { dropletId: number | null; locked: boolean } | null {
  if (address.createdAt > at || (address.deletedAt !== null && address.deletedAt <= at)) return null;
  const entry = address.history.findLast((one) => one.at <= at);
  const locked = address.actionIds.some((id) => {
    const action = cloud.actions.get(id);
    return action !== undefined && action.startedAt <= at && (action.completedAt ?? Number.POSITIVE_INFINITY) > at;
  });
  return { dropletId: entry?.dropletId ?? null, locked };
}
