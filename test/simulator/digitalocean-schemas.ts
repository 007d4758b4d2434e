/** What the published OpenAPI description says of the answers, in the parts that the simulator gives: names, types, what is always there. */

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const int: Schema = { type: 'integer' };
const flag: Schema = { type: 'boolean' };
const time: Schema = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$' };
const uuid: Schema = { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' };
const ipv4: Schema = { type: 'string', pattern: '^\\d{1,3}(\\.\\d{1,3}){3}$' };
const ipv6: Schema = { type: 'string', pattern: '^[0-9a-f:]+$' };
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });
const nullable = (schema: Schema): Schema => ({ anyOf: [{ type: 'null' }, schema] });

/** An object with these properties and no other; all of them there unless named optional. */
function object(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

const region = object({ name: text, slug: text, features: listOf(text), available: flag, sizes: listOf(text) });

const size = object({
  slug: text,
  memory: { type: 'integer', multipleOf: 8, minimum: 8 },
  vcpus: int,
  disk: int,
  transfer: { type: 'number' },
  price_monthly: { type: 'number' },
  price_hourly: { type: 'number' },
  regions: listOf(text),
  available: flag,
  description: text,
});

const image = object({
  id: int,
  name: text,
  type: oneOf('base', 'snapshot', 'backup', 'custom', 'admin'),
  distribution: text,
  slug: nullable(text),
  public: flag,
  regions: listOf(text),
  created_at: time,
  min_disk_size: nullable(int),
  size_gigabytes: nullable({ type: 'number' }),
  description: text,
  tags: listOf(text),
  status: oneOf('NEW', 'available', 'pending', 'deleted', 'retired'),
  error_message: text,
});

export const droplet = object({
  id: int,
  name: text,
  memory: { type: 'integer', multipleOf: 8 },
  vcpus: int,
  disk: int,
  locked: flag,
  status: oneOf('new', 'active', 'off', 'archive'),
  kernel: { type: 'null' },
  created_at: time,
  features: listOf(text),
  backup_ids: listOf(int),
  next_backup_window: { type: 'null' },
  snapshot_ids: listOf(int),
  image,
  volume_ids: listOf(text),
  size,
  size_slug: text,
  networks: object({
    v4: listOf(object({ ip_address: ipv4, netmask: ipv4, gateway: text, type: oneOf('public', 'private') })),
    v6: listOf(object({ ip_address: ipv6, netmask: int, gateway: ipv6, type: oneOf('public') })),
  }),
  region,
  tags: listOf(text),
  vpc_uuid: text,
});

export const reservedIP = object({ ip: ipv4, region, droplet: nullable(droplet), locked: flag, project_id: uuid });
export const reservedIPv6 = object({ ip: ipv6, region_slug: text, reserved_at: time, droplet: nullable(droplet) }, ['droplet']);

/** What the answer to its creation says of it: less than a read. */
export const createdIPv6 = object({ ip: ipv6, region_slug: text, reserved_at: time });

const actionFields = {
  id: int,
  status: oneOf('in-progress', 'completed', 'errored'),
  type: text,
  started_at: time,
  completed_at: nullable(time),
  resource_id: nullable(int),
  resource_type: text,
  region,
  region_slug: nullable(text),
};

export const action = object({ ...actionFields, project_id: uuid }, ['project_id']);
export const actionIPv6 = object({ ...actionFields, resource_type: oneOf('reserved_ipv6'), type: oneOf('assign_ip', 'unassign_ip') });

const target = object(
  { addresses: listOf(text), droplet_ids: listOf(int), load_balancer_uids: listOf(text), kubernetes_ids: listOf(text), tags: listOf(text) },
  ['addresses', 'droplet_ids', 'load_balancer_uids', 'kubernetes_ids', 'tags'],
);

export const firewall = object({
  id: uuid,
  status: oneOf('waiting', 'succeeded', 'failed'),
  created_at: time,
  pending_changes: listOf(object({ droplet_id: int, removing: flag, status: text })),
  name: { type: 'string', pattern: '^[a-zA-Z0-9][a-zA-Z0-9\\.-]+$' },
  droplet_ids: listOf(int),
  tags: listOf(text),
  inbound_rules: listOf(object({ protocol: oneOf('tcp', 'udp', 'icmp'), ports: text, sources: target })),
  outbound_rules: listOf(object({ protocol: oneOf('tcp', 'udp', 'icmp'), ports: text, destinations: target })),
});

const tagged = { count: int, last_tagged_uri: text };
export const tag = object({
  name: { type: 'string', pattern: '^[a-zA-Z0-9_:-]+$' },
  resources: object({ ...tagged, droplets: object(tagged) }),
});

export const domain = object({ name: text, ttl: nullable(int), zone_file: nullable(text) });

export const domainRecord = object({
  id: int,
  type: text,
  name: text,
  data: text,
  priority: nullable(int),
  port: nullable(int),
  ttl: int,
  weight: nullable(int),
  flags: nullable(int),
  tag: nullable(text),
});

export const account = object({
  droplet_limit: int,
  floating_ip_limit: int,
  email: text,
  name: text,
  uuid: text,
  email_verified: flag,
  status: oneOf('active', 'warning', 'locked'),
  status_message: text,
  team: object({ uuid: text, name: text }),
});

export const error = object({ id: text, message: text, request_id: text }, ['request_id']);

const actionLink = object({ id: int, rel: text, href: { type: 'string', pattern: '^https?://' } });

/** The links of something just created. */
export const creationLinks = object({ droplets: listOf(actionLink), actions: listOf(actionLink) }, ['droplets', 'actions']);

/** A page of a list: the items, `links` and `meta.total`. */
export function pageOf(key: string, item: Schema): Schema {
  const pages = object({ first: text, prev: text, next: text, last: text }, ['first', 'prev', 'next', 'last']);
  return object({ [key]: listOf(item), links: object({ pages }, ['pages']), meta: object({ total: int }) });
}

export { object };
