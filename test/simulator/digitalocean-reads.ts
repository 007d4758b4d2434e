/** What the adapter reads of an answer, by the described call: `[]` for each item of a list. */
export const READS: Readonly<Record<string, readonly string[]>> = {
  ...addressReads('/v2/reserved_ips', 'reserved_ip'),
  ...addressReads('/v2/floating_ips', 'floating_ip'),
  'GET /v2/reserved_ipv6': [
    ...page('reserved_ipv6s'),
    'reserved_ipv6s[].ip',
    'reserved_ipv6s[].region_slug',
    'reserved_ipv6s[].droplet.id',
  ],
  'GET /v2/reserved_ipv6/{reserved_ipv6}': ['reserved_ipv6.ip', 'reserved_ipv6.region_slug', 'reserved_ipv6.droplet.id'],
  'POST /v2/reserved_ipv6/{reserved_ipv6}/actions': ['action.id', 'action.status'],
  'GET /v2/actions/{action_id}': ['action.id', 'action.status'],
  'GET /v2/byoip_prefixes': [...page('byoip_prefixes'), ...of('byoip_prefixes[]', 'prefix region status')],
  'GET /v2/droplets': [...page('droplets'), 'droplets[].id'],
  'GET /v2/droplets/{droplet_id}': of(
    'droplet',
    'region.slug features[] networks.v4[].type networks.v4[].ip_address networks.v6[].type networks.v6[].ip_address',
  ),
  'GET /v2/tags': [],
  'GET /v2/firewalls': [...page('firewalls'), ...firewallReads('firewalls[]')],
  'GET /v2/firewalls/{firewall_id}': firewallReads('firewall'),
  'GET /v2/domains/{domain_name}/records': [...page('domain_records'), ...of('domain_records[]', 'id type name data ttl')],
  'POST /v2/domains/{domain_name}/records': [],
  'PUT /v2/domains/{domain_name}/records/{domain_record_id}': [],
};

function of(place: string, names: string): readonly string[] {
  return names.split(' ').map((name) => `${place}.${name}`);
}

function page(key: string): readonly string[] {
  return [`${key}[]`, 'links.pages.next', 'meta.total'];
}

function addressReads(path: string, key: string): Readonly<Record<string, readonly string[]>> {
  const address = 'ip region.slug droplet.id locked';
  const action = ['action.id', 'action.status'];
  return {
    [`GET ${path}`]: [...page(`${key}s`), ...of(`${key}s[]`, address)],
    [`GET ${path}/{${key}}`]: of(key, address),
    [`POST ${path}`]: of(key, 'ip region.slug'),
    [`POST ${path}/{${key}}/actions`]: action,
    [`GET ${path}/{${key}}/actions/{action_id}`]: action,
  };
}

function firewallReads(place: string): readonly string[] {
  const targets = ['addresses', 'droplet_ids', 'load_balancer_uids', 'kubernetes_ids', 'tags'].map(
    (kind) => `inbound_rules[].sources.${kind}[]`,
  );
  const rules = ['inbound_rules[].protocol', 'inbound_rules[].ports', ...targets, 'outbound_rules[]'];
  return of(place, ['id', 'name', 'status', 'droplet_ids[]', 'tags[]', 'pending_changes[].droplet_id', ...rules].join(' '));
}

/** The body with nothing but what stands at these places. */
export function keptOf(body: unknown, places: readonly string[]): unknown {
  if (places.includes('') || typeof body !== 'object' || body === null) return body;
  if (Array.isArray(body)) return body.map((item) => keptOf(item, within(places, '[]')));
  const kept = Object.entries(body).map(([name, one]) => [name, one, within(places, name)] as const);
  return Object.fromEntries(kept.flatMap(([name, one, inside]) => (inside.length > 0 ? [[name, keptOf(one, inside)]] : [])));
}

/** The rest of the places that begin with this step. */
const within = (places: readonly string[], step: string): readonly string[] =>
  places.flatMap((place) => {
    const [first = '', ...rest] = place.replaceAll('[]', '.[]').replace(/^\./, '').split('.');
    return first === step ? [rest.join('.').replaceAll('.[]', '[]')] : [];
  });
