import { isIP } from 'node:net';
import { type Fields, fieldsOf, isFields, text } from '../http/body.ts';
import { integers, list, texts } from './body.ts';
import type { FirewallRule, RuleTarget } from './model.ts';
import { unprocessable } from './refusal.ts';

type Direction = 'sources' | 'destinations';

export interface Rules {
  readonly inboundRules: readonly FirewallRule[];
  readonly outboundRules: readonly FirewallRule[];
}

export function parseRules(fields: Fields): Rules {
  return {
    inboundRules: (list(fields, 'inbound_rules') ?? []).map((rule) => parseRule(rule, 'sources')),
    outboundRules: (list(fields, 'outbound_rules') ?? []).map((rule) => parseRule(rule, 'destinations')),
  };
}

function parseRule(value: unknown, direction: Direction): FirewallRule {
  const fields = fieldsOf(value);
  const protocol = text(fields, 'protocol');
  if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'icmp') throw unprocessable('protocol must be tcp, udp or icmp.');
  if (!isFields(fields[direction])) throw unprocessable(`You specified an invalid type for one of the ${direction}.`);
  return { protocol, ports: parsePorts(protocol, text(fields, 'ports')), [direction]: parseTarget(fieldsOf(fields[direction])) };
}

/** The API says all ports of a protocol as "0", also where "all" was sent, and always for ICMP. */
function parsePorts(protocol: string, ports: string | undefined): string {
  if (protocol === 'icmp' || ports === 'all' || ports === '0') return '0';
  if (ports === undefined) throw unprocessable('You must specify a positive value for ports.');
  const bounds = ports.split('-');
  const valid = bounds.length <= 2 && bounds.every((bound) => /^\d{1,5}$/.test(bound) && Number(bound) >= 1 && Number(bound) <= 65_535);
  const [from = '0', to = from] = bounds;
  if (!valid || Number(from) > Number(to)) throw unprocessable('invalid port range');
  return ports;
}

function parseTarget(fields: Fields): RuleTarget {
  const addresses = texts(fields, 'addresses');
  const dropletIds = integers(fields, 'droplet_ids');
  const loadBalancers = texts(fields, 'load_balancer_uids');
  const clusters = texts(fields, 'kubernetes_ids');
  const tags = texts(fields, 'tags');
  if (addresses?.some((address) => !isNetwork(address))) throw unprocessable('invalid address');
  return {
    ...(addresses?.length ? { addresses } : {}),
    ...(dropletIds?.length ? { droplet_ids: dropletIds } : {}),
    ...(loadBalancers?.length ? { load_balancer_uids: loadBalancers } : {}),
    ...(clusters?.length ? { kubernetes_ids: clusters } : {}),
    ...(tags?.length ? { tags } : {}),
  };
}

/** An address, or a network by its length. */
function isNetwork(source: string): boolean {
  const [address = '', bits, more] = source.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
}

/** Rules count as the same when protocol, ports and every kind of target agree, in any order. */
const ruleKey = (rule: FirewallRule): string => {
  const target = Object.entries(targetOf(rule));
  const sorted = target.map(([kind, values]) => [kind, [...values].map(String).sort()] as const).sort(([a], [b]) => a.localeCompare(b));
  return JSON.stringify([rule.protocol, rule.ports, sorted]);
};

export const targetOf = (rule: FirewallRule): RuleTarget => rule.sources ?? rule.destinations ?? {};

export const rulesKey = (rules: readonly FirewallRule[]): string => JSON.stringify(rules.map(ruleKey));

export function withRules(rules: readonly FirewallRule[], added: readonly FirewallRule[]): FirewallRule[] {
  const known = new Set(rules.map(ruleKey));
  return [...rules, ...added.filter((rule) => !known.has(ruleKey(rule)))];
}

export function withoutRules(rules: readonly FirewallRule[], removed: readonly FirewallRule[]): FirewallRule[] {
  const gone = new Set(removed.map(ruleKey));
  return rules.filter((rule) => !gone.has(ruleKey(rule)));
}
