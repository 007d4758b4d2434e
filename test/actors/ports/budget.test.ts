import { afterEach, describe, expect, test } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { Call } from '../../../simulator/digitalocean/call-log.ts';
import { digitalOceanZone } from '../../e2e/zones.ts';
import { SHOWS_ALL } from '../../support/extent.ts';
import { type Metered, openMetered } from '../../support/metered.ts';
import { CLASS_NAME, service, servicePort } from '../routedip/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: Metered;
afterEach(() => world.close());

const names = (kind: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${kind}-${index}`);
const lastCall = (): number => world.calls().at(-1)?.n ?? 0;
const isAssign = ({ method, path }: Call): boolean => method === 'POST' && path.endsWith('/actions');
const isCreation = ({ method, path }: Call): boolean => method === 'POST' && path === '/v2/reserved_ips';
const isDNS = ({ path }: Call): boolean => path.startsWith('/v2/domains/');
const isList = ({ path }: Call): boolean => path.startsWith('/v2/reserved_ip') && path.includes('?');

/** What reached the provider, how often, without numbers of pages. */
function counted(calls: readonly Call[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { method, path } of calls) {
    const what = `${method} ${path.split('?')[0]}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}

/** So many addresses in each of the pools, on nodes of their own, and published in one zone that has their records already. */
async function published(pools: number, each: number) {
  const zone = await digitalOceanZone(world.cloud, 'example.com');
  const refs: ObjectRef[] = [];
  for (let pool = 0; pool < pools; pool += 1) {
    const nodes = names(`holder-${pool}`, each);
    world.nodes(`g${pool}`, ...nodes);
    const ips = world.addresses(each, nodes);
    for (const data of ips) zone.add({ type: 'A', name: `web${pool}`, data, ttl: 30 });
    refs.push(world.pool(`pool-${pool}`, `g${pool}`, { ips }, recordsAt(`web${pool}`)));
  }
  await world.start();
  await world.until(() => refs.every((ref) => world.status(ref).activeIPs === each) && world.calls().some(isDNS), MINUTE);
  await world.advance(MINUTE);
  expect(world.log).toEqual([]);
  expect(
    world
      .calls()
      .filter(({ method }) => method !== 'GET')
      .map(({ path }) => path),
  ).toEqual(['/v2/domains']);
  return { refs, zone };
}

const recordsAt = (recordName: string) => ({ dnsRecordSet: { zone: 'example.com', recordName, ttl: 30 } });

// An hour of a thousand addresses is much to compute.
if (SHOWS_ALL)
  describe('1000 addresses with which all is well, published in a zone of 1000 records', () => {
    test('cost at most 150 calls an hour, none of which changes anything', { timeout: 180_000 }, async () => {
      world = await openMetered();
      const { zone } = await published(10, 100);
      const since = lastCall();
      await world.advance(HOUR);
      const calls = world.calls(since);
      // Twelve times five pages of addresses, and six pages of the zone: it has a few records of its own. Nobody has an IPv6 address.
      expect(counted(calls)).toEqual({
        'GET /v2/reserved_ips': 60,
        'GET /v2/domains/example.com/records': 72,
      });
      expect(calls.length).toBeLessThanOrEqual(150);
      expect(zone.writes()).toEqual([]);
      expect(world.log).toEqual([]);
    });
  });

describe('when housekeeping has used up its share of the budget', () => {
  test('failovers go on at once, and verification and DNS wait', async () => {
    // In the minute before a verification nothing else is read, whose share would be free again.
    world = await openMetered({ actionMs: 1_000, verifyEveryMs: HOUR });
    // A list that no address on its way is looked for in.
    world.pool('six', 'nobody', { ips: [world.cloud.addReservedIP({ region: 'nyc3', family: 6 }).ip] });
    const { refs } = await published(1, 20);
    const [ref] = refs;
    if (!ref) throw new Error('there is no pool');
    world.nodes('g0', ...names('spare', 20));
    // The next verification is due in a few seconds.
    await world.advance(HOUR - 5_000 - (world.clock.now() - (world.calls().find(isList)?.at ?? 0)));
    let spent = 0;
    while ((await world.budget.pay('verify')) === 0) spent += 1;
    expect(spent).toBeGreaterThan(100);
    expect(await world.budget.left()).toContainEqual({ window: 'minute', limit: 250, left: 75 });
    const since = lastCall();
    world.pool('pool-0', 'g0', { ips: Object.keys(world.status(ref).ips ?? {}) }, recordsAt('edge'));
    await world.advance(10_000);
    expect(world.calls(since)).toEqual([]);

    const failedAt = world.clock.now();
    world.fail('g0', ...names('holder-0', 20));
    const isMoved = () =>
      Object.values(world.status(ref).ips ?? {}).every(({ state, nodeName }) => state === 'active' && nodeName?.startsWith('spare'));
    await world.until(isMoved, 5_000);
    const assigns = world.calls(since).filter(isAssign);
    expect(assigns).toHaveLength(20);
    for (const { at } of assigns) expect(at - failedAt).toBeLessThanOrEqual(10);
    expect(world.calls(since).filter(isDNS)).toEqual([]);

    // Their turn comes when their share is free again.
    const isVerification = ({ path }: Call) => path.startsWith('/v2/reserved_ipv6?');
    await world.until(() => world.calls(since).some(isVerification), 2 * MINUTE);
    await world.until(() => counted(world.calls(since))['POST /v2/domains/example.com/records'] === 20, 2 * MINUTE);
    for (const isHousekeeping of [isVerification, isDNS]) {
      const waitedMs = (world.calls(since).find(isHousekeeping)?.at ?? 0) - (failedAt - 10_000);
      expect(waitedMs).toBeGreaterThan(MINUTE);
    }
    expect(world.calls(since).filter(({ status }) => status === 429)).toEqual([]);
  });
});

describe('while nothing may be sent for longer than an assign may take', () => {
  test('assigns that were accepted are confirmed when it may, and not sent again; others are sent then', async () => {
    world = await openMetered({ actionMs: 5_000 });
    const { refs } = await published(1, 6);
    const [ref] = refs;
    if (!ref) throw new Error('there is no pool');
    world.nodes('g0', ...names('spare', 6));
    await world.advance(MINUTE);
    const since = lastCall();
    const assigns = () => world.calls(since).filter(isAssign);
    world.fail('g0', 'holder-0-0', 'holder-0-1', 'holder-0-2');
    await world.until(() => assigns().length === 3, 1_000);
    await world.budget.close(4 * MINUTE);
    const closed = lastCall();
    world.fail('g0', 'holder-0-3', 'holder-0-4', 'holder-0-5');
    await world.advance(4 * MINUTE - 2_000);
    expect(world.calls(closed)).toEqual([]);
    const isMoved = () =>
      Object.values(world.status(ref).ips ?? {}).every(({ state, nodeName }) => state === 'active' && nodeName?.startsWith('spare'));
    await world.until(isMoved, 20_000);
    expect(assigns()).toHaveLength(6);
    expect(world.log).toEqual([]);
  });
});

describe('while assigns wait for the budget', () => {
  test('what is left of it is not spent on lists in quick succession', async () => {
    world = await openMetered({ actionMs: 5_000 });
    await published(1, 5);
    world.nodes('g0', ...names('spare', 5));
    await world.advance(MINUTE);
    const since = lastCall();
    const assigns = () => world.calls(since).filter(isAssign).length;
    world.fail('g0', ...names('holder-0', 4));
    await world.until(() => assigns() === 4, 1_000);
    while ((await world.budget.pay('failover', 1, ['default'])) === 0);
    world.fail('g0', 'holder-0-4');
    await world.advance(100);
    const waiting = lastCall();
    await world.advance(4_000);
    expect(assigns()).toBe(4);
    expect(world.calls(waiting).filter(isList).length).toBeGreaterThan(0);
    expect(world.calls(waiting).length).toBeLessThanOrEqual(5);
  });
});

describe('creations', () => {
  test('are 12 in any minute, and hold up no failover', async () => {
    world = await openMetered({ actionMs: 1_000 });
    world.nodes('kept', 'a', 'b');
    const [ip = ''] = world.addresses(1, ['a']);
    const kept = world.pool('kept', 'kept', { ips: [ip] });
    world.nodes('new', ...names('node', 30));
    world.pool('new', 'new', { desiredIPs: 30 });
    await world.start();
    const creations = () => world.calls().filter(isCreation);
    await world.until(() => creations().length === 12, MINUTE);
    await world.advance(10_000);
    expect(creations()).toHaveLength(12);

    const since = lastCall();
    const failedAt = world.clock.now();
    world.fail('kept', 'a');
    await world.until(() => world.status(kept).ips?.[ip as never]?.nodeName === 'b', 10_000);
    const [assign] = world.calls(since).filter(isAssign);
    expect((assign?.at ?? 0) - failedAt).toBeLessThanOrEqual(10);

    await world.until(() => creations().length === 30, 5 * MINUTE);
    const times = creations().map(({ at }) => at);
    for (const [index, at] of times.entries()) expect(at - (times[index - 12] ?? 0)).toBeGreaterThanOrEqual(MINUTE);
    expect(world.calls().filter(({ status }) => status === 429)).toEqual([]);
  });
});

test('whoever begins to lead reads the addresses, however many calls assigns and reads of others have made', async () => {
  world = await openMetered();
  world.nodes('g', 'holder');
  const ref = world.pool('pool', 'g', { ips: world.addresses(1, ['holder']) });
  while ((await world.budget.pay('failover')) === 0);
  await world.start();
  expect(await world.until(() => world.status(ref).activeIPs === 1, MINUTE)).toBeLessThan(1_000);
});

describe('while a namespace edits pools with hundreds of addresses that nobody has, again and again', () => {
  test('another one fails over at once, and has its records and a new address within a minute', { timeout: 120_000 }, async () => {
    world = await openMetered({ actionMs: 1_000 });
    await digitalOceanZone(world.cloud, 'example.com');
    world.nodes('g', 'holder', 'spare', 'third');
    const [ip = '', late = ''] = world.addresses(2, ['holder']);
    const one = world.pool('one', 'g', { ips: [ip] }, recordsAt('web'), 'one');
    await world.start();
    await world.until(() => world.calls().some(({ path }) => path.endsWith('/records') && path.includes('example.com')), MINUTE);
    await world.advance(5_000);
    let edits = 0;
    const edit = (): void => {
      edits += 1;
      for (let pool = 0; pool < 3; pool += 1) {
        const ips = Array.from({ length: 100 }, (_, index) => `9.${edits}.${pool}.${index}`);
        world.pool(`crowd-${pool}`, 'g', { ips }, {}, 'crowd');
      }
    };
    const crowded = async (holds: () => boolean, maxMs: number): Promise<number> => {
      const from = world.clock.now();
      for (; !holds() && world.clock.now() < from + maxMs; edit()) await world.until(holds, 20_000).catch(() => undefined);
      return world.clock.now() - from;
    };
    await crowded(() => false, MINUTE);
    const lookups = world.calls().filter(({ path, status }) => path.startsWith('/v2/reserved_ips/9.') && status === 404);
    expect(lookups.length).toBeGreaterThan(150);

    const since = lastCall();
    const failedAt = world.clock.now();
    world.fail('g', 'holder');
    await crowded(() => world.calls(since).some(isAssign), MINUTE);
    const [assign] = world.calls(since).filter(isAssign);
    expect((assign?.at ?? Number.POSITIVE_INFINITY) - failedAt).toBeLessThanOrEqual(10);

    world.pool('one', 'g', { ips: [ip, late] }, recordsAt('edge'), 'one');
    const isWritten = ({ method, path }: Call) => method === 'POST' && path === '/v2/domains/example.com/records';
    expect(await crowded(() => world.calls(since).some(isWritten), 5 * MINUTE)).toBeLessThanOrEqual(MINUTE + 5_000);
    expect(await crowded(() => world.status(one).activeIPs === 2, 5 * MINUTE)).toBeLessThanOrEqual(MINUTE + 5_000);
    expect(world.calls().filter(({ status }) => status === 429)).toEqual([]);
  });
});

async function addFirewall(name: string): Promise<void> {
  const inbound = [{ protocol: 'tcp', ports: '22', sources: { addresses: ['0.0.0.0/0'] } }];
  const headers = { authorization: 'Bearer token-of-the-test', 'content-type': 'application/json' };
  const reply = await fetch(`${world.cloud.url}/v2/firewalls`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name, inbound_rules: inbound }),
  });
  if (!reply.ok) throw new Error(await reply.text());
}

describe('while a namespace changes the ports of its Services again and again', () => {
  test('a RoutedIP of another one fails over at once, firewall and all', { timeout: 120_000 }, async () => {
    world = await openMetered({ actionMs: 1_000 });
    world.nodes('g', 'holder', 'spare', ...names('busy', 6));
    const routed = async (namespace: string, name: string, nodes: readonly string[]): Promise<ObjectRef> => {
      await addFirewall(`${namespace}-${name}`);
      const spec = { issuerClass: 'digitalocean', region: 'nyc3', routedIPFirewallName: `${namespace}-${name}` };
      world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace, name, spec });
      // An issuer with the operator's credentials opens ports in firewalls of classes, where an administrator lets it.
      world.namespaces.set(namespace, { 'routedip.io/allow-operator-credentials': 'true' });
      const { routedIPFirewallName } = spec;
      world.cluster.setPolicy({
        kind: 'ClusterRoutedIPClass',
        name: `${namespace}-${name}`,
        spec: { className: CLASS_NAME, routedIPFirewallName },
      });
      world.cluster.setService(namespace, name, service(nodes));
      const wanted = { issuerRef: { name }, serviceRef: { serviceName: name } };
      return world.cluster.setPool({ kind: 'RoutedIP', namespace, name, spec: wanted });
    };
    const victim = await routed('one', 'web', ['holder']);
    const busy: ObjectRef[] = [];
    for (const name of names('busy', 6)) busy.push(await routed('crowd', name, [name]));
    const statusOf = (ref: ObjectRef) =>
      (world.cluster.pool(ref)?.status ?? {}) as { readonly state?: string; readonly assignedNode?: string };
    await world.start();
    await world.until(() => [victim, ...busy].every((ref) => statusOf(ref).state === 'Stable'), 2 * MINUTE);
    await world.advance(2 * MINUTE);
    let edits = 0;
    const crowded = async (holds: () => boolean, maxMs: number): Promise<void> => {
      const from = world.clock.now();
      while (!holds() && world.clock.now() < from + maxMs) {
        edits += 1;
        for (const name of names('busy', 6)) {
          const ports = [servicePort(9_000 + (edits % 1_000))];
          world.cluster.setService('crowd', name, service([name], { ports }));
        }
        await world.until(holds, 500).catch(() => undefined);
      }
    };
    await crowded(() => false, MINUTE);
    const failedAt = world.clock.now();
    world.cluster.setService('one', 'web', service(['spare']));
    world.fail('g', 'holder');
    const isStable = () => statusOf(victim).assignedNode === 'spare' && statusOf(victim).state === 'Stable';
    await crowded(isStable, 5 * MINUTE);
    expect(world.clock.now() - failedAt).toBeLessThanOrEqual(5_000);
    expect(world.calls().filter(({ status }) => status === 429)).toEqual([]);
  });
});
