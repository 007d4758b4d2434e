import { releaseDroplet } from './addresses.ts';
import { defaultImage, defaultSize } from './catalogue.ts';
import type { Cloud } from './cloud.ts';
import { leaveFirewalls } from './firewall-policy.ts';
import type { Action, Droplet } from './model.ts';
import { notFound, unprocessable } from './refusal.ts';

export interface DropletWish {
  readonly id?: number | undefined;
  readonly name: string;
  readonly region: string;
  readonly tags?: readonly string[] | undefined;
  readonly size?: string | undefined;
  readonly image?: string | undefined;
  /** Enables IPv6, without which it takes no reserved IPv6; false by default, as in the API. */
  readonly ipv6?: boolean | undefined;
  /** Milliseconds until it is `active`; 0 by default. */
  readonly bootMs?: number | undefined;
}

/** Puts a droplet into the account. */
export function placeDroplet(cloud: Cloud, wish: DropletWish): Droplet {
  const id = wish.id ?? cloud.nextId();
  if (cloud.droplets.has(id)) throw unprocessable(`Droplet ${id} exists already.`);
  const now = cloud.now();
  const droplet: Droplet = {
    id,
    name: wish.name,
    region: wish.region,
    size: wish.size ?? defaultSize,
    image: wish.image ?? defaultImage,
    features: ['droplet_agent', 'private_networking', ...(wish.ipv6 ? ['ipv6'] : [])],
    tags: wish.tags ?? [],
    createdAt: now,
    activeAt: now + (wish.bootMs ?? 0),
    publicIPv4: `192.0.2.${1 + (id % 254)}`,
    publicIPv6: wish.ipv6 ? `2001:db8:d::${(id >>> 16).toString(16)}:${(id & 0xffff).toString(16)}` : null,
    privateIPv4: `10.${(id >> 16) & 255}.${(id >> 8) & 255}.${id & 255}`,
  };
  cloud.regions.add(wish.region);
  cloud.droplets.set(id, droplet);
  for (const tag of droplet.tags) cloud.tags.add(tag);
  return droplet;
}

/** Creates a droplet as the API does: it is `new` until its `create` action ends. */
export function createDroplet(cloud: Cloud, wish: DropletWish): { droplet: Droplet; action: Action } {
  if (!cloud.regions.has(wish.region)) throw unprocessable('You specified an invalid region for Droplet creation.');
  const bootMs = cloud.nextActionMs();
  const droplet = placeDroplet(cloud, { ...wish, bootMs });
  const action: Action = {
    id: cloud.nextId(),
    type: 'create',
    status: 'in-progress',
    startedAt: droplet.createdAt,
    dueAt: droplet.createdAt + bootMs,
    completedAt: null,
    resourceId: droplet.id,
    resourceType: 'droplet',
    region: droplet.region,
    ip: null,
    dropletId: droplet.id,
    failing: false,
  };
  cloud.actions.set(action.id, action);
  cloud.pendingActions.add(action);
  return { droplet, action };
}

/** Destroys a droplet: its addresses lose their holder and its firewalls a member. */
export function removeDroplet(cloud: Cloud, id: number): void {
  if (!cloud.droplets.delete(id)) throw notFound();
  releaseDroplet(cloud, id);
  leaveFirewalls(cloud, id);
}
