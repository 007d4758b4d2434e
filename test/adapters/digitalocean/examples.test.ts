import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Call } from '../../../actors/ports/provider.ts';
import { createDigitalOceanProvider, type DigitalOceanProvider } from '../../../adapters/digitalocean/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { callOf, type DescribedBody, description, successOf } from '../../simulator/digitalocean-described.ts';
import { keptOf, READS } from '../../simulator/digitalocean-reads.ts';
import { recordingBudget, recordingLog } from './support.ts';

const call: Call = { purpose: 'verify' };
const IP = '45.55.96.47' as Address;
const IPV6 = '2409:40d0:f7:1017:74b4:3a96:105e:4c6e' as Address;
const NODE = 'digitalocean://3164444' as ProviderID;
const ACTION = '72531856';

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** By call, as `GET /v2/droplets`. All others are answered with 404. */
type Answers = Readonly<Record<string, Answer>>;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The adapter, and the calls that were made, in front of a server that knows these answers alone. */
async function inFrontOf(answers: Answers, addressAPI: 'reserved_ips' | 'floating_ips') {
  const made: string[] = [];
  const nothing: Answer = { status: 404, body: { id: 'not_found', message: 'The resource you were accessing could not be found.' } };
  const server = createServer((request, response) => {
    const name = callOf(request.method ?? '', request.url ?? '')?.name ?? '';
    made.push(name);
    const { status, body } = answers[name] ?? nothing;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = createDigitalOceanProvider({ token: 'test', url, addressAPI, budget: recordingBudget(), log: recordingLog() });
  closing.push(async () => {
    provider.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { provider, made };
}

/** How an example reaches the adapter, and what it makes of it. */
interface Reading {
  readonly ask: (provider: DigitalOceanProvider) => Promise<unknown>;
  /** By the name of the example. */
  readonly read: Readonly<Record<string, unknown>>;
  /** What else is answered. */
  readonly beside?: Answers;
  /** What is made of an error, by its status, where that is not the kind of error that the status stands for. */
  readonly refused?: Readonly<Record<string, unknown>>;
}

const lone = (providerID: string | null) => ({ address: IP, region: 'nyc3', providerID, locked: false });
const lone6 = (address: string, region: string, providerID: string | null) => ({ ...lone(providerID), address, region });

const byAddressAPI = (one: 'reserved_ip' | 'floating_ip'): Readonly<Record<string, Reading>> => ({
  [`GET /v2/${one}s`]: { ask: (provider) => provider.listRoutedIPs({ ...call, family: 4 }), read: { 'schema-1': [lone(null)] } },
  [`GET /v2/${one}s/{${one}}`]: {
    ask: (provider) => provider.findRoutedIP(IP, call),
    read: { [`${one}_assigned`]: lone(NODE), [`${one}_reserved`]: lone(null) },
  },
  [`POST /v2/${one}s`]: {
    ask: (provider) => provider.createRoutedIP('nyc3', call),
    read: { [`${one}_assigning`]: IP, [`${one}_reserving`]: IP },
  },
  [`POST /v2/${one}s/{${one}}/actions`]: {
    ask: (provider) => provider.assignRoutedIP(IP, NODE, call),
    read: { 'schema-1': ACTION },
    // The address is not found either.
    refused: { 400: 'NotFound', 422: 'NotFound' },
  },
  [`GET /v2/${one}s/{${one}}/actions/{action_id}`]: {
    ask: (provider) => provider.actionState(IP, ACTION, call),
    read: { 'schema-1': 'completed' },
    refused: { 404: 'unknown' },
  },
});

const records = ['ns1.digitalocean.com', 'ns2.digitalocean.com', 'ns3.digitalocean.com', '1.2.3.4'].map((data, n) => ({
  ...{ id: String(28448429 + n), type: n === 3 ? 'A' : 'NS', name: '@', data, ttlSeconds: 1800, proxied: false },
}));
const record = { type: 'A', name: 'www', data: '162.10.66.0', ttlSeconds: 1800, proxied: false };

const firewall = (id: string) => ({
  ...{ id, name: 'firewall', ports: [], nodes: ['digitalocean://8043964'], pending: false },
  // A load balancer as source; a tag beside an address; one outbound rule.
  ...{ otherRules: 3, freeRules: 47 },
});
/** With tags or without any that can be seen, and nothing else. */
const emptyFirewall = (tags: readonly string[] | null): Answer => ({
  status: 200,
  body: { firewalls: [{ id: 'a', name: 'firewall', status: 'succeeded', droplet_ids: [], tags }], links: {}, meta: { total: 1 } },
});
const refusal: Answer = { status: 422, body: { id: 'unprocessable_entity', message: 'No.' } };
const ok = (body: unknown): Answer => ({ status: 200, body });

/** Why an address is not assigned, as the Droplet shows it: neither of the two reasons for another Droplet. */
const whyRefused = async (provider: DigitalOceanProvider): Promise<unknown> => {
  const kindOf = (address: Address) =>
    provider.assignRoutedIP(address, NODE, call).then(
      () => 'assigned',
      (error: ProviderError) => error.kind,
    );
  return [await provider.findNode(NODE, call), await kindOf(IP), await kindOf(IPV6)];
};

const READINGS: Readonly<Record<string, Reading>> = {
  ...byAddressAPI('reserved_ip'),
  ...byAddressAPI('floating_ip'),
  'GET /v2/reserved_ipv6': {
    ask: (provider) => provider.listRoutedIPs({ ...call, family: 6 }),
    // Its total is 1: a list that shows more than it says is not cut.
    read: { 'schema-1': [lone6('fd53:616d:6d60::dc9:c001', 'nyc3', null), lone6('fd53:616d:6d60::dc9:c002', 'nyc1', null)] },
    refused: { 404: [] },
  },
  'GET /v2/reserved_ipv6/{reserved_ipv6}': {
    ask: (provider) => provider.findRoutedIP(IPV6, call),
    read: { reserved_ipv6_assigned: lone6(IPV6, 'nyc3', NODE), reserved_ipv6_reserved: lone6(IPV6, 'nyc3', null) },
  },
  'POST /v2/reserved_ipv6/{reserved_ipv6}/actions': {
    ask: (provider) => provider.assignRoutedIP(IPV6, NODE, call),
    read: { 'schema-1': ACTION },
    refused: { 400: 'NotFound', 422: 'NotFound' },
  },
  'GET /v2/byoip_prefixes': {
    ask: async (provider) => {
      const first = await provider.findRoutedIP('203.0.113.9' as Address, call);
      // It is of a prefix that is not active yet.
      const second = await provider.findRoutedIP('203.1.113.9' as Address, call).catch(({ kind }: ProviderError) => kind);
      return [first, second];
    },
    read: { default: [{ ...lone(null), address: '203.0.113.9' }, 'NotFound'] },
    refused: { 401: 'NotFound' },
  },
  'GET /v2/droplets': {
    ask: async (provider) => (await provider.findRoutedIPFirewall('firewall', call))?.nodes,
    beside: { 'GET /v2/firewalls': emptyFirewall(['web']) },
    read: {
      'All Droplets': ['digitalocean://3164412', NODE, 'digitalocean://3164459'],
      'Droplets Filtered By Tag': [NODE, 'digitalocean://3164459'],
      'GPU Droplets': ['digitalocean://448543583'],
    },
  },
  'GET /v2/droplets/{droplet_id}': {
    ask: whyRefused,
    beside: {
      'POST /v2/reserved_ips/{reserved_ip}/actions': refusal,
      'GET /v2/reserved_ips/{reserved_ip}': ok({ reserved_ip: { ip: IP, region: { slug: 'nyc3' }, droplet: null, locked: false } }),
      'POST /v2/reserved_ipv6/{reserved_ipv6}/actions': refusal,
      'GET /v2/reserved_ipv6/{reserved_ipv6}': ok({ reserved_ipv6: { ip: IPV6, region_slug: 'nyc3', droplet: null } }),
      'GET /v2/reserved_ipv6': ok({ reserved_ipv6s: [], links: {}, meta: { total: 0 } }),
    },
    read: { 'Single Droplet': ['present', 'Invalid', 'Invalid'] },
    refused: { 404: ['gone', 'NotFound', 'NotFound'] },
  },
  'GET /v2/tags': {
    ask: async (provider) => (await provider.findRoutedIPFirewall('firewall', call))?.name,
    beside: { 'GET /v2/firewalls': emptyFirewall(null) },
    read: { 'schema-1': 'firewall' },
    // Where there are no tags at all nobody bears any.
    refused: { 404: 'firewall' },
  },
  'GET /v2/firewalls': {
    ask: (provider) => provider.findRoutedIPFirewall('firewall', call),
    read: { default: firewall('fb6045f1-cf1d-4ca3-bfac-18832663025b') },
  },
  'GET /v2/firewalls/{firewall_id}': {
    ask: (provider) => provider.findRoutedIPFirewall('bb4b2611-3d72-467b-8602-280330ecd65c', call),
    read: { default: firewall('bb4b2611-3d72-467b-8602-280330ecd65c') },
    refused: { 404: null },
  },
  'GET /v2/domains/{domain_name}/records': {
    ask: (provider) => provider.listDNSRecords('example.com', call),
    read: { 'All Domain Records': { name: 'example.com', records } },
  },
  'POST /v2/domains/{domain_name}/records': {
    ask: (provider) => provider.createDNSRecord('example.com', record, call),
    read: { 'schema-1': undefined },
  },
  'PUT /v2/domains/{domain_name}/records/{domain_record_id}': {
    ask: (provider) => provider.updateDNSRecord('example.com', { ...record, id: '28448432' }, call),
    read: { 'schema-1': undefined },
  },
};

/** What the adapter makes of it: what it read, or the error, with the calls that it made. */
async function madeOf(name: string, answer: Answer) {
  const reading = READINGS[name];
  const addressAPI = name.includes('floating') ? 'floating_ips' : 'reserved_ips';
  const { provider, made } = await inFrontOf({ ...reading?.beside, [name]: answer }, addressAPI);
  const result: unknown = await reading?.ask(provider).catch((error: unknown) => error);
  return { result, made };
}

const examplesOf = ({ examples = {} }: DescribedBody): readonly (readonly [title: string, body: unknown])[] => Object.entries(examples);
const rows = Object.keys(READINGS).flatMap((name) => examplesOf(successOf(name)).map(([title, body]) => ({ name, title, body })));

describe('an answer that DigitalOcean publishes as an example', () => {
  test.each(rows)('of $name, "$title", is read', async ({ name, title, body }) => {
    const status = Number(Object.keys(description.calls[name]?.answers ?? {}).find((each) => each < '3'));
    const { result, made } = await madeOf(name, { status, body });
    expect(made).toContain(name);
    expect(result).toEqual(READINGS[name]?.read[title]);
    // Nothing else of it is read.
    const { result: ofLess } = await madeOf(name, { status, body: keptOf(body, READS[name] ?? []) });
    expect(ofLess).toEqual(result);
  });

  test('is one of every call whose answer is read', () => {
    expect(Object.entries(READINGS).map(([name, { read }]) => [name, Object.keys(read).sort()])).toEqual(
      Object.keys(READINGS).map((name) => [name, Object.keys(successOf(name).examples ?? {}).sort()]),
    );
    // Of single actions none is published: those of addresses are the same.
    expect(Object.keys(READS).filter((name) => !(name in READINGS))).toEqual(['GET /v2/actions/{action_id}']);
  });
});

const KINDS: Readonly<Record<string, string>> = {
  400: 'Invalid',
  401: 'Unauthorized',
  404: 'NotFound',
  422: 'Invalid',
  429: 'RateLimited',
};

const refusals = Object.keys(READINGS).flatMap((name) =>
  Object.entries(description.calls[name]?.answers ?? {}).flatMap(([status, answer]) =>
    status < '3' ? [] : examplesOf(answer).map(([, body]) => ({ name, status, body: body as { readonly message: string } })),
  ),
);

describe('an error that DigitalOcean publishes as an example', () => {
  test.each(refusals)('of $name, $status, is a ProviderError that says what it says', async ({ name, status, body }) => {
    // What any other status says.
    const { result, made } = await madeOf(name, { status: status === 'default' ? 503 : Number(status), body });
    expect(made).toContain(name);
    const otherwise = READINGS[name]?.refused ?? {};
    if (status in otherwise && !(result instanceof ProviderError)) return expect(result).toEqual(otherwise[status]);
    expect(result).toBeInstanceOf(ProviderError);
    expect((result as ProviderError).kind).toBe(otherwise[status] ?? KINDS[status] ?? 'Unavailable');
    expect((result as ProviderError).message).toContain(otherwise[status] ? '404' : body.message);
  });
});
