import { type Fields, fieldsOf, integers, isFields, list, text, texts } from './body.ts';
import type { Cloud } from './cloud.ts';
import type { Firewall, FirewallRule, PendingChange, RuleTarget } from './model.ts';
import { uuid } from './random.ts';
import { conflict, notFound, unprocessable } from './refusal.ts';
import { isoTime } from './render.ts';

const maxRules = 50;
const maxDroplets = 10;
const maxTags = 5;
const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9.-]+$/;

type Direction = 'sources' | 'destinations';

/** All that a request may set. What is missing takes its default: a PUT resets it. */
export interface FirewallContent {
  readonly name: string;
  readonly inboundRules: readonly FirewallRule[];
  readonly outboundRules: readonly FirewallRule[];
  readonly dropletIds: readonly number[];
  readonly tags: readonly string[];
}

export function parseContent(body: unknown): FirewallContent {
  const fields = fieldsOf(body);
  const name = text(fields, 'name') ?? '';
  if (!namePattern.test(name))
    throw unprocessable('name must begin with an alphanumeric character and consist of those, periods and dashes.');
  return {
    name,
    ...parseRules(fields),
    dropletIds: integers(fields, 'droplet_ids') ?? [],
    tags: texts(fields, 'tags') ?? [],
  };
}

export function parseRules(fields: Fields): Pick<FirewallContent, 'inboundRules' | 'outboundRules'> {
  return {
    inboundRules: (list(fields, 'inbound_rules') ?? []).map((rule) => parseRule(rule, 'sources')),
    outboundRules: (list(fields, 'outbound_rules') ?? []).map((rule) => parseRule(rule, 'destinations')),
  };
}

function parseRule(value: unknown, direction: Direction): FirewallRule {
  const fields = fieldsOf(value);
  const protocol = text(fields, 'protocol');
  if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'icmp') throw unprocessable('protocol must be tcp, udp or icmp.');
  if (!isFields(fields[direction])) throw unprocessable(`${direction} is required.`);
  return { protocol, ports: parsePorts(protocol, text(fields, 'ports')), [direction]: parseTarget(fieldsOf(fields[direction])) };
}

/** The API says all ports of a protocol as "0", also where "all" was sent, and always for ICMP. */
function parsePorts(protocol: string, ports: string | undefined): string {
  if (protocol === 'icmp' || ports === 'all' || ports === '0') return '0';
  const bounds = (ports ?? '').split('-');
  const valid = bounds.length <= 2 && bounds.every((bound) => /^\d{1,5}$/.test(bound) && Number(bound) >= 1 && Number(bound) <= 65_535);
  if (ports === undefined || !valid) throw unprocessable('ports must be a port, a range or "all".');
  return ports;
}

function parseTarget(fields: Fields): RuleTarget {
  const addresses = texts(fields, 'addresses');
  const dropletIds = integers(fields, 'droplet_ids');
  const loadBalancers = texts(fields, 'load_balancer_uids');
  const clusters = texts(fields, 'kubernetes_ids');
  const tags = texts(fields, 'tags');
  return {
    ...(addresses?.length ? { addresses } : {}),
    ...(dropletIds?.length ? { droplet_ids: dropletIds } : {}),
    ...(loadBalancers?.length ? { load_balancer_uids: loadBalancers } : {}),
    ...(clusters?.length ? { kubernetes_ids: clusters } : {}),
    ...(tags?.length ? { tags } : {}),
  };
}

export function createFirewall(cloud: Cloud, content: FirewallContent): Firewall {
  refuseDuplicateName(cloud, content.name, null);
  const firewall: Firewall = {
    id: uuid(cloud.random),
    name: content.name,
    createdAt: cloud.now(),
    inboundRules: [],
    outboundRules: [],
    dropletIds: [],
    tags: [],
    pending: [],
  };
  replaceContent(cloud, firewall, content);
  cloud.firewalls.set(firewall.id, firewall);
  return firewall;
}

function refuseDuplicateName(cloud: Cloud, name: string, self: Firewall | null): void {
  for (const other of cloud.firewalls.values()) {
    if (other !== self && other.name === name) throw conflict('duplicate name');
  }
}

/** Puts `content` in the place of what the firewall has, or refuses it whole. */
export function replaceContent(cloud: Cloud, firewall: Firewall, content: FirewallContent): void {
  refuseDuplicateName(cloud, content.name, firewall);
  refuseExcess(cloud, content);
  const before = members(cloud, firewall);
  Object.assign(firewall, content, { dropletIds: unique(content.dropletIds), tags: unique(content.tags) });
  recordChanges(cloud, firewall, before, true);
}

function refuseExcess(cloud: Cloud, content: FirewallContent): void {
  const rules = content.inboundRules.length + content.outboundRules.length;
  if (rules === 0) throw unprocessable('firewall must have at least one rule');
  if (rules > maxRules) throw unprocessable(`firewall must have at most ${maxRules} rules`);
  if (unique(content.dropletIds).length > maxDroplets) throw unprocessable(`firewall must have at most ${maxDroplets} droplets`);
  if (unique(content.tags).length > maxTags) throw unprocessable(`firewall must have at most ${maxTags} tags`);
  const missing = content.dropletIds.find((id) => !cloud.droplets.has(id));
  if (missing !== undefined) throw unprocessable(`droplet ${missing} does not exist`);
}

const unique = <T>(items: readonly T[]): T[] => [...new Set(items)];

/** Droplets named by id or by one of the tags. */
function members(cloud: Cloud, firewall: Firewall): Set<number> {
  const tagged = [...cloud.droplets.values()].filter((droplet) => droplet.tags.some((tag) => firewall.tags.includes(tag)));
  return new Set([...firewall.dropletIds, ...tagged.map((droplet) => droplet.id)]);
}

/** Every member waits for its policy when the rules changed; else only those that came or went. */
function recordChanges(cloud: Cloud, firewall: Firewall, before: ReadonlySet<number>, rulesChanged: boolean): void {
  const now = cloud.now();
  const after = members(cloud, firewall);
  const dueAt = now + cloud.firewallMs;
  const came = [...after].filter((id) => rulesChanged || !before.has(id));
  const went = [...before].filter((id) => !after.has(id));
  const fresh: PendingChange[] = [
    ...came.map((dropletId) => ({ dropletId, removing: false, dueAt })),
    ...went.map((dropletId) => ({ dropletId, removing: true, dueAt })),
  ];
  const touched = new Set(fresh.map((change) => change.dropletId));
  firewall.pending = [...firewall.pending.filter((change) => change.dueAt > now && !touched.has(change.dropletId)), ...fresh];
}

export function findFirewall(cloud: Cloud, id: string): Firewall {
  const firewall = cloud.firewalls.get(id);
  if (firewall === undefined) throw notFound();
  return firewall;
}

/** Changes part of a firewall, within the same limits as a whole one. */
export function changeContent(cloud: Cloud, firewall: Firewall, change: (content: FirewallContent) => Partial<FirewallContent>): void {
  const { name, inboundRules, outboundRules, dropletIds, tags } = firewall;
  const content = { name, inboundRules, outboundRules, dropletIds, tags };
  const next = { ...content, ...change(content) };
  refuseExcess(cloud, next);
  const before = members(cloud, firewall);
  Object.assign(firewall, next, { dropletIds: unique(next.dropletIds), tags: unique(next.tags) });
  const sameRules = sameText(next.inboundRules, inboundRules) && sameText(next.outboundRules, outboundRules);
  recordChanges(cloud, firewall, before, !sameRules);
}

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Rules count as the same when protocol, ports and every kind of target agree, in any order. */
const ruleKey = (rule: FirewallRule): string => {
  const target = Object.entries(rule.sources ?? rule.destinations ?? {});
  const sorted = target.map(([kind, values]) => [kind, [...values].map(String).sort()] as const).sort(([a], [b]) => a.localeCompare(b));
  return JSON.stringify([rule.protocol, rule.ports, sorted]);
};

export function withRules(rules: readonly FirewallRule[], added: readonly FirewallRule[]): FirewallRule[] {
  const known = new Set(rules.map(ruleKey));
  return [...rules, ...added.filter((rule) => !known.has(ruleKey(rule)))];
}

export function withoutRules(rules: readonly FirewallRule[], removed: readonly FirewallRule[]): FirewallRule[] {
  const gone = new Set(removed.map(ruleKey));
  return rules.filter((rule) => !gone.has(ruleKey(rule)));
}

export function renderFirewall(cloud: Cloud, firewall: Firewall): Record<string, unknown> {
  const pending = firewall.pending.filter((change) => change.dueAt > cloud.now());
  return {
    id: firewall.id,
    name: firewall.name,
    status: pending.length > 0 ? 'waiting' : 'succeeded',
    inbound_rules: firewall.inboundRules,
    outbound_rules: firewall.outboundRules,
    created_at: isoTime(firewall.createdAt),
    droplet_ids: firewall.dropletIds,
    tags: firewall.tags,
    pending_changes: pending.map(({ dropletId, removing }) => ({ droplet_id: dropletId, removing, status: 'waiting' })),
  };
}
