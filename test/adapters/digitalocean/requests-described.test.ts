import { beforeAll, describe, expect, test } from 'vitest';
import type { Call, Provider } from '../../../actors/ports/provider.ts';
import type { AddressAPI } from '../../../adapters/digitalocean/addresses.ts';
import type { Address, Port, ProviderID } from '../../../machines/model/types.ts';
import type { DigitalOceanSimulator } from '../../../simulator/digitalocean/server.ts';
import { callOf, description, names, wrongs, wrongsInTexts } from '../../simulator/digitalocean-described.ts';
import { READS } from '../../simulator/digitalocean-reads.ts';
import { request } from '../../simulator/digitalocean-support.ts';
import { waitFor } from '../../support/wait-for.ts';
import { secret, startTestBed } from './support.ts';

const call: Call = { purpose: 'verify' };

interface Sent {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: unknown;
}

/** Droplets a, b and c, which bears a tag; a firewall `front` for the tag; a zone. */
async function furnish(simulator: DigitalOceanSimulator): Promise<readonly [ProviderID, ProviderID, ProviderID]> {
  const droplet = (name: string, ...tags: string[]): ProviderID =>
    `digitalocean://${simulator.addDroplet({ name, region: 'nyc3', ipv6: true, tags }).id}` as ProviderID;
  const nodes = [droplet('a'), droplet('b'), droplet('c', 'web')] as const;
  simulator.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
  const post = (path: string, body: unknown) => request(simulator.url, { method: 'POST', path, body, token: secret });
  const range = { protocol: 'tcp', ports: '8000-9000', sources: { tags: ['web'] } };
  await post('/v2/firewalls', { name: 'front', inbound_rules: [range], tags: ['web'] });
  await post('/v2/domains', { name: 'example.com' });
  return nodes;
}

/** Every verb, in every way in which it makes other requests. */
async function askAll(
  provider: Provider,
  simulator: DigitalOceanSimulator,
  nodes: readonly [ProviderID, ProviderID, ProviderID],
): Promise<void> {
  const four = await provider.createRoutedIP('nyc3', call);
  // Nobody holds any: whether the token may see Droplets is asked, too.
  await provider.listRoutedIPs({ ...call, family: 4 });
  await provider.findRoutedIP('198.51.100.7' as Address, call);
  await askOfAddress(provider, simulator, four, nodes);
  await askOfAddress(provider, simulator, simulator.addReservedIP({ region: 'nyc3', family: 6 }).ip as Address, nodes);
  await provider.listRoutedIPs({ ...call, family: 6 });
  await provider.findNode(nodes[0], call);
  await askOfFirewalls(provider, simulator, nodes);
  await askOfRecords(provider);
}

async function askOfAddress(
  provider: Provider,
  simulator: DigitalOceanSimulator,
  address: Address,
  [a, b]: readonly [ProviderID, ProviderID, ProviderID],
): Promise<void> {
  const isHeldBy = async (node: ProviderID | null) => (await provider.findRoutedIP(address, call)).providerID === node;
  const action = await provider.assignRoutedIP(address, a, call);
  await provider.actionState(address, action ?? '', call);
  await waitFor('the first droplet holds it', () => isHeldBy(a));
  // A second one is refused, and the adapter reads why.
  const { ip: second } = simulator.addReservedIP({ region: 'nyc3', family: address.includes(':') ? 6 : 4 });
  await expect(provider.assignRoutedIP(second as Address, a, call)).rejects.toMatchObject({ kind: 'NodeInUse' });
  await provider.assignRoutedIP(address, b, call);
  await waitFor('the second one does', () => isHeldBy(b));
  await provider.unassignRoutedIP(address, call);
  await waitFor('nobody does', () => isHeldBy(null));
  await provider.deleteRoutedIP(address, call);
}

async function askOfFirewalls(provider: Provider, simulator: DigitalOceanSimulator, nodes: readonly ProviderID[]): Promise<void> {
  const found = await provider.findRoutedIPFirewall('front', call);
  await provider.findRoutedIPFirewall(found?.id ?? '', call);
  const ports: readonly Port[] = [
    { port: 443, protocol: 'TCP' },
    { port: 53, protocol: 'UDP', sources: ['192.0.2.0/24', '2001:db8::/32'] },
  ];
  await provider.addRoutedIPFirewallPort('front', ports, call);
  await provider.addRoutedIPFirewallNode('front', nodes, call);
  const gone = 'digitalocean://99' as ProviderID;
  await expect(provider.addRoutedIPFirewallNode('front', [gone], call)).rejects.toMatchObject({ kind: 'Unavailable' });
  await provider.deleteRoutedIPFirewallPort('front', ports, call);
  await provider.deleteRoutedIPFirewallNode('front', nodes, call);
  // The firewall says nothing of tags: whether the token may see any is asked.
  const hidden = simulator.faults.add({ kind: 'lacksScope', scope: 'tag:read', match: { path: '/firewalls' } });
  await provider.listRoutedIPFirewalls(['front'], call);
  hidden.remove();
}

async function askOfRecords(provider: Provider): Promise<void> {
  const wanted = { A: '192.0.2.1', AAAA: '2001:db8::1', TXT: '"owner=us"' };
  for (const [type, data] of Object.entries(wanted)) {
    const record = { type, name: 'www', data, ttlSeconds: 60, proxied: false };
    await provider.createDNSRecord('example.com', record, call);
    const { records } = await provider.listDNSRecords('example.com', call);
    const { id = '' } = records.find((each) => each.type === type && each.name === 'www') ?? {};
    await provider.updateDNSRecord('example.com', { ...record, id, ttlSeconds: 120 }, call);
    await provider.deleteDNSRecord('example.com', id, call);
  }
}

/** The provider, which notes what is asked of it. */
const watched = (provider: Provider, asked: Set<string>): Provider =>
  new Proxy(provider, {
    get: (target, name) => {
      asked.add(String(name));
      return Reflect.get(target, name);
    },
  });

/** What stands against the request in the description, as sentences. */
function defectsOf({ method, path, body }: Sent): readonly string[] {
  const found = callOf(method, path);
  if (!found) return [`${method} ${path} is not described`];
  const { name, call: described } = found;
  const query = Object.fromEntries(new URLSearchParams(path.split('?')[1] ?? ''));
  const { schema } = described.request ?? {};
  const ofBody = schema
    ? [...wrongs(schema, body), ...names('unknown', schema, body).map((place) => `${place} is not described`)]
    : body === null
      ? []
      : ['it has a body'];
  return [...wrongsInTexts(described.path, found.path), ...wrongsInTexts(described.query, query), ...ofBody].map(
    (defect) => `${name}: ${defect}`,
  );
}

describe.each<AddressAPI>(['reserved_ips', 'floating_ips'])('what the adapter sends by %s', (addressAPI) => {
  const asked = new Set<string>();
  let verbs: readonly string[] = [];
  let sent: readonly Sent[] = [];
  const made = (): ReadonlySet<string> => new Set(sent.map(({ method, path }) => callOf(method, path)?.name ?? `${method} ${path}`));

  beforeAll(async () => {
    const { simulator, provider, close } = await startTestBed({ addressAPI });
    try {
      const nodes = await furnish(simulator);
      simulator.calls.clear();
      verbs = Object.entries(provider).flatMap(([name, value]) => (typeof value === 'function' && name !== 'close' ? [name] : []));
      await askAll(watched(provider, asked), simulator, nodes);
      sent = simulator.calls.all();
    } finally {
      await close();
    }
  });

  test('is every request of every verb', () => {
    expect([...asked].sort()).toEqual([...verbs].sort());
    const one = addressAPI === 'reserved_ips' ? 'reserved_ip' : 'floating_ip';
    expect([...made()].sort()).toEqual(
      [
        ...[`GET /v2/${one}s`, `POST /v2/${one}s`, `GET /v2/${one}s/{${one}}`, `DELETE /v2/${one}s/{${one}}`],
        ...[`POST /v2/${one}s/{${one}}/actions`, `GET /v2/${one}s/{${one}}/actions/{action_id}`],
        ...['GET /v2/reserved_ipv6', 'GET /v2/reserved_ipv6/{reserved_ipv6}', 'DELETE /v2/reserved_ipv6/{reserved_ipv6}'],
        ...['POST /v2/reserved_ipv6/{reserved_ipv6}/actions', 'GET /v2/actions/{action_id}', 'GET /v2/byoip_prefixes'],
        ...['GET /v2/droplets', 'GET /v2/droplets/{droplet_id}', 'GET /v2/tags', 'GET /v2/firewalls', 'GET /v2/firewalls/{firewall_id}'],
        ...['POST', 'DELETE'].flatMap((method) => ['rules', 'droplets'].map((part) => `${method} /v2/firewalls/{firewall_id}/${part}`)),
        ...['GET', 'POST'].map((method) => `${method} /v2/domains/{domain_name}/records`),
        ...['PUT', 'DELETE'].map((method) => `${method} /v2/domains/{domain_name}/records/{domain_record_id}`),
      ].sort(),
    );
  });

  test('is as the published description has it', () => {
    expect([...new Set(sent.flatMap(defectsOf))]).toEqual([]);
  });

  test('is answered by what it is known to read', () => {
    expect([...made()].filter((name) => name.startsWith('GET') && !(name in READS))).toEqual([]);
  });
});

describe('the description that the requests are judged by', () => {
  test('names its commit', () => {
    expect(description).toMatchObject({ repository: 'digitalocean/openapi', commit: expect.stringMatching(/^[0-9a-f]{40}$/) });
  });

  const ip = '/v2/reserved_ips/192.0.2.1';
  test.each<readonly [found: string, sent: Sent]>([
    ['is not described', { method: 'POST', path: '/v2/reserved_ips/192.0.2.1/move', body: {} }],
    ['must have required property', { method: 'POST', path: '/v2/reserved_ips', body: {} }],
    ['droplet is not described', { method: 'POST', path: `${ip}/actions`, body: { type: 'unassign', droplet: 1 } }],
    [
      'must be integer',
      { method: 'POST', path: '/v2/firewalls/0f0e0d0c-0b0a-4908-8706-050403020100/droplets', body: { droplet_ids: ['1'] } },
    ],
    ['must be <= 200', { method: 'GET', path: '/v2/firewalls?per_page=500', body: null }],
    ['must NOT have additional properties', { method: 'GET', path: '/v2/firewalls?name=front', body: null }],
    ['must match format "ipv4"', { method: 'DELETE', path: '/v2/reserved_ips/www', body: null }],
    ['it has a body', { method: 'DELETE', path: ip, body: {} }],
  ])('finds that one %s', (found, spoilt) => expect(defectsOf(spoilt).join('\n')).toContain(found));
});
