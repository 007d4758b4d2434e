import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { type Greeter, type Prober, startGreeter, startProber, type Try } from '../support/prober.ts';
import { waitFor } from '../support/wait-for.ts';
import { request } from './digitalocean-support.ts';

const [A, B] = [11, 12];
const ADDRESS = '203.0.113.7';
const everybody = { addresses: ['0.0.0.0/0', '::/0'] };
const rule = (ports: string) => ({ protocol: 'tcp', ports, sources: everybody });

let simulator: DigitalOceanSimulator;
let greeters: readonly Greeter[];
let prober: Prober | undefined;
/** How long anything takes: until the test lets it end. */
const HOUR_MS = 3_600_000;
let passedMs = 0;
const now = (): number => performance.timeOrigin + performance.now() + passedMs;
/** The firewall for the address; another one closes everything else on the droplets. */
let front: string;

beforeEach(async () => {
  prober = undefined;
  passedMs = 0;
  simulator = await startDigitalOcean({ actionMs: HOUR_MS, firewallMs: HOUR_MS, now });
  greeters = [await startGreeter('a'), await startGreeter('b')];
  for (const [index, id] of [A, B].entries()) {
    simulator.addDroplet({ id, name: `droplet-${id}`, region: 'nyc3' });
    simulator.network.listeners.set(id, 80, greeters[index]?.port ?? 0);
  }
  simulator.addReservedIP({ ip: ADDRESS, region: 'nyc3', dropletId: A });
  await call('POST', '/v2/firewalls', { name: 'nodes', inbound_rules: [rule('22')], droplet_ids: [A, B] });
  front = String(
    (await call('POST', '/v2/firewalls', { name: 'front', inbound_rules: [rule('80')], droplet_ids: [A] })).at('firewall', 'id').raw,
  );
  await applied();
  prober = startProber(await simulator.network.endpoint({ address: ADDRESS, port: 80 }), now);
  await answers('a');
});
afterEach(async () => {
  await prober?.stop();
  await simulator.close();
  for (const greeter of greeters) await greeter.close();
});

async function call(method: string, path: string, body: unknown) {
  const reply = await request(simulator.url, { method, path, body, token: 'token' });
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.body;
}

const triesSince = (count: number): readonly Try[] => prober?.tries.slice(count) ?? [];

/** Some more connections were tried: whatever is the case now met them. */
async function tried(): Promise<void> {
  const since = prober?.tries.length ?? 0;
  if (prober) await waitFor('more tries', () => triesSince(since).length >= 5);
}

/** What is under way meets connections before it ends, and what it led to does so, too. */
async function ends(): Promise<void> {
  await tried();
  passedMs += HOUR_MS;
  await tried();
}

async function applied(): Promise<void> {
  await ends();
  expect([...simulator.state.firewalls.values()].flatMap(({ pending }) => pending)).toEqual([]);
}

/** Ten connections from now on got the answer. */
async function answers(by: string): Promise<void> {
  const since = prober?.tries.length ?? 0;
  await waitFor(`${by} answers`, () => triesSince(since).filter((one) => one.by === by).length >= 10);
}

const allTries = async (): Promise<readonly Try[]> => (await prober?.stop()) ?? [];

// ---------------------------------------------------------------- the steps of a move, each until it is done

async function open(): Promise<void> {
  await call('POST', `/v2/firewalls/${front}/droplets`, { droplet_ids: [B] });
  await applied();
}

async function assign(): Promise<void> {
  await call('POST', `/v2/reserved_ips/${ADDRESS}/actions`, { type: 'assign', droplet_id: B });
  await ends();
  expect(transit().until).toBeLessThan(now());
}

async function prune(): Promise<void> {
  await call('DELETE', `/v2/firewalls/${front}/droplets`, { droplet_ids: [A] });
  await applied();
}

/** From when to when the address was locked. */
function transit(): { since: number; until: number } {
  const action = [...simulator.state.actions.values()].find(({ type }) => type === 'assign_ip');
  return { since: action?.startedAt ?? Number.POSITIVE_INFINITY, until: action?.completedAt ?? Number.POSITIVE_INFINITY };
}

/** The failed tries before, while and after the address was in transit; one that overlaps with it may be due to it. */
function failures(tries: readonly Try[]): { before: number; during: number; after: number } {
  const { since, until } = transit();
  const failed = tries.filter(({ outcome }) => outcome !== 'answered');
  const before = failed.filter(({ endedAt }) => endedAt < since).length;
  const after = failed.filter(({ startedAt }) => startedAt > until).length;
  return { before, during: failed.length - before - after, after };
}

describe('a planned move of an address between healthy droplets', () => {
  test('loses no connection except while the address itself is in transit, when it opens, assigns and prunes', async () => {
    await open();
    await assign();
    await prune();
    await answers('b');
    const tries = await allTries();
    const { before, during, after } = failures(tries);
    expect({ before, after }).toEqual({ before: 0, after: 0 });
    // The prober can fail: it did, while the address was on its way.
    expect(during).toBeGreaterThan(0);
    expect(tries.filter(({ outcome }) => outcome === 'timedOut')).toEqual([]);
    const answered = tries.flatMap(({ by }) => by ?? []);
    expect([answered.indexOf('b') > 0, answered.lastIndexOf('a') < answered.indexOf('b')]).toEqual([true, true]);
  });

  test('is refused on the new droplet for as long as it is not open there, when it assigns first', async () => {
    await assign();
    await open();
    await prune();
    await answers('b');
    const { before, after } = failures(await allTries());
    expect(before).toBe(0);
    expect(after).toBeGreaterThan(0);
  });

  test('is refused on the old droplet, when it prunes before it assigns', async () => {
    await open();
    await prune();
    await waitFor('nobody answers', () => prober?.tries.at(-1)?.by === null);
    await assign();
    await answers('b');
    const { before, after } = failures(await allTries());
    expect(before).toBeGreaterThan(0);
    expect(after).toBe(0);
  });
});
