import { describe, expect, test } from 'vitest';
import type { BudgetReading } from '../../../actors/ports/budget.ts';
import type { PoolFigures } from '../../../actors/ports/figures.ts';
import type { JobRun, SavedTurn } from '../../../actors/ports/observers.ts';
import type { ActorRecord } from '../../../actors/ports/records.ts';
import { statePaths } from '../../../adapters/telemetry/state-paths.ts';
import { metrics, NOW } from '../../support/metrics.ts';

const pool = (change: Partial<PoolFigures> = {}): PoolFigures => ({
  namespace: 'default',
  name: 'ingress',
  provider: 'digitalocean',
  dns: 'in.example.com',
  desired: 3,
  assignableNodes: 4,
  ips: [
    { ip: '203.0.113.1', state: 'active', nodeName: 'node-a', providerID: 'digitalocean://1' },
    { ip: '203.0.113.2', state: 'unassigned', nodeName: undefined, providerID: undefined },
  ],
  ...change,
});

const P = 'flipop_floatingippoolcontroller_';

describe('the series of a pool', () => {
  test('have the names, labels and values of FLIPOP', async () => {
    const { pools, of } = metrics();
    pools.show(pool());
    const labels = 'namespace="default",name="ingress",ip="203.0.113.1",provider="digitalocean",dns="in.example.com"';
    expect(await of(`${P}ip_state`)).toContain(`${P}ip_state{${labels},state="active"} 1`);
    expect(await of(`${P}ip_node`)).toEqual([`${P}ip_node{${labels},provider_id="digitalocean://1",node="node-a"} 1`]);
    expect(await of(`${P}ip_assignments`)).toContain(`${P}ip_assignments{${labels}} 0`);
    expect(await of(`${P}ip_assignment_errors`)).toContain(`${P}ip_assignment_errors{${labels}} 0`);
    const ofPool = 'namespace="default",name="ingress",provider="digitalocean",dns="in.example.com"';
    expect(await of(`${P}unfulfilled_ips`)).toEqual([`${P}unfulfilled_ips{${ofPool}} 1`]);
    expect(await of(`${P}node_status`)).toEqual([
      `${P}node_status{${ofPool},status="available"} 4`,
      `${P}node_status{${ofPool},status="assigned"} 1`,
    ]);
  });

  test('show a new state in the place of the old one', async () => {
    const { pools, of } = metrics();
    pools.show(pool());
    await of(`${P}ip_state`);
    pools.show(pool({ ips: [{ ip: '203.0.113.1', state: 'error', nodeName: undefined, providerID: undefined }] }));
    const states = await of(`${P}ip_state`);
    expect(states).toHaveLength(1);
    expect(states[0]).toContain('ip="203.0.113.1"');
    expect(states[0]).toContain('state="error"');
  });

  test('go with the pool, and count from zero when one of that name comes again', async () => {
    const { pools, of } = metrics();
    pools.show(pool());
    pools.count({ namespace: 'default', name: 'ingress', ip: '203.0.113.1', outcome: 'success' });
    expect((await of(`${P}ip_assignments`))[0]).toMatch(/ 1$/);
    pools.forget('default', 'ingress');
    for (const name of ['ip_state', 'ip_node', 'ip_assignments', 'node_status', 'unfulfilled_ips']) expect(await of(P + name)).toEqual([]);
    pools.show(pool());
    expect((await of(`${P}ip_assignments`))[0]).toMatch(/ 0$/);
  });

  test('keep their counts when the process stops leading and starts again', async () => {
    const { pools, observer, of } = metrics();
    pools.show(pool());
    pools.count({ namespace: 'default', name: 'ingress', ip: '203.0.113.1', outcome: 'error' });
    observer.reset?.();
    expect(await of(`${P}ip_state`)).toEqual([]);
    pools.show(pool());
    expect((await of(`${P}ip_assignment_errors`))[0]).toMatch(/ 1$/);
  });
});

const record = (value: ActorRecord['snapshot']['value']): ActorRecord => ({
  chart: 'ip',
  chartVersion: 1,
  snapshot: { value, context: {} },
  waiting: {},
  version: 1,
  term: 7,
});

const turn = (events: readonly string[], before: string, after: string): SavedTurn => ({
  cell: 'pool/default/ingress',
  term: 7,
  at: NOW - 3,
  transitions: [
    {
      actor: 'pool/default/ingress/ip/203.0.113.1',
      chart: 'ip',
      events,
      heard: [],
      consumed: [],
      before: record(before),
      after: record(after),
    },
    {
      actor: 'pool/default/ingress',
      chart: 'pool',
      events: ['CLUSTER_OBSERVED'],
      heard: [],
      consumed: [],
      before: record('Serving'),
      after: record('Serving'),
    },
  ],
});

describe('a saved turn', () => {
  test('is counted and timed, and its transitions by chart and state', async () => {
    const { observer, of } = metrics();
    observer.turnSaved(turn(['NODE_GRANTED'], 'Unassigned', 'Assigning'));
    expect(await of('routedip_turns_total')).toEqual(['routedip_turns_total 1']);
    expect(await of('routedip_transitions_total')).toEqual(['routedip_transitions_total{chart="ip",to="Assigning"} 1']);
    expect(await of('routedip_turn_duration_seconds_sum')).toEqual(['routedip_turn_duration_seconds_sum 0.003']);
  });

  test('says from the beginning how many events were set aside, so that the first one is seen as an increase', async () => {
    const { observer, of } = metrics();
    expect(await of('routedip_events_set_aside_total')).toEqual(['routedip_events_set_aside_total 0']);
    observer.eventSetAside?.({ actor: 'pool/default/ingress', event: 'CLUSTER_OBSERVED' });
    expect(await of('routedip_events_set_aside_total')).toEqual(['routedip_events_set_aside_total 1']);
  });

  test('tells of cells that fail, and of objects that are not served as long as they are not', async () => {
    let unserved = [{ kind: 'RoutedIP', reason: 'ProviderUnread', count: 2 }];
    const { of } = metrics({ unserved: () => unserved, failing: () => ({ save: 1, turn: 0 }) });
    expect(await of('routedip_cells_failing')).toEqual([
      'routedip_cells_failing{reason="save"} 1',
      'routedip_cells_failing{reason="turn"} 0',
    ]);
    expect(await of('routedip_objects_unserved')).toEqual(['routedip_objects_unserved{kind="RoutedIP",reason="ProviderUnread"} 2']);
    unserved = [];
    expect(await of('routedip_objects_unserved')).toEqual([]);
  });

  test('tells of providers how many of their accounts cannot be read, and nothing of those that are gone', async () => {
    let unread = new Map([
      ['digitalocean', 2],
      ['job', 0],
    ]);
    const { of } = metrics({ unreadAccounts: () => unread });
    expect(await of('routedip_providers_unread')).toEqual([
      'routedip_providers_unread{provider="digitalocean"} 2',
      'routedip_providers_unread{provider="job"} 0',
    ]);
    unread = new Map([['digitalocean', 0]]);
    expect(await of('routedip_providers_unread')).toEqual(['routedip_providers_unread{provider="digitalocean"} 0']);
  });

  test('counts the assignments that ended in it', async () => {
    const { observer, pools, of } = metrics();
    pools.show(pool());
    observer.turnSaved(turn(['NODE_GRANTED'], 'Unassigned', 'Assigning'));
    observer.turnSaved(turn(['xstate.error.actor.assign'], 'Assigning', 'CoolOff'));
    observer.turnSaved(turn(['xstate.done.actor.assign'], 'Assigning', 'Stable'));
    expect((await of(`${P}ip_assignments`))[0]).toMatch(/203\.0\.113\.1.* 1$/);
    expect((await of(`${P}ip_assignment_errors`))[0]).toMatch(/203\.0\.113\.1.* 1$/);
  });

  test('names the states within states, one for each parallel region', () => {
    expect(statePaths('Stable')).toEqual(['Stable']);
    expect(statePaths({ Unassigned: 'Waiting' })).toEqual(['Unassigned.Waiting']);
    expect(statePaths({ Work: { b: 'Two', a: {} } })).toEqual(['Work.a', 'Work.b.Two']);
  });
});

describe('the process', () => {
  test('shows its queues, its leadership and what it is', async () => {
    const { of } = metrics({ queues: async () => ({ digitalocean: { waiting: 2, active: 1 } }) });
    expect(await of('routedip_queue_jobs')).toEqual([
      'routedip_queue_jobs{queue="digitalocean",state="waiting"} 2',
      'routedip_queue_jobs{queue="digitalocean",state="active"} 1',
    ]);
    expect(await of('routedip_leader')).toEqual(['routedip_leader 1']);
    expect(await of('routedip_term')).toEqual(['routedip_term 7']);
    expect(await of('routedip_build_info')).toEqual([`routedip_build_info{version="1.2.3",node="${process.version}"} 1`]);
    for (const name of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'process_open_fds', 'nodejs_heap_size_used_bytes']) {
      const [line = ''] = await of(name);
      expect(Number(line.split(' ')[1]), name).toBeGreaterThan(0);
    }
    expect(await of('nodejs_eventloop_lag_p99_seconds')).toHaveLength(1);
  });

  test('says that it only observes, and is no leader then: alerts do not take it for the one that acts', async () => {
    const { of } = metrics({ observes: true });
    const runtime = async () => (await Promise.all(['observe_only', 'leader', 'term'].map((name) => of(`routedip_${name}`)))).flat();
    expect(await runtime()).toEqual(['routedip_observe_only 1', 'routedip_leader 0', 'routedip_term 0']);
    expect(await metrics().of('routedip_observe_only')).toEqual(['routedip_observe_only 0']);
  });

  test('is scraped while Redis is away, without queue figures', async () => {
    const { of } = metrics({ queues: () => Promise.reject(new Error('connect ECONNREFUSED')) });
    expect(await of('routedip_queue_jobs')).toEqual([]);
    expect(await of('routedip_leader')).toHaveLength(1);
  });
});

describe('what is counted of a job', () => {
  const ran = (change: Partial<JobRun>): JobRun => ({
    job: 'assign',
    outcome: 'success',
    waitedMs: 20,
    ranMs: 100,
    sinceQueuedMs: 3_000,
    ...change,
  });

  test('is how long it waited, ran and took in all, by what came of it', async () => {
    const { observer, of } = metrics();
    observer.jobRan(ran({ outcome: 'unfinished', sinceQueuedMs: 120 }));
    observer.jobRan(ran({ waitedMs: null }));
    observer.jobRan(ran({ job: 'find', outcome: 'error', waitedMs: 1_000 }));
    expect(await of('routedip_job_wait_seconds_sum')).toEqual([
      'routedip_job_wait_seconds_sum{job_name="assign"} 0.02',
      'routedip_job_wait_seconds_sum{job_name="find"} 1',
    ]);
    expect(await of('routedip_job_run_duration_seconds_count')).toEqual([
      'routedip_job_run_duration_seconds_count{job_name="assign",outcome="again"} 1',
      'routedip_job_run_duration_seconds_count{job_name="assign",outcome="success"} 1',
      'routedip_job_run_duration_seconds_count{job_name="find",outcome="error"} 1',
    ]);
    expect(await of('routedip_job_duration_seconds_sum')).toEqual([
      'routedip_job_duration_seconds_sum{job_name="assign",outcome="success"} 3',
      'routedip_job_duration_seconds_sum{job_name="find",outcome="error"} 3',
    ]);
  });

  test('is why it has to run again; one that was fenced does not, and has told nothing', async () => {
    const { observer, of } = metrics();
    for (const outcome of ['unfinished', 'unfinished', 'rateLimited', 'unreachable', 'stale', 'fenced'] as const)
      observer.jobRan(ran({ outcome }));
    expect(await of('routedip_job_retries_total')).toEqual([
      'routedip_job_retries_total{job_name="assign",reason="unfinished"} 2',
      'routedip_job_retries_total{job_name="assign",reason="rateLimited"} 1',
      'routedip_job_retries_total{job_name="assign",reason="unreachable"} 1',
      'routedip_job_retries_total{job_name="assign",reason="stale"} 1',
    ]);
    expect(await of('routedip_job_run_duration_seconds_count')).toContain(
      'routedip_job_run_duration_seconds_count{job_name="assign",outcome="fenced"} 1',
    );
    expect(await of('routedip_job_duration_seconds_count')).toEqual([]);
  });
});

describe('a request budget', () => {
  const reading = (left: BudgetReading['left']) => ({ budgets: () => [{ provider: 'digitalocean', tokenHash: 'abcd', budget: { left } }] });

  test('shows what is left of each window beside its limit, read once for a scrape', async () => {
    let reads = 0;
    const { of, scrape } = metrics(
      reading(async () => {
        reads += 1;
        return [
          { window: 'minute', limit: 250, left: 17 },
          { window: 'hour', limit: 5_000, left: 4_000 },
        ];
      }),
    );
    await scrape();
    expect(reads).toBe(1);
    expect(await of('routedip_provider_budget_left')).toEqual([
      'routedip_provider_budget_left{provider="digitalocean",token="abcd",window="minute"} 17',
      'routedip_provider_budget_left{provider="digitalocean",token="abcd",window="hour"} 4000',
    ]);
    expect(await of('routedip_provider_budget_limit')).toEqual([
      'routedip_provider_budget_limit{provider="digitalocean",token="abcd",window="minute"} 250',
      'routedip_provider_budget_limit{provider="digitalocean",token="abcd",window="hour"} 5000',
    ]);
  });

  test('that cannot be read leaves the last figures out, and comes back', async () => {
    let away = false;
    const { of } = metrics(
      reading(async () => {
        if (away) throw new Error('connect ECONNREFUSED');
        return [{ window: 'hour', limit: 10, left: 9 }];
      }),
    );
    expect(await of('routedip_provider_budget_left')).toHaveLength(1);
    away = true;
    expect(await of('routedip_provider_budget_left')).toEqual([]);
    expect(await of('routedip_leader')).toHaveLength(1);
    away = false;
    expect(await of('routedip_provider_budget_left')).toHaveLength(1);
  });
});

describe('an IPGroup', () => {
  test('shows what it has, what is reserved and what is left, and nothing once it is gone', async () => {
    const present = [{ name: 'edge', capacity: 2n ** 64n, allocated: 3n, available: 2n ** 64n - 3n }];
    const { of } = metrics({ groups: () => present });
    expect(await of('routedip_ipgroup_addresses')).toEqual([
      'routedip_ipgroup_addresses{ipgroup="edge",state="allocated"} 3',
      'routedip_ipgroup_addresses{ipgroup="edge",state="available"} 18446744073709552000',
    ]);
    expect(await of('routedip_ipgroup_capacity')).toEqual(['routedip_ipgroup_capacity{ipgroup="edge"} 18446744073709552000']);
    present.pop();
    expect([...(await of('routedip_ipgroup_addresses')), ...(await of('routedip_ipgroup_capacity'))]).toEqual([]);
  });
});

describe('an account', () => {
  test('shows its orphans, and nothing while it cannot be read or was not read yet: zero would end an alert', async () => {
    const totals = { addresses: 3, orphans: 2, costPerMonth: 10 };
    const own = { account: 'digitalocean', provider: 'digitalocean', problem: null, totals };
    const others = [
      { ...own, account: 'digitalocean@web.token', totals: { ...totals, orphans: 0 } },
      { ...own, account: 'digitalocean@web.refused', problem: 'list: 401' },
      { ...own, account: 'job.http', totals: null },
    ];
    let accounts = [own, ...others];
    const { of } = metrics({ accounts: () => accounts });
    expect(await of('routedip_orphaned_addresses')).toEqual([
      'routedip_orphaned_addresses{provider="digitalocean",account="digitalocean"} 2',
      'routedip_orphaned_addresses{provider="digitalocean",account="digitalocean@web.token"} 0',
    ]);
    accounts = [{ ...own, problem: 'list: 401' }];
    expect(await of('routedip_orphaned_addresses')).toEqual([]);
  });
});

describe('the caches', () => {
  test('show whether they are in step, and when they last were; nothing for one that never was', async () => {
    const { of } = metrics({
      caches: () => [
        { kind: 'FloatingIPPool', synced: true, syncedAt: NOW },
        { kind: 'Pod', synced: false, syncedAt: null },
      ],
    });
    expect(await of('routedip_cache_synced')).toEqual([
      'routedip_cache_synced{kind="FloatingIPPool"} 1',
      'routedip_cache_synced{kind="Pod"} 0',
    ]);
    expect(await of('routedip_cache_last_sync_timestamp_seconds')).toEqual([
      'routedip_cache_last_sync_timestamp_seconds{kind="FloatingIPPool"} 1000',
    ]);
  });
});

describe('a NodeDNSRecordSet', () => {
  test('shows its records until it goes or the process stops leading', async () => {
    const { recordSets, observer, objects, of } = metrics();
    const set = { namespace: 'default', name: 'nodes', provider: 'cloudflare', dns: 'nodes.example.com', records: 3 };
    const labels = 'namespace="default",name="nodes",provider="cloudflare",dns="nodes.example.com"';
    recordSets.show(set);
    expect(await of('flipop_nodednsrecordset_records')).toEqual([`flipop_nodednsrecordset_records{${labels}} 3`]);
    recordSets.show({ ...set, records: 2 });
    expect(await of('flipop_nodednsrecordset_records')).toEqual([`flipop_nodednsrecordset_records{${labels}} 2`]);
    observer.reset?.();
    expect(await of('flipop_nodednsrecordset_records')).toEqual([]);
    recordSets.show(set);
    expect(await of('flipop_nodednsrecordset_records')).toHaveLength(1);
    objects.gone({ kind: 'NodeDNSRecordSet', namespace: 'default', name: 'nodes' });
    expect(await of('flipop_nodednsrecordset_records')).toEqual([]);
  });
});

test('objects are counted by kind and by what each of their conditions says, and none of what is gone', async () => {
  const says = (type: 'Ready' | 'Degraded', status: 'True' | 'False', reason: string) => ({
    type,
    status,
    reason,
    message: 'of one object',
  });
  let present = [
    { kind: 'RoutedIP', conditions: [says('Ready', 'True', 'Assigned'), says('Degraded', 'False', 'AsExpected')] },
    { kind: 'RoutedIP', conditions: [says('Ready', 'False', 'NoEligibleNode'), says('Degraded', 'False', 'AsExpected')] },
    { kind: 'FloatingIPPool', conditions: [says('Ready', 'False', 'SafeHold')] },
  ];
  const { of } = metrics({ objects: () => present });
  expect(await of('routedip_objects')).toEqual([
    'routedip_objects{kind="RoutedIP",condition="Ready",status="True",reason="Assigned"} 1',
    'routedip_objects{kind="RoutedIP",condition="Degraded",status="False",reason="AsExpected"} 2',
    'routedip_objects{kind="RoutedIP",condition="Ready",status="False",reason="NoEligibleNode"} 1',
    'routedip_objects{kind="FloatingIPPool",condition="Ready",status="False",reason="SafeHold"} 1',
  ]);
  present = present.slice(0, 1);
  expect(await of('routedip_objects')).toHaveLength(2);
});
