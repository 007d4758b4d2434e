import { fieldsOf, text } from '../http/body.ts';
import { integers, texts } from './body.ts';
import type { Cloud } from './cloud.ts';
import { pendingIn, recordChanges } from './firewall-policy.ts';
import { parseRules, type Rules, rulesKey, targetOf } from './firewall-rules.ts';
import type { Firewall, PendingChange } from './model.ts';
import { uuid } from './random.ts';
import { conflict, notFound, unprocessable } from './refusal.ts';
import { isoTime } from './render.ts';

// docs.digitalocean.com/products/networking/firewalls/details/limits
const maxRules = 50;
const maxDroplets = 10;
const maxTags = 5;
const maxTargets = 1000;
const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9.-]+$/;

/** All that a request may set. What is missing takes its default: a PUT resets it. */
export interface FirewallContent extends Rules {
  readonly name: string;
  readonly dropletIds: readonly number[];
  readonly tags: readonly string[];
}

export function parseContent(body: unknown): FirewallContent {
  const fields = fieldsOf(body);
  const name = text(fields, 'name') ?? '';
  if (!namePattern.test(name))
    throw unprocessable('name must begin with an alphanumeric character and consist of those, periods and dashes.');
  return { name, ...parseRules(fields), dropletIds: integers(fields, 'droplet_ids') ?? [], tags: texts(fields, 'tags') ?? [] };
}

export function createFirewall(cloud: Cloud, content: FirewallContent): Firewall {
  const firewall: Firewall = {
    id: uuid(cloud.random),
    name: content.name,
    createdAt: cloud.now(),
    inboundRules: [],
    outboundRules: [],
    dropletIds: [],
    tags: [],
    members: [],
    pending: [],
    applied: {},
  };
  replaceContent(cloud, firewall, content);
  cloud.firewalls.set(firewall.id, firewall);
  return firewall;
}

export function findFirewall(cloud: Cloud, id: string): Firewall {
  const firewall = cloud.firewalls.get(id);
  if (firewall === undefined) throw notFound();
  return firewall;
}

/** Puts `content` in the place of what the firewall has, or refuses it whole. */
export function replaceContent(cloud: Cloud, firewall: Firewall, content: FirewallContent): void {
  for (const other of cloud.firewalls.values()) if (other !== firewall && other.name === content.name) throw conflict('duplicate name');
  setContent(cloud, firewall, content);
}

/** Changes part of a firewall, within the same limits as a whole one. */
export function changeContent(cloud: Cloud, firewall: Firewall, change: (content: FirewallContent) => Partial<FirewallContent>): void {
  const { name, inboundRules, outboundRules, dropletIds, tags } = firewall;
  const content = { name, inboundRules, outboundRules, dropletIds, tags };
  setContent(cloud, firewall, { ...content, ...change(content) });
}

function setContent(cloud: Cloud, firewall: Firewall, content: FirewallContent): void {
  refuseExcess(content);
  refuseUnknown(cloud, content);
  const before = keyOf(firewall);
  Object.assign(firewall, content, { dropletIds: unique(content.dropletIds), tags: unique(content.tags) });
  recordChanges(cloud, firewall, keyOf(firewall) === before ? 'members' : 'rules');
}

const keyOf = ({ inboundRules, outboundRules }: Rules): string => rulesKey(inboundRules) + rulesKey(outboundRules);

function refuseExcess({ inboundRules, outboundRules, dropletIds, tags }: FirewallContent): void {
  const rules = [...inboundRules, ...outboundRules];
  if (rules.length === 0) throw unprocessable('firewall must have at least one rule');
  if (rules.length > maxRules) throw unprocessable(`firewall must have at most ${maxRules} rules`);
  if (unique(dropletIds).length > maxDroplets) throw unprocessable(`firewall must have at most ${maxDroplets} droplets`);
  if (unique(tags).length > maxTags) throw unprocessable(`firewall must have at most ${maxTags} tags`);
  if (rules.some((rule) => Object.values(targetOf(rule)).flat().length > maxTargets))
    throw unprocessable(`rule must have at most ${maxTargets} sources or destinations`);
}

/** Droplets and tags have to exist before they are named, tags in rules too. */
function refuseUnknown(cloud: Cloud, { dropletIds, tags, inboundRules, outboundRules }: FirewallContent): void {
  const droplet = dropletIds.find((id) => !cloud.droplets.has(id));
  if (droplet !== undefined) throw unprocessable(`droplet ${droplet} does not exist`);
  const named = [...tags, ...[...inboundRules, ...outboundRules].flatMap((rule) => targetOf(rule).tags ?? [])];
  const tag = named.find((one) => !cloud.tags.has(one));
  if (tag !== undefined) throw unprocessable(`tag ${tag} does not exist`);
}

const unique = <T>(items: readonly T[]): T[] => [...new Set(items)];

export function renderFirewall(cloud: Cloud, firewall: Firewall): Record<string, unknown> {
  const pending = pendingIn(cloud, firewall);
  const statusOf = ({ dropletId }: PendingChange): string => cloud.hanging.get(dropletId) ?? 'waiting';
  const hasFailed = pending.some((change) => statusOf(change) === 'failed');
  return {
    id: firewall.id,
    name: firewall.name,
    status: hasFailed ? 'failed' : pending.length > 0 ? 'waiting' : 'succeeded',
    inbound_rules: firewall.inboundRules,
    outbound_rules: firewall.outboundRules,
    created_at: isoTime(firewall.createdAt),
    droplet_ids: firewall.dropletIds,
    tags: firewall.tags,
    pending_changes: pending.map((change) => ({ droplet_id: change.dropletId, removing: change.removing, status: statusOf(change) })),
  };
}
