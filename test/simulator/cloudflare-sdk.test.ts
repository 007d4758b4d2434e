import Cloudflare from 'cloudflare';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../actors/ports/provider.ts';
import { createCloudflareProvider } from '../../adapters/cloudflare/provider.ts';
import { type CloudflareSimulator, startCloudflare } from '../../simulator/cloudflare/server.ts';
import { recordingBudget, recordingLog } from '../adapters/digitalocean/support.ts';

const call: Call = { purpose: 'dns' };

let simulator: CloudflareSimulator;
let client: Cloudflare;
let zone_id: string;
beforeEach(async () => {
  simulator = await startCloudflare({ zones: ['example.com'] });
  simulator.allow('test', {});
  client = new Cloudflare({ apiToken: 'test', baseURL: `${simulator.url}/client/v4`, maxRetries: 0 });
  [zone_id = ''] = simulator.zones.keys();
});
/** Calls as `GET /zones/{}`. */
const called = (): readonly string[] =>
  simulator.calls.all().map(({ method, path }) => `${method} ${path.replace(/\?.*|^\/client\/v4/g, '').replace(/[0-9a-f]{32}/g, '{}')}`);
const made = new Set<string>();
afterEach(() => {
  for (const call of called()) made.add(call);
  return simulator.close();
});

type Kind<T> = T extends string
  ? 'string'
  : T extends number
    ? 'number'
    : T extends boolean
      ? 'boolean'
      : T extends readonly unknown[]
        ? 'array'
        : 'object';
type RequiredOf<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T];
/** What an answer has by its type in Cloudflare's client: the compiler sees to it that nothing is forgotten. */
type Kinds<T> = { readonly [K in RequiredOf<T>]: Kind<NonNullable<T[K]>> | (null extends T[K] ? 'null' : never) };

const OF_ZONE: Kinds<Cloudflare.Zones.Zone> = {
  ...{ id: 'string', name: 'string', account: 'object', owner: 'object', meta: 'object', plan: 'object', development_mode: 'number' },
  ...{ activated_on: 'string', created_on: 'string', modified_on: 'string', name_servers: 'array' },
  ...{ original_dnshost: 'null', original_name_servers: 'null', original_registrar: 'null' },
};
const OF_RECORD: Kinds<Cloudflare.DNS.RecordResponse.ARecord> = {
  ...{ id: 'string', name: 'string', type: 'string', ttl: 'number', proxiable: 'boolean', meta: 'object' },
  ...{ created_on: 'string', modified_on: 'string' },
};
/** The kinds of what is there of these names. */
const kindsOf = (value: object, wanted: object): unknown =>
  Object.fromEntries(
    Object.keys(wanted).map((name) => {
      const one: unknown = Reflect.get(value, name);
      return [name, one === null ? 'null' : Array.isArray(one) ? 'array' : typeof one];
    }),
  );

const www = { type: 'A', name: 'www.example.com', content: '192.0.2.1', ttl: 60, proxied: false } as const;
const contents = () => [...(simulator.zones.get(zone_id)?.records.values() ?? [])].map(({ content }) => content);

describe('Cloudflare’s own client', () => {
  test('finds a zone by its name and by its id', async () => {
    const { result } = await client.zones.list({ name: 'example.com' });
    expect(result).toMatchObject([{ id: zone_id, name: 'example.com', status: 'active' }]);
    const zone = await client.zones.get({ zone_id });
    expect(zone).toEqual(result[0]);
    expect(kindsOf(zone, OF_ZONE)).toEqual(OF_ZONE);
    expect(zone.created_on).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test('lists all pages of zones, and of records', async () => {
    for (let n = 0; n < 24; n++) simulator.addZone({ name: `zone-${n}.example` });
    const zones: string[] = [];
    for await (const { name } of client.zones.list({ per_page: 10 })) zones.push(name);
    expect(new Set(zones).size).toBe(25);
    for (let n = 0; n < 7; n++) simulator.addRecord(zone_id, { ...www, content: `192.0.2.${n}` });
    const records: string[] = [];
    for await (const record of client.dns.records.list({ zone_id, per_page: 3, type: 'A', name: { exact: 'www.example.com' } }))
      records.push(record.content ?? '');
    expect(records).toEqual(Array.from({ length: 7 }, (_, n) => `192.0.2.${n}`));
  });

  test('creates, changes, replaces and deletes a record', async () => {
    const made = await client.dns.records.create({ zone_id, ...www, comment: 'kept' });
    expect(kindsOf(made, OF_RECORD)).toEqual(OF_RECORD);
    expect(made).toMatchObject({ ...www, comment: 'kept' });
    const { id: dns_record_id } = made;
    expect(await client.dns.records.get(dns_record_id, { zone_id })).toEqual(made);
    const changed = await client.dns.records.edit(dns_record_id, { zone_id, ...www, content: '192.0.2.2' });
    expect(changed).toMatchObject({ id: dns_record_id, content: '192.0.2.2', comment: 'kept' });
    const replaced = await client.dns.records.update(dns_record_id, { zone_id, ...www, content: '192.0.2.3' });
    expect(replaced).toMatchObject({ id: dns_record_id, content: '192.0.2.3', comment: null });
    expect(contents()).toEqual(['192.0.2.3']);
    expect(await client.dns.records.export({ zone_id })).toContain('www.example.com.\t60\tIN\tA\t192.0.2.3');
    expect(await client.dns.records.delete(dns_record_id, { zone_id })).toEqual({ id: dns_record_id });
    expect(contents()).toEqual([]);
  });

  test('knows each refusal by its class and its code', async () => {
    const record = 'ab'.repeat(16);
    const errors = (...codes: number[]) => ({ errors: codes.map((code) => expect.objectContaining({ code })) });
    const missing = client.dns.records.get(record, { zone_id }).catch((error: unknown) => error);
    expect(await missing).toBeInstanceOf(Cloudflare.NotFoundError);
    expect(await missing).toMatchObject({ status: 404, ...errors(81_044) });
    await client.dns.records.create({ zone_id, ...www });
    const twice = client.dns.records.create({ zone_id, ...www }).catch((error: unknown) => error);
    expect(await twice).toBeInstanceOf(Cloudflare.BadRequestError);
    expect(await twice).toMatchObject(errors(81_058));
    const stranger = new Cloudflare({ apiToken: 'stranger', baseURL: `${simulator.url}/client/v4`, maxRetries: 0 });
    simulator.allow('stranger', { zoneRead: false, dnsRead: false, dnsWrite: false });
    const refused = stranger.dns.records.list({ zone_id }).catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(Cloudflare.PermissionDeniedError);
    expect(await refused).toMatchObject(errors(10_000));
    simulator.faults.add({ kind: 'status', code: 429, times: 1 });
    expect(await client.zones.get({ zone_id }).catch((error: unknown) => error)).toBeInstanceOf(Cloudflare.RateLimitError);
  });

  test('has made every call that the adapter makes', async () => {
    const before = new Set(made);
    const provider = createCloudflareProvider({ token: 'test', url: simulator.url, budget: recordingBudget(), log: recordingLog() });
    const record = { type: 'A', name: 'www', data: '192.0.2.1', ttlSeconds: 60, proxied: false };
    for (const zone of ['example.com', zone_id]) {
      await provider.createDNSRecord(zone, record, call);
      const [{ id = '' } = {}] = (await provider.listDNSRecords(zone, call)).records;
      await provider.updateDNSRecord(zone, { ...record, id, ttlSeconds: 120 }, call);
      await provider.deleteDNSRecord(zone, id, call);
    }
    // To a token that may not read the zone its export tells its name.
    simulator.allow('test', { zoneRead: false });
    const narrow = createCloudflareProvider({ token: 'test', url: simulator.url, budget: recordingBudget(), log: recordingLog() });
    await narrow.listDNSRecords(zone_id, call);
    for (const each of [provider, narrow]) each.close();
    const ofAdapter = [...new Set(called())].sort();
    expect(ofAdapter).toEqual([
      ...['DELETE /zones/{}/dns_records/{}', 'GET /zones', 'GET /zones/{}', 'GET /zones/{}/dns_records'],
      ...['GET /zones/{}/dns_records/export', 'PATCH /zones/{}/dns_records/{}', 'POST /zones/{}/dns_records'],
    ]);
    expect(ofAdapter.filter((each) => !before.has(each))).toEqual([]);
  });
});
