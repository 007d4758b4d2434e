import { type Fields, fieldsOf } from '../../../machines/model/types.ts';
import { text } from '../../http/read.ts';
import { STATE_OF_ACTION } from '../addresses.ts';
import { readFirewall } from '../firewalls.ts';
import { readPrefix } from '../prefixes.ts';
import { observedAction, observedAddress, observedDroplet } from '../read.ts';

/** The scopes of a token that a read can verify, and what each is for, as in docs/on-digitalocean-kubernetes.md. */
export const SCOPES = [
  { scope: 'reserved_ip:read', for: 'addresses' },
  { scope: 'droplet:read', for: 'everything' },
  { scope: 'actions:read', for: 'IPv6 addresses' },
  { scope: 'domain:read', for: 'DNS records' },
  { scope: 'firewall:read', for: 'firewalls of RoutedIPs' },
  { scope: 'tag:read', for: 'firewalls that have tags' },
  { scope: 'byoip_prefix:read', for: 'addresses of your own prefixes' },
] as const;

/** A list that the operator reads. */
export interface List {
  readonly scope: (typeof SCOPES)[number]['scope'];
  readonly key: string;
  readonly path: string;
  /** Fields of an item by the API description, the identifying one first; `a.b` is b within a. */
  readonly fields: readonly string[];
  /** The adapter's parser. @throws ProviderError for an item that it cannot read */
  readonly read: (item: Fields) => unknown;
  /** Values of `status` known to the adapter; null when not checked. */
  readonly statuses: readonly string[] | null;
}

const named = (item: Fields): string => text(item.name, 'name');
const list = (scope: List['scope'], key: string, fields: string, read: List['read'], statuses: List['statuses'] = null): List => {
  const path = `/${key.replace('ipv6s', 'ipv6')}`;
  return { scope, key, path, fields: fields.split(' '), read, statuses };
};
const FIREWALL = 'id name status inbound_rules outbound_rules droplet_ids tags pending_changes';
const ACTION = 'id status type started_at completed_at resource_type';

export const LISTS: readonly List[] = [
  list('reserved_ip:read', 'reserved_ips', 'ip region.slug droplet locked', observedAddress),
  list('reserved_ip:read', 'reserved_ipv6s', 'ip region_slug droplet', observedAddress),
  list('droplet:read', 'droplets', 'id region.slug networks.v4 networks.v6 features', observedDroplet),
  list('firewall:read', 'firewalls', FIREWALL, readFirewall, ['waiting', 'succeeded', 'failed']),
  list('domain:read', 'domains', 'name', named),
  list('tag:read', 'tags', 'name', named),
  list('byoip_prefix:read', 'byoip_prefixes', 'uuid prefix region status', readPrefix),
  list('actions:read', 'actions', ACTION, observedAction, [...STATE_OF_ACTION.keys()]),
];

/** The value of a field of an item; undefined when it has no such field. */
export const valueAt = (item: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => fieldsOf(value)[key], item);

/** An address that no account has (RFC 5737), and such a Droplet: the first one ever created. */
export const NOBODYS = { address: '192.0.2.1', droplet: 'digitalocean://1' } as const;
