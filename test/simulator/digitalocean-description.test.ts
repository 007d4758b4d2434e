import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allRoutes } from '../../simulator/digitalocean/routes/all.ts';
import { callOf, description, isDescribed, names, type Schema, successOf, wrongs } from './digitalocean-described.ts';
import { READS } from './digitalocean-reads.ts';
import { startTestCloud, type TestCloud, type TestReply } from './digitalocean-support.ts';

let cloud: TestCloud;
/** What the premise made, by the names that the paths use. */
const made: Record<string, string> = {};
const filled = (path: string): string => path.replace(/\{(\w+)\}/g, (_, name: string) => made[name] ?? `no ${name}`);

beforeAll(async () => {
  cloud = await startTestCloud({ reservedIPQuota: 20 });
  const { simulator, call, clock } = cloud;
  const idOf = async (path: string, body: unknown, ...at: string[]): Promise<string> =>
    String((await call('POST', filled(path), body)).body.at(...at).raw);
  simulator.addDroplet({ id: 11, name: 'a', region: 'nyc3', tags: ['web'], ipv6: true });
  simulator.addDroplet({ id: 12, name: 'b', region: 'nyc3' });
  simulator.addDroplet({ id: 13, name: 'd', region: 'nyc3', ipv6: true });
  simulator.addDroplet({ id: 14, name: 'e', region: 'nyc3' });
  simulator.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
  made.ip = simulator.addReservedIP({ region: 'nyc3' }).ip;
  made.unassigned = simulator.addReservedIP({ region: 'fra1' }).ip;
  made.floating = simulator.addReservedIP({ region: 'nyc3' }).ip;
  made.useless = simulator.addReservedIP({ region: 'nyc3' }).ip;
  made.actionId = await idOf('/v2/reserved_ips/{ip}/actions', { type: 'assign', droplet_id: 11 }, 'action', 'id');
  clock.advance(2000);
  const rule = { protocol: 'tcp', ports: '80', sources: { addresses: ['0.0.0.0/0'] } };
  made.firewallId = await idOf('/v2/firewalls', { name: 'front', inbound_rules: [rule], droplet_ids: [11] }, 'firewall', 'id');
  await call('POST', '/v2/domains', { name: 'example.com' });
  await call('POST', '/v2/domains', { name: 'example.org' });
  const record = { type: 'A', name: 'www', data: '192.0.2.1' };
  made.recordId = await idOf('/v2/domains/example.com/records', record, 'domain_record', 'id');
  made.held = simulator.addReservedIP({ region: 'nyc3', family: 6, dropletId: 11 }).ip;
  made.useless6 = simulator.addReservedIP({ region: 'nyc3', family: 6 }).ip;
  made.six = await idOf('/v2/reserved_ipv6', { region_slug: 'nyc3' }, 'reserved_ipv6', 'ip');
});
afterAll(() => cloud.simulator.close());

/** Names in braces in the path are what the premise made. */
type Case = readonly [call: string, status: number, body?: unknown, title?: string];

const reads: readonly Case[] =
  `/v2/account /v2/droplets /v2/droplets?per_page=1 /v2/droplets?per_page=1&page=2 /v2/droplets/11 /v2/droplets/11/firewalls
  /v2/tags /v2/tags/web /v2/byoip_prefixes /v2/actions /v2/actions/{actionId}
  /v2/reserved_ips /v2/reserved_ips/{ip} /v2/reserved_ips/{unassigned} /v2/reserved_ips/{ip}/actions /v2/reserved_ips/{ip}/actions/{actionId}
  /v2/floating_ips /v2/floating_ips/{ip} /v2/floating_ips/{ip}/actions /v2/floating_ips/{ip}/actions/{actionId}
  /v2/reserved_ipv6 /v2/reserved_ipv6/{six} /v2/reserved_ipv6/{held} /v2/firewalls /v2/firewalls/{firewallId}
  /v2/domains /v2/domains/example.com /v2/domains/example.com/records /v2/domains/example.com/records/{recordId}`
    .split(/\s+/)
    .map((path) => [`GET ${path}`, 200]);

const newFirewall = { name: 'back', outbound_rules: [{ protocol: 'icmp', destinations: { tags: ['web'] } }] };
const newRules = { inbound_rules: [{ protocol: 'tcp', ports: '443', sources: { addresses: ['0.0.0.0/0', '::/0'] } }] };
const newDroplet = { region: 'nyc3', size: 's-1vcpu-1gb', image: 'debian-12-x64' };
const resources = { resources: [{ resource_id: '12', resource_type: 'droplet' }] };

const writes: readonly Case[] = [
  ['POST /v2/reserved_ips', 202, { region: 'nyc3' }, 'in a region'],
  ['POST /v2/reserved_ips', 202, { droplet_id: 12 }, 'for a droplet'],
  ['POST /v2/reserved_ips/{ip}/actions', 201, { type: 'unassign' }, 'unassign'],
  ['DELETE /v2/reserved_ips/{unassigned}', 204],
  ['POST /v2/floating_ips', 202, { region: 'nyc3' }],
  ['POST /v2/floating_ips/{floating}/actions', 201, { type: 'assign', droplet_id: 14 }],
  ['DELETE /v2/floating_ips/{useless}', 204],
  ['POST /v2/reserved_ipv6', 201, { region_slug: 'nyc3' }],
  ['POST /v2/reserved_ipv6/{six}/actions', 201, { type: 'assign', droplet_id: 13 }, 'assign'],
  ['DELETE /v2/reserved_ipv6/{useless6}', 204],
  ['DELETE /v2/reserved_ipv6/{held}', 422, undefined, 'of a held one'],
  ['POST /v2/reserved_ipv6/{held}/actions', 201, { type: 'unassign' }, 'unassign'],
  ['POST /v2/droplets', 202, { ...newDroplet, name: 'w' }],
  ['POST /v2/droplets', 202, { ...newDroplet, names: ['x', 'y'] }, 'of several'],
  ['DELETE /v2/droplets/14', 204],
  ['POST /v2/firewalls', 202, newFirewall],
  ['PUT /v2/firewalls/{firewallId}', 200, { ...newFirewall, name: 'front' }],
  ...['POST', 'DELETE'].flatMap((method): Case[] => [
    [`${method} /v2/firewalls/{firewallId}/rules`, 204, newRules],
    [`${method} /v2/firewalls/{firewallId}/droplets`, 204, { droplet_ids: [12] }],
    [`${method} /v2/firewalls/{firewallId}/tags`, 204, { tags: ['web'] }],
    [`${method} /v2/firewalls/none/rules`, 404, newRules, 'of none'],
    [`${method} /v2/firewalls/{firewallId}/droplets`, 422, {}, 'without droplets'],
    [`${method} /v2/tags/web/resources`, 204, resources],
  ]),
  ['POST /v2/firewalls', 409, newFirewall, 'of a name that is taken'],
  ['DELETE /v2/firewalls/{firewallId}', 204],
  ['POST /v2/tags', 201, { name: 'new' }],
  ['POST /v2/domains', 201, { name: 'example.net' }],
  ['POST /v2/domains/example.com/records', 201, { type: 'A', name: 'x', data: '192.0.2.2' }],
  ['PATCH /v2/domains/example.com/records/{recordId}', 200, { type: 'A', ttl: 99 }],
  ['PUT /v2/domains/example.com/records/{recordId}', 200, { type: 'A', ttl: 199 }],
  ['DELETE /v2/domains/example.com/records/{recordId}', 204],
  ['DELETE /v2/domains/example.org', 204],
  ['POST /v2/reserved_ipv6', 422, {}, 'without a region'],
  ['GET /v2/reserved_ipv6/2001:db8::ffff', 404, undefined, 'unknown'],
  ['GET /v2/droplets/1', 404, undefined, 'unknown'],
  ['POST /v2/reserved_ips', 422, {}, 'invalid'],
  ['POST /v2/firewalls', 400, '{', 'no JSON'],
];

/** A name that an answer of the simulator has or lacks, beside what the schema knows. `as` is a call with a published example in which it is the same. */
interface Exception {
  /** Over the call and the place, e.g. `GET /v2/tags tags[].resources.images`. */
  readonly names: RegExp;
  readonly as: string;
  readonly why: string;
}

const UNKNOWN: readonly Exception[] = [{ names: /resources\.images(\.\w+)?$/, as: 'GET /v2/tags', why: 'the schema misspells it' }];

const LEFT_OUT: readonly Exception[] = [
  { names: /resources\.imgages$/, as: 'GET /v2/tags', why: 'it is misspelt' },
  { names: /\.gpu_info$/, as: 'GET /v2/droplets/{droplet_id}', why: 'GPU Droplets alone have it' },
  { names: /\.size\.disk_info$/, as: 'GET /v2/droplets/{droplet_id}', why: 'the Droplet itself says it' },
  { names: / links\.pages(\.\w+)?$/, as: 'GET /v2/droplets', why: 'a page has the links that lead somewhere' },
  { names: /\.(sources|destinations)\.\w+$/, as: 'GET /v2/firewalls', why: 'a rule has the kinds of sources that it names' },
  { names: /domains?(\[\])?\.ip_address$/, as: 'GET /v2/domains', why: 'a request says it' },
  { names: / byoip_prefixes\[\]\.name$/, as: 'GET /v2/byoip_prefixes', why: 'nothing gives it a name' },
  { names: /^POST \/v2\/\w+_ips links\.\w+$/, as: 'POST /v2/reserved_ips', why: 'one in a region is assigned to nothing' },
  { names: /^POST \/v2\/droplets (droplets?|links\.droplets)$/, as: 'POST /v2/droplets', why: 'one or several are made' },
];

const used = new Set<Exception>();
function isExcepted(list: readonly Exception[], named: string): boolean {
  const found = list.find((one) => one.names.test(named));
  if (found) used.add(found);
  return found !== undefined;
}

/** What is wrong with an answer to the call, as sentences. */
function defectsOf(name: string, schema: Schema, answer: unknown): readonly string[] {
  if (typeof answer !== 'object' || answer === null) return ['it is no object'];
  const unknown = names('unknown', schema, answer).map((place) => `${name} ${place}`);
  const absent = names('absent', schema, answer).map((place) => `${name} ${place}`);
  return [
    ...wrongs(schema, answer),
    ...unknown.filter((named) => !isExcepted(UNKNOWN, named)).map((named) => `${named} is not described`),
    ...absent.filter((named) => !isExcepted(LEFT_OUT, named)).map((named) => `${named} is not there`),
  ];
}

function judge(name: string, reply: TestReply): readonly string[] {
  const answers = description.calls[name]?.answers;
  const answer = answers?.[reply.status] ?? answers?.default;
  if (!answer) return [`${name} is not described with ${reply.status}`];
  const headers = answer.headers.filter((header) => !reply.headers.has(header)).map((header) => `the header ${header} is not there`);
  const body = answer.schema ? defectsOf(name, answer.schema, reply.body.raw) : reply.text === '' ? [] : ['it has a body'];
  return [...headers, ...body];
}

const judged = new Set<string>();
async function answerTo([call, , body]: Case): Promise<{ readonly name: string; readonly reply: TestReply }> {
  const [method = '', path = ''] = filled(call).split(' ');
  const name = callOf(method, path)?.name ?? `${method} ${path}`;
  const reply = await cloud.call(method, path, body);
  if (reply.status < 300) judged.add(name);
  return { name, reply };
}

describe('an answer is as the published description has it', () => {
  test.each([...reads, ...writes].map((one) => [`${one[0]} ${one[3] ?? ''}`.trimEnd(), one] as const))('%s', async (_, one) => {
    const { name, reply } = await answerTo(one);
    expect([reply.status, judge(name, reply)]).toEqual([one[1], []]);
  });

  test('of every call that is served, and of no other one', () => {
    const shape = (call: string): string => call.replace(/:\w+|\{\w+\}/g, '{}');
    expect([...judged].sort()).toEqual(Object.keys(description.calls));
    expect(allRoutes.map(({ method, path }) => shape(`${method} ${path}`)).sort()).toEqual(
      Object.keys(description.calls).map(shape).sort(),
    );
  });

  test('but for names for which a published example stands', () => {
    const isShown = (which: 'unknown' | 'absent', { names: of, as }: Exception): boolean => {
      const { schema = {}, examples = {} } = successOf(as);
      return Object.values(examples).some((example) => names(which, schema, example).some((place) => of.test(`${as} ${place}`)));
    };
    expect(UNKNOWN.filter((one) => !isShown('unknown', one))).toEqual([]);
    expect(LEFT_OUT.filter((one) => !isShown('absent', one))).toEqual([]);
    expect([...UNKNOWN, ...LEFT_OUT].filter((one) => !used.has(one))).toEqual([]);
  });

  test('and has what the adapter reads, all of which is described', () => {
    const places = Object.entries(READS).flatMap(([call, all]) => all.map((place) => ({ call, place })));
    expect(places.filter(({ call, place }) => !isDescribed(successOf(call).schema ?? {}, place))).toEqual([]);
    // Of these an answer may have none: there is no next page, and a rule has other kinds of sources.
    const left = places.filter(({ call, place }) => LEFT_OUT.some((one) => one.names.test(`${call} ${place.replace(/\[\]$/, '')}`)));
    expect(new Set(left.map(({ place }) => place.replace(/^.*\.(\w+\.)/, '$1').replace(/\.\w+\[\]$/, '')))).toEqual(
      new Set(['pages.next', 'sources']),
    );
  });
});

describe('a defect of an answer is found', () => {
  const answer = async (call: string): Promise<{ readonly name: string; readonly answer: { reserved_ip: Record<string, unknown> } }> => {
    const { name, reply } = await answerTo([call, 200]);
    expect(judge(name, reply)).toEqual([]);
    return { name, answer: JSON.parse(reply.text) };
  };
  const defects: readonly (readonly [title: string, spoil: (address: Record<string, unknown>) => unknown, found: string])[] = [
    ['a name that nobody knows', (address) => Object.assign(address, { owner: 1 }), 'reserved_ip.owner is not described'],
    ['one further inside', (address) => Object.assign(address.region as object, { owner: 1 }), 'reserved_ip.region.owner is not described'],
    ['a name that is missing', (address) => delete address.locked, 'reserved_ip.locked is not there'],
    ['another type', (address) => Object.assign(address, { locked: 'no' }), '/reserved_ip/locked must be boolean'],
    ['another form', (address) => Object.assign(address, { ip: '192.0.2.300' }), '/reserved_ip/ip must match format "ipv4"'],
    ['a name that has to be there', (address) => delete (address.region as { slug?: string }).slug, "must have required property 'slug'"],
  ];
  test.each(defects)('%s', async (_, spoil, found) => {
    const { name, answer: spoilt } = await answer('GET /v2/reserved_ips/{floating}');
    spoil(spoilt.reserved_ip);
    expect(defectsOf(name, successOf(name).schema ?? {}, spoilt).join('\n')).toContain(found);
  });

  test('nothing at all', () =>
    expect(defectsOf('GET /v2/tags', successOf('GET /v2/tags').schema ?? {}, null)).toEqual(['it is no object']));
});
