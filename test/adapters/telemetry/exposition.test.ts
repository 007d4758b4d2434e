import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { AddressFigures, PoolFigures } from '../../../actors/ports/figures.ts';
import { exposition } from '../../../adapters/telemetry/exposition.ts';
import { poolMetrics } from '../../../adapters/telemetry/pool-metrics.ts';
import { type EndedCall, providerCalls } from '../../../adapters/telemetry/provider-calls.ts';

const P = 'flipop_floatingippoolcontroller_';
const POOL = ['namespace', 'name', 'provider', 'dns'] as const;
const ADDRESS = ['namespace', 'name', 'ip', 'provider', 'dns'] as const;

const pool = (number: number, change: Partial<PoolFigures> = {}): PoolFigures => ({
  namespace: 'default',
  name: `pool-${number}`,
  provider: 'digitalocean',
  dns: '',
  desired: 5,
  assignableNodes: number % 3,
  ips: Array.from({ length: 5 }, (_, index) => ({
    ip: `10.${number >> 8}.${number & 255}.${index}`,
    state: 'active',
    nodeName: `node-${number}-${index}`,
    providerID: `digitalocean://${number}${index}`,
  })),
  ...change,
});

const address = (ip: string, change: Partial<AddressFigures>): AddressFigures => ({
  ip,
  state: 'active',
  nodeName: undefined,
  providerID: undefined,
  ...change,
});

/** As prom-client writes the series of these pools, with one assignment of each address of the first. */
async function writtenByPromClient(pools: readonly PoolFigures[]): Promise<string> {
  const registers = [new Registry()];
  const gauge = (name: string, help: string, labelNames: readonly string[]) => new Gauge({ name: P + name, help, labelNames, registers });
  const counter = (name: string, help: string) => new Counter({ name: P + name, help, labelNames: ADDRESS, registers });
  const nodes = gauge('node_status', 'Matching nodes of the pool: available ones wait for an address, assigned ones have one.', [
    ...POOL,
    'status',
  ]);
  const state = gauge('ip_state', '1 for the state that the address is in.', [...ADDRESS, 'state']);
  const node = gauge('ip_node', '1 for the node that the address is on.', [...ADDRESS, 'provider_id', 'node']);
  const unfulfilled = gauge('unfulfilled_ips', 'Addresses that are desired and not acquired yet.', POOL);
  const assignments = counter('ip_assignments', 'Assignments of the address that the provider confirmed.');
  const errors = counter('ip_assignment_errors', 'Assignments of the address that failed.');
  for (const { namespace, name, provider, dns, desired, assignableNodes, ips } of pools) {
    nodes.set({ namespace, name, provider, dns, status: 'available' }, assignableNodes);
    nodes.set({ namespace, name, provider, dns, status: 'assigned' }, ips.filter(({ providerID }) => providerID).length);
    unfulfilled.set({ namespace, name, provider, dns }, Math.max(0, desired - ips.length));
    for (const { ip, state: now, nodeName, providerID } of ips) {
      state.set({ namespace, name, ip, provider, dns, state: now }, 1);
      if (providerID) node.set({ namespace, name, ip, provider, dns, provider_id: providerID, node: nodeName ?? '' }, 1);
      assignments.inc({ namespace, name, ip, provider, dns }, name === pools[0]?.name ? 1 : 0);
      errors.inc({ namespace, name, ip, provider, dns }, 0);
    }
  }
  return (registers[0] as Registry).metrics();
}

function shown(pools: readonly PoolFigures[]) {
  const metrics = poolMetrics();
  for (const view of pools) metrics.show(view);
  const [{ namespace, name, ips } = pool(0)] = pools;
  for (const { ip } of ips) metrics.count({ namespace, name, ip, outcome: 'success' });
  return metrics;
}

describe('the series of pools', () => {
  test('are, byte by byte, what prom-client would write', async () => {
    const pools = [
      pool(1, { desired: 7 }),
      pool(2, {
        dns: 'in.example.com',
        ips: [address('203.0.113.1', { state: 'in-progress' }), address('2001:db8::1', { state: 'error', nodeName: 'a' })],
      }),
      pool(3, { ips: [] }),
      pool(4, { provider: 'a "quoted" \\ one\nof "two" \\ lines\n', ips: [address('203.0.113.9', { state: '"\\\n', providerID: '\\n' })] }),
    ];
    expect([...exposition('', shown(pools).families)].join('')).toBe(`\n${await writtenByPromClient(pools)}`);
  });

  test('are written in small pieces when there are thousands, each when it is asked for', () => {
    const { families, show } = shown(Array.from({ length: 2_000 }, (_, number) => pool(number)));
    const pieces = exposition('up 1\n', families);
    const written = [pieces.next().value ?? ''];
    show(pool(1_999, { name: 'shown later' }));
    written.push(...pieces);
    expect(Math.max(...written.map((piece) => piece.length))).toBeLessThan(33_000);
    const lines = written.join('').split('\n');
    expect(lines.filter((line) => line.startsWith(`${P}ip_state{`))).toHaveLength(10_005);
    expect(lines.filter((line) => line.includes('shown later')).length).toBeGreaterThan(20);
    expect(new Set(lines.filter((line) => line !== '')).size).toBe(lines.filter((line) => line !== '').length);
  });

  test('stand there once, also of a pool that goes and comes again while they are sent', () => {
    const { families, show, forget } = shown(Array.from({ length: 200 }, (_, number) => pool(number)));
    const lines: string[] = [];
    for (const piece of exposition('', families)) {
      lines.push(...piece.split('\n').filter((line) => line !== ''));
      forget('default', 'pool-0');
      show(pool(0));
    }
    expect(lines.length).toBeGreaterThan(4_000);
    expect(new Set(lines).size).toBe(lines.length);
  });
});

describe('the series of calls to providers', () => {
  const CALL = ['provider', 'call', 'kind', 'namespace', 'name'] as const;

  const ended = (change: Partial<EndedCall> = {}): EndedCall => ({
    provider: 'digitalocean',
    call: 'AssignIP',
    owner: { kind: 'FloatingIPPool', namespace: 'default', name: 'in "quotes" \\ and\nlines' },
    outcome: 'success',
    seconds: 0.3,
    ...change,
  });

  /** The same calls as prom-client counts and writes them. */
  async function countedByPromClient(all: readonly EndedCall[]): Promise<string> {
    const registers = [new Registry()];
    const name = 'flipop_providers_call';
    const calls = new Counter({ name: `${name}s_total`, help: 'Calls to providers.', labelNames: [...CALL, 'outcome'], registers });
    const durations = new Histogram({
      name: `${name}_duration_seconds`,
      help: 'How long calls to providers took, with the wait for the request budget.',
      labelNames: CALL,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
      registers,
    });
    for (const { provider, call, owner, outcome, seconds } of all) {
      const labels = { provider, call, kind: owner?.kind ?? '', namespace: owner?.namespace ?? '', name: owner?.name ?? '' };
      calls.inc({ ...labels, outcome });
      durations.observe(labels, seconds);
    }
    return (registers[0] as Registry).metrics();
  }

  test('are, byte by byte, what prom-client would write', async () => {
    const all = [
      ended(),
      ended({ seconds: 0.5 }),
      ended({ outcome: 'error', seconds: 1e-7 }),
      ended({ call: 'ListRoutedIPs', owner: null, seconds: 121 }),
      ended({ call: 'ListRoutedIPs', owner: null, seconds: 0 }),
      ended({ call: 'FindNode', owner: { kind: 'NodeDNSRecordSet', namespace: 'a', name: 'b' }, outcome: 'error', seconds: 0.1 + 0.2 }),
    ];
    const calls = providerCalls();
    for (const call of all) calls.ended(call);
    expect([...exposition('', calls.families)].join('')).toBe(`\n${await countedByPromClient(all)}`);
  });
});
