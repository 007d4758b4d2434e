import { describe, expect, test } from 'vitest';
import type { ActorRecord, Json } from '../../../actors/ports/records.ts';
import { rowOf } from '../../../adapters/dashboard/rows.ts';

const ADDRESS = 'pool/default/ingress/ip/203.0.113.7';

const record = (value: Json, context: { readonly [key: string]: Json }, change: Partial<ActorRecord> = {}): ActorRecord => ({
  chart: 'ip',
  chartVersion: 1,
  snapshot: { value, context },
  waiting: {},
  version: 4,
  term: 7,
  ...change,
});

describe('the row of an address', () => {
  test('shows where it is, what it waits for and why', () => {
    const context = {
      address: '203.0.113.7',
      elected: { name: 'node-b', providerID: 'digitalocean://2' },
      assigned: { name: 'node-a', providerID: 'digitalocean://1' },
      failure: { kind: 'RateLimited', message: 'assign: 429' },
      attempts: 3,
    };
    const waiting = { 'xstate.after.coolOff.ip.CoolOff': { commandId: 'c.1', dueAt: 5_000 }, assign: { commandId: 'c.2' } };
    expect(rowOf(ADDRESS, record('CoolOff', context, { waiting }), 1_000)).toEqual({
      actor: ADDRESS,
      chart: 'ip',
      name: '203.0.113.7',
      pool: 'default/ingress',
      isRouted: false,
      state: 'CoolOff',
      node: 'node-b',
      ports: '',
      since: 1_000,
      waiting: [
        { id: 'xstate.after.coolOff.ip.CoolOff', commandId: 'c.1', dueAt: 5_000 },
        { id: 'assign', commandId: 'c.2', dueAt: null },
      ],
      reason: 'RateLimited',
      message: 'assign: 429',
      paused: false,
      attempts: 3,
      version: 4,
    });
  });

  test('names the node that holds it when none is granted', () => {
    const context = { address: '203.0.113.7', elected: null, assigned: { name: 'node-a', providerID: 'digitalocean://1' } };
    expect(rowOf(ADDRESS, record({ Unassigned: 'Waiting' }, context), null)).toMatchObject({ node: 'node-a', state: 'Unassigned.Waiting' });
  });
});

describe('the row of a pool', () => {
  const pool = (marks: Json) => rowOf('pool/default/ingress', record({ Serving: 'Open' }, { marks }, { chart: 'pool' }), null);

  test('says that it is paused, when it is', () => {
    const marks = { isTold: true, deleting: false, wrong: null };
    expect([pool(null), pool({ ...marks, paused: false }), pool({ ...marks, paused: true })].map(({ paused }) => paused)).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('the row of a RoutedIP', () => {
  const ROUTED = 'rip/default/shop';
  const policy = { firewall: 'firewall/digitalocean/edge', ports: ['tcp/443', 'tcp/80'] };
  const pool = (context: { readonly [key: string]: Json }) => rowOf(ROUTED, record({ Serving: 'Open' }, context, { chart: 'pool' }), null);

  test('shows on which node its address is, and the ports that are to be open there', () => {
    const members = { '203.0.113.7': { node: { name: 'node-a', providerID: 'digitalocean://1' } } };
    const row = pool({ error: null, members, exposed: { reason: null, policyError: null, trouble: null, policy } });
    expect(row).toMatchObject({ name: 'shop', pool: 'default/shop', isRouted: true, node: 'node-a', ports: 'tcp/80 tcp/443', reason: '' });
    const address = rowOf(
      `${ROUTED}/ip/203.0.113.7`,
      record('Stable', { address: '203.0.113.7', elected: { name: 'node-a' }, policy }),
      null,
    );
    expect(address).toMatchObject({ name: '203.0.113.7', pool: 'default/shop', isRouted: true, node: 'node-a', ports: 'tcp/80 tcp/443' });
  });

  test('shows no ports where no firewall is touched, and no nodes of a pool, which has many', () => {
    const members = { '203.0.113.7': { node: { name: 'node-a' } } };
    const bare = { ...policy, firewall: null };
    expect(pool({ members, exposed: { policy: bare } })).toMatchObject({ node: 'node-a', ports: '' });
    expect(rowOf('pool/default/ingress', record({ Serving: 'Open' }, { members }, { chart: 'pool' }), null).node).toBe('');
  });

  test('says why it is not served: its spec, its class, its Service', () => {
    const exposed = (change: { readonly [key: string]: Json }) => ({
      exposed: { reason: null, policyError: null, trouble: null, ...change },
    });
    expect(pool({ error: 'there is no class x', ...exposed({ reason: 'ClassNotFound' }) })).toMatchObject({
      reason: 'ClassNotFound',
      message: 'there is no class x',
    });
    expect(pool(exposed({ policyError: 'region is missing' }))).toMatchObject({ reason: 'Invalid', message: 'region is missing' });
    const trouble = { reason: 'ServiceNotFound', message: 'there is no Service shop' };
    expect(pool(exposed({ trouble }))).toMatchObject(trouble);
  });
});

describe('the row of a firewall', () => {
  test('shows what is claimed of it, by all RoutedIPs that share it', () => {
    const claims = {
      'rip/default/shop/ip/203.0.113.7': { nodes: [{ name: 'node-10' }, { name: 'node-9' }], ports: ['tcp/80'] },
      'rip/default/mail/ip/203.0.113.8': { nodes: [{ name: 'node-9' }], ports: ['tcp/25', 'tcp/80'] },
    };
    const row = rowOf('firewall/digitalocean/edge', record('Idle', { claims, firewall: 'edge' }, { chart: 'firewall' }), null);
    expect(row).toMatchObject({ name: 'edge', pool: '', isRouted: false, node: 'node-9, node-10', ports: 'tcp/25 tcp/80', reason: '' });
  });

  test('shows why it cannot be changed, and nothing while nothing is claimed', () => {
    const failure = { kind: 'NotFound', message: 'find the firewall edge: there is none' };
    const row = rowOf('firewall/digitalocean/edge', record('Idle', { claims: {}, failure }, { chart: 'firewall' }), null);
    expect(row).toMatchObject({ node: '', ports: '', reason: 'NotFound', message: failure.message });
  });
});

describe('the row of a Service', () => {
  const service = (ips: readonly (string | null)[]) => ({ ingress: ips.map((ip) => ({ ip })) });

  test('shows the address that it lists', () => {
    const context = {
      service: service(['198.51.100.8']),
      target: { address: '198.51.100.8', group: 'edge' },
      refusal: null,
      failure: null,
    };
    const row = rowOf('vip/default/shop', record({ Bound: 'Settled' }, context, { chart: 'vip-service' }), null);
    expect(row).toMatchObject({
      name: 'default/shop',
      pool: '',
      isRouted: false,
      node: '198.51.100.8',
      reason: '',
      state: 'Bound.Settled',
    });
  });

  test('shows why it has none, or not the one that it asks for', () => {
    const refusal = { reason: 'PoolExhausted', message: 'no IP could be allocated' };
    const waiting = { service: service([]), target: null, refusal, failure: null };
    const row = rowOf('vip/default/shop', record('Pending', waiting, { chart: 'vip-service' }), null);
    expect(row).toMatchObject({ node: '', reason: 'PoolExhausted', message: 'no IP could be allocated' });
    const failure = { kind: 'Unavailable', message: 'reserve 198.51.100.8: 503' };
    const failing = rowOf('vip/default/shop', record('CoolOff', { ...waiting, failure }, { chart: 'vip-service' }), null);
    expect(failing).toMatchObject({ reason: 'Unavailable', message: failure.message });
  });
});

describe('the row of another actor', () => {
  test('shows why a record set does not stand', () => {
    const context = { outcome: { failure: { kind: 'NotFound', message: 'list the DNS records of example.com: 404' } } };
    const row = rowOf('pool/default/ingress/dns', record('Failed', context, { chart: 'dns-record-set' }), null);
    expect(row).toMatchObject({
      name: 'dns',
      pool: 'default/ingress',
      reason: 'NotFound',
      message: 'list the DNS records of example.com: 404',
    });
  });

  test('shows the error of a pool, and its parallel states in a fixed order', () => {
    const row = rowOf(
      'pool/default/ingress',
      record({ Serving: { granting: 'Open', acquiring: 'CoolOff' } }, { error: 'unknown provider "x"' }),
      null,
    );
    expect(row).toMatchObject({ name: 'ingress', pool: 'default/ingress', reason: 'Invalid', message: 'unknown provider "x"' });
    expect(row.state).toBe('Serving.acquiring.CoolOff|granting.Open');
  });

  test('shows why a pool cannot create an address', () => {
    const context = { error: null, acquiring: { failure: { kind: 'Invalid', message: 'quota reached' } } };
    expect(rowOf('pool/default/ingress', record('Serving', context), null)).toMatchObject({ reason: 'Invalid', message: 'quota reached' });
  });

  test('leaves empty what its context does not have, whatever the context is', () => {
    for (const context of [null, 'text', 7, [], {}] as Json[]) {
      const row = rowOf('verify/digitalocean', record('Waiting', {}, { snapshot: { value: 'Waiting', context } }), null);
      expect(row).toMatchObject({ name: 'digitalocean', pool: '', node: '', reason: '', attempts: 0 });
    }
  });
});
