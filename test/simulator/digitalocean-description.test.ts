import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as schemas from './digitalocean-schemas.ts';
import { startTestCloud, type TestCloud, type TestReply } from './digitalocean-support.ts';

const { object, pageOf, reservedIP, action, droplet, firewall, domain, domainRecord, creationLinks } = schemas;
const ajv = new Ajv({ strict: false, allErrors: true });

let cloud: TestCloud;
/** What the premise made, by the names that the paths use. */
const made: Record<string, string> = {};
const filled = (path: string): string => path.replace(/\{(\w+)\}/g, (_, name: string) => made[name] ?? `no ${name}`);

beforeAll(async () => {
  cloud = await startTestCloud({ reservedIPQuota: 20 });
  const { simulator, call, clock } = cloud;
  simulator.addDroplet({ id: 11, name: 'a', region: 'nyc3', tags: ['web'], ipv6: true });
  simulator.addDroplet({ id: 12, name: 'b', region: 'nyc3' });
  made.ip = simulator.addReservedIP({ region: 'nyc3' }).ip;
  made.unassigned = simulator.addReservedIP({ region: 'fra1' }).ip;
  made.actionId = String(
    (await call('POST', filled('/v2/reserved_ips/{ip}/actions'), { type: 'assign', droplet_id: 11 })).body.at('action', 'id').raw,
  );
  clock.advance(2000);
  const rules = {
    name: 'front',
    inbound_rules: [{ protocol: 'tcp', ports: '80', sources: { addresses: ['0.0.0.0/0'] } }],
    droplet_ids: [11],
  };
  made.firewallId = String((await call('POST', '/v2/firewalls', rules)).body.at('firewall', 'id').raw);
  await call('POST', '/v2/domains', { name: 'example.com' });
  const record = { type: 'A', name: 'www', data: '192.0.2.1' };
  made.recordId = String((await call('POST', '/v2/domains/example.com/records', record)).body.at('domain_record', 'id').raw);
  made.held = simulator.addReservedIP({ region: 'nyc3', family: 6, dropletId: 11 }).ip;
  simulator.addDroplet({ id: 13, name: 'd', region: 'nyc3', ipv6: true });
  made.six = String((await call('POST', '/v2/reserved_ipv6', { region_slug: 'nyc3' })).body.at('reserved_ipv6', 'ip').raw);
});
afterAll(() => cloud.simulator.close());

interface Case {
  readonly title: string;
  readonly method: string;
  /** With names in braces for what the premise made. */
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly schema: Readonly<Record<string, unknown>> | null;
}

const get = (path: string, schema: Readonly<Record<string, unknown>>): Case => ({
  title: '',
  method: 'GET',
  path,
  status: 200,
  schema,
});

const reads: readonly Case[] = [
  get('/v2/account', object({ account: schemas.account })),
  get('/v2/droplets', pageOf('droplets', droplet)),
  get('/v2/droplets?per_page=1', pageOf('droplets', droplet)),
  get('/v2/droplets/11', object({ droplet })),
  get('/v2/droplets/11/firewalls', pageOf('firewalls', firewall)),
  get('/v2/tags', pageOf('tags', schemas.tag)),
  get('/v2/tags/web', object({ tag: schemas.tag })),
  get('/v2/reserved_ips', pageOf('reserved_ips', reservedIP)),
  get('/v2/reserved_ips/{ip}', object({ reserved_ip: reservedIP })),
  get('/v2/reserved_ips/{unassigned}', object({ reserved_ip: reservedIP })),
  get('/v2/reserved_ips/{ip}/actions', pageOf('actions', action)),
  get('/v2/reserved_ips/{ip}/actions/{actionId}', object({ action })),
  get('/v2/floating_ips', pageOf('floating_ips', reservedIP)),
  get('/v2/floating_ips/{ip}', object({ floating_ip: reservedIP })),
  get('/v2/actions', pageOf('actions', action)),
  get('/v2/actions/{actionId}', object({ action })),
  get('/v2/reserved_ipv6', pageOf('reserved_ipv6s', schemas.reservedIPv6)),
  get('/v2/reserved_ipv6/{six}', object({ reserved_ipv6: schemas.reservedIPv6 })),
  get('/v2/reserved_ipv6/{held}', object({ reserved_ipv6: schemas.reservedIPv6 })),
  get('/v2/firewalls', pageOf('firewalls', firewall)),
  get('/v2/firewalls/{firewallId}', object({ firewall })),
  get('/v2/domains', pageOf('domains', domain)),
  get('/v2/domains/example.com', object({ domain })),
  get('/v2/domains/example.com/records', pageOf('domain_records', domainRecord)),
  get('/v2/domains/example.com/records/{recordId}', object({ domain_record: domainRecord })),
];

const createdAddress = object({ reserved_ip: reservedIP, links: creationLinks });
const newFirewall = { name: 'back', outbound_rules: [{ protocol: 'icmp', destinations: { tags: ['web'] } }] };
const newRules = [{ protocol: 'tcp', ports: '443', sources: { addresses: ['0.0.0.0/0', '::/0'] } }];
const newDroplet = { name: 'w', region: 'nyc3', size: 's-1vcpu-1gb', image: 'debian-12-x64' };

const writes: readonly Case[] = [
  {
    title: 'in a region',
    method: 'POST',
    path: '/v2/reserved_ips',
    body: { region: 'nyc3' },
    status: 202,
    schema: createdAddress,
  },
  {
    title: 'for a droplet',
    method: 'POST',
    path: '/v2/reserved_ips',
    body: { droplet_id: 12 },
    status: 202,
    schema: createdAddress,
  },
  {
    title: 'unassign',
    method: 'POST',
    path: '/v2/reserved_ips/{ip}/actions',
    body: { type: 'unassign' },
    status: 201,
    schema: object({ action }),
  },
  { title: '', method: 'DELETE', path: '/v2/reserved_ips/{unassigned}', status: 204, schema: null },
  {
    title: 'in a region',
    method: 'POST',
    path: '/v2/reserved_ipv6',
    body: { region_slug: 'nyc3' },
    status: 201,
    schema: object({ reserved_ipv6: schemas.createdIPv6 }),
  },
  {
    title: 'assign',
    method: 'POST',
    path: '/v2/reserved_ipv6/{six}/actions',
    body: { type: 'assign', droplet_id: 13 },
    status: 201,
    schema: object({ action: schemas.actionIPv6 }),
  },
  {
    title: 'unassign',
    method: 'POST',
    path: '/v2/reserved_ipv6/{held}/actions',
    body: { type: 'unassign' },
    status: 201,
    schema: object({ action: schemas.actionIPv6 }),
  },
  { title: 'of a held one', method: 'DELETE', path: '/v2/reserved_ipv6/{held}', status: 422, schema: schemas.error },
  {
    title: '',
    method: 'POST',
    path: '/v2/droplets',
    body: newDroplet,
    status: 202,
    schema: object({ droplet, links: creationLinks }),
  },
  { title: '', method: 'POST', path: '/v2/firewalls', body: newFirewall, status: 202, schema: object({ firewall }) },
  {
    title: '',
    method: 'PUT',
    path: '/v2/firewalls/{firewallId}',
    body: { ...newFirewall, name: 'front' },
    status: 200,
    schema: object({ firewall }),
  },
  ...['POST', 'DELETE'].flatMap((method): Case[] => [
    { title: '', method, path: '/v2/firewalls/{firewallId}/rules', body: { inbound_rules: newRules }, status: 204, schema: null },
    { title: '', method, path: '/v2/firewalls/{firewallId}/droplets', body: { droplet_ids: [12] }, status: 204, schema: null },
    { title: '', method, path: '/v2/firewalls/{firewallId}/tags', body: { tags: ['web'] }, status: 204, schema: null },
    { title: 'of none', method, path: '/v2/firewalls/none/rules', body: { inbound_rules: newRules }, status: 404, schema: schemas.error },
    { title: 'without droplets', method, path: '/v2/firewalls/{firewallId}/droplets', body: {}, status: 422, schema: schemas.error },
  ]),
  { title: 'of a name that is taken', method: 'POST', path: '/v2/firewalls', body: newFirewall, status: 409, schema: schemas.error },
  { title: '', method: 'POST', path: '/v2/tags', body: { name: 'new' }, status: 201, schema: object({ tag: schemas.tag }) },
  { title: '', method: 'POST', path: '/v2/domains', body: { name: 'example.net' }, status: 201, schema: object({ domain }) },
  {
    title: '',
    method: 'POST',
    path: '/v2/domains/example.com/records',
    body: { type: 'A', name: 'x', data: '192.0.2.2' },
    status: 201,
    schema: object({ domain_record: domainRecord }),
  },
  {
    title: '',
    method: 'PATCH',
    path: '/v2/domains/example.com/records/{recordId}',
    body: { ttl: 99 },
    status: 200,
    schema: object({ domain_record: domainRecord }),
  },
  { title: '', method: 'DELETE', path: '/v2/firewalls/{firewallId}', status: 204, schema: null },
  { title: 'without a region', method: 'POST', path: '/v2/reserved_ipv6', body: {}, status: 422, schema: schemas.error },
  { title: 'unknown', method: 'GET', path: '/v2/reserved_ipv6/2001:db8::ffff', status: 404, schema: schemas.error },
  { title: 'unknown', method: 'GET', path: '/v2/droplets/1', status: 404, schema: schemas.error },
  { title: 'invalid', method: 'POST', path: '/v2/reserved_ips', body: {}, status: 422, schema: schemas.error },
  { title: 'no JSON', method: 'POST', path: '/v2/firewalls', body: '{', status: 400, schema: schemas.error },
];

function expectShape(reply: TestReply, expected: Case): void {
  expect(reply.status).toBe(expected.status);
  for (const header of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
    expect(reply.headers.get(header), header).toMatch(/^\d+$/);
  if (expected.schema === null) {
    expect(reply.text).toBe('');
    return;
  }
  const valid = ajv.compile(expected.schema);
  valid(reply.body.raw);
  expect(valid.errors ?? []).toEqual([]);
}

describe('answers have the shape of the published description', () => {
  for (const one of [...reads, ...writes]) {
    test(`${one.method} ${one.path} ${one.title}`.trimEnd(), async () => {
      expectShape(await cloud.call(one.method, filled(one.path), one.body), one);
    });
  }

  test('and the check can fail', async () => {
    const reply = await cloud.call('GET', '/v2/account');
    expect(() => expectShape(reply, get('', object({ account: droplet })))).toThrow();
  });
});
