import type { Cloud } from './cloud.ts';
import { notFound, unprocessable } from './refusal.ts';

/** Makes a tag that nothing bears; one that exists already stays as it is. */
export function createTag(cloud: Cloud, name: string): void {
  if (!/^[a-zA-Z0-9_:-]{1,255}$/.test(name)) throw unprocessable('tag names consist of letters, numbers, colons, dashes and underscores.');
  cloud.tags.add(name);
}

/** Gives the tag to a droplet, which firewalls with that tag cover from then on. */
export function tagDroplet(cloud: Cloud, id: number, name: string): void {
  const droplet = cloud.droplets.get(id);
  if (droplet === undefined) throw notFound();
  createTag(cloud, name);
  droplet.tags = [...new Set([...droplet.tags, name])];
}

export function untagDroplet(cloud: Cloud, id: number, name: string): void {
  const droplet = cloud.droplets.get(id);
  if (droplet === undefined) throw notFound();
  droplet.tags = droplet.tags.filter((tag) => tag !== name);
}

export function findTag(cloud: Cloud, name: string): string {
  if (!cloud.tags.has(name)) throw notFound();
  return name;
}

/** Nothing but droplets is simulated. */
const none = { count: 0, last_tagged_uri: '' };

export function renderTag(cloud: Cloud, name: string): Record<string, unknown> {
  const bearing = [...cloud.droplets.values()].filter(({ tags }) => tags.includes(name));
  const last = bearing.at(-1);
  const counted = { count: bearing.length, last_tagged_uri: last ? `https://api.digitalocean.com/v2/droplets/${last.id}` : '' };
  return { name, resources: { ...counted, droplets: counted, images: none, volumes: none, volume_snapshots: none, databases: none } };
}
