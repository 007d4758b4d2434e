import { describe, expect, test } from 'vitest';
import type { Chart } from '../../actors/runtime/charts.ts';
import { begin, type MachineEvent, step } from '../../actors/runtime/step.ts';
import { broken, type Opened, opened, RULES } from './address/invariants.ts';
import { IP_MUTATIONS } from './address/mutations.ts';
import { addressInput, answersCome } from './address/vocabulary.ts';
import { frozen } from './builders.ts';
import { RECORD_SET_MUTATIONS } from './dns/mutations-record-set.ts';
import { ZONE_MUTATIONS } from './dns/mutations-zone.ts';
import { brokenByRecordSet, RECORD_SET_RULES } from './dns/record-set-invariants.ts';
import { RECORD_SET_INPUT, recordSetComes } from './dns/record-set-vocabulary.ts';
import { brokenByZone, ZONE_RULES } from './dns/zone-invariants.ts';
import { ZONE_INPUT } from './dns/zone-vocabulary.ts';
import { chartOf } from './drive.ts';
import { type Edge, type Exploration, isWaitedFor } from './explore.ts';
import { brokenByFirewall, FIREWALL_RULES } from './firewall/invariants.ts';
import { FIREWALL_MUTATIONS } from './firewall/mutations.ts';
import { FIREWALL_INPUT } from './firewall/vocabulary.ts';
import { brokenByVirtualIP, VIRTUAL_IP_RULES } from './migration/invariants.ts';
import { VIRTUAL_IP_MUTATIONS } from './migration/mutations.ts';
import { INPUT, chart as virtualIPs } from './migration/vocabulary.ts';
import type { ChartMutation } from './mutations-spoil.ts';
import { brokenByPool, POOL_RULES } from './pool/invariants.ts';
import { POOL_MUTATIONS } from './pool/mutations.ts';
import { poolComes } from './pool/vocabulary.ts';
import { poolInput } from './pool/world.ts';
import { brokenByVip, VIP_RULES } from './vip/invariants.ts';
import { VIP_MUTATIONS } from './vip/mutations.ts';
import { VIP_INPUT, vipComes } from './vip/vocabulary.ts';

/** Walks the events; what is not waited for, or cannot come, is dropped, as the runtime does. */
function walk(chart: Chart, input: unknown, events: readonly MachineEvent[], comes: NonNullable<Exploration['comes']>): readonly Edge[] {
  const edges: Edge[] = [];
  let now = begin(chart, frozen(input));
  for (const event of events) {
    const snapshot = chart.machine.resolveState(now.snapshot as Parameters<typeof chart.machine.resolveState>[0]);
    if (!isWaitedFor(snapshot, event) || !comes(now.snapshot, event)) continue;
    const after = step(chart, now.snapshot, frozen(event));
    edges.push({ before: now, event, after });
    now = after;
  }
  return edges;
}

const brokenByAddress = (edges: readonly Edge[]): readonly string[] => {
  let open: Opened = null;
  return edges.flatMap((edge) => {
    open = opened(open, edge);
    return broken(edge, open);
  });
};

describe.each([
  {
    name: 'ip' as const,
    rules: Object.keys(RULES),
    mutations: IP_MUTATIONS,
    input: addressInput(),
    comes: answersCome as NonNullable<Exploration['comes']>,
    breaks: brokenByAddress,
  },
  {
    name: 'pool' as const,
    rules: Object.keys(POOL_RULES),
    mutations: POOL_MUTATIONS,
    input: poolInput(),
    comes: poolComes,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByPool),
  },
  {
    name: 'firewall' as const,
    rules: Object.keys(FIREWALL_RULES),
    mutations: FIREWALL_MUTATIONS,
    input: FIREWALL_INPUT,
    comes: () => true,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByFirewall),
  },
  {
    name: 'dns-zone' as const,
    rules: Object.keys(ZONE_RULES),
    mutations: ZONE_MUTATIONS,
    input: ZONE_INPUT,
    comes: () => true,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByZone),
  },
  {
    name: 'dns-record-set' as const,
    rules: Object.keys(RECORD_SET_RULES),
    mutations: RECORD_SET_MUTATIONS,
    input: RECORD_SET_INPUT,
    comes: recordSetComes,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByRecordSet),
  },
  {
    name: 'vip-service' as const,
    rules: Object.keys(VIP_RULES),
    mutations: VIP_MUTATIONS,
    input: VIP_INPUT,
    comes: vipComes,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByVip),
  },
  {
    name: 'virtual-ip' as const,
    rules: Object.keys(VIRTUAL_IP_RULES),
    mutations: VIRTUAL_IP_MUTATIONS,
    input: INPUT,
    comes: () => true,
    breaks: (edges: readonly Edge[]) => edges.flatMap(brokenByVirtualIP),
  },
])('the rules of the chart $name', ({ name, rules, mutations, input, comes, breaks }) => {
  const chart = name === 'virtual-ip' ? virtualIPs : chartOf(name);

  test('have each a defect that they must catch', () => {
    expect(rules.length).toBeGreaterThanOrEqual(10);
    expect(Object.keys(mutations).sort()).toEqual([...rules].sort());
  });

  const rows = Object.entries(mutations).map(([rule, row]): [string, string, ChartMutation] => [rule, row.mutation, row]);
  test.each(rows)('%s — catches: %s', (rule, _, { spoil, events }) => {
    const sound = walk(chart, input, events, comes);
    expect(sound.length).toBeGreaterThan(0);
    expect(breaks(sound)).toEqual([]);
    expect(breaks(walk(spoil(chart), input, events, comes))).toContain(rule);
  });
});
