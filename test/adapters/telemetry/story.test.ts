import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { MeasuredWorld, type Replica, TOKEN_HASH } from './operator.ts';
import type { Sample } from './scrape.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const P = 'flipop_floatingippoolcontroller_';
const INGRESS = { namespace: 'default', name: 'ingress' };

/** A replica that leads two nodes, a and b, and a pool with the address A, which is active on a. */
async function serving(spec: Parameters<MeasuredWorld['pool']>[1] = {}) {
  const world = new MeasuredWorld();
  world.nodes('a', 'b');
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A], ...spec });
  const replica = await world.start();
  await world.untilState(ref, A, 'active');
  return { world, ref, replica };
}

/** `label` of each sample of a series. */
const valuesOf = (samples: readonly Sample[], label: string): readonly string[] => samples.map(({ labels }) => labels[label] ?? '').sort();

const expectNothingOf = async (replica: Replica, name: string): Promise<void> => {
  const text = await replica.text();
  expect(text).toContain('routedip_build_info');
  expect(text.split('\n').filter((line) => line.includes(`"${name}"`))).toEqual([]);
};

describe('the series of a pool', () => {
  test('follow an address from node to node, with what was assigned and what failed', async () => {
    const { world, ref, replica } = await serving({ dnsRecordSet: { zone: 'example.com', recordName: 'in' } });
    const pool = { ...INGRESS, provider: 'digitalocean', dns: 'in.example.com' };
    const onA = { ...pool, ip: A, provider_id: 'digitalocean://a', node: 'a' };
    expect(await replica.samples(`${P}ip_node`)).toEqual([{ name: `${P}ip_node`, labels: onA, value: 1 }]);
    expect(await replica.value(`${P}node_status`, { ...pool, status: 'available' })).toBe(1);
    expect(await replica.value(`${P}ip_assignments`, { ...pool, ip: A })).toBe(0);

    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'error');
    expect(valuesOf(await replica.samples(`${P}ip_state`), 'state')).toEqual(['error']);
    await world.untilState(ref, A, 'active');
    expect(valuesOf(await replica.samples(`${P}ip_node`), 'node')).toEqual(['b']);
    expect(valuesOf(await replica.samples(`${P}ip_state`), 'state')).toEqual(['active']);
    expect(await replica.value(`${P}ip_assignments`, { ...pool, ip: A })).toBe(1);
    expect(await replica.value(`${P}ip_assignment_errors`, { ...pool, ip: A })).toBe(1);
    expect(await replica.value(`${P}node_status`, { ...pool, status: 'available' })).toBe(0);
    expect(await replica.value(`${P}node_status`, { ...pool, status: 'assigned' })).toBe(1);
  });

  test('say what is desired and not acquired', async () => {
    const world = new MeasuredWorld();
    world.nodes('a', 'b');
    world.address(A, 'a');
    world.provider.faults.always('createRoutedIP', { kind: 'refuse', error: 'Invalid', message: 'quota' });
    const ref = world.pool('ingress', { ips: [A], desiredIPs: 2 });
    const replica = await world.start();
    await world.untilState(ref, A, 'active');
    expect(await replica.value(`${P}unfulfilled_ips`, INGRESS)).toBe(1);
    world.provider.faults.clear();
    await world.clock.advance(120_000);
    expect(world.cluster.pool(ref)?.spec).toMatchObject({ ips: [A, expect.any(String)] });
    expect(await replica.value(`${P}unfulfilled_ips`, INGRESS)).toBe(0);
  });

  test('go with an address that is taken out of the spec', async () => {
    const world = new MeasuredWorld();
    world.nodes('a', 'b');
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    const replica = await world.start();
    await world.untilState(ref, B, 'active');
    expect(valuesOf(await replica.samples(`${P}ip_state`), 'ip')).toEqual([A, B]);
    world.pool('ingress', { ips: [A] });
    await world.clock.advance(2_000);
    for (const name of ['ip_state', 'ip_node', 'ip_assignments', 'ip_assignment_errors']) {
      expect(valuesOf(await replica.samples(P + name), 'ip'), name).toEqual([A]);
    }
  });

  test('go with the pool: on the replica that leads, and on one that only ran jobs for it', async () => {
    const world = new MeasuredWorld();
    world.nodes('a', 'b', 'c', 'd');
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    const replica = await world.start();
    const follower = await world.start();
    await world.untilState(ref, B, 'active');
    await world.clock.advance(5_000);
    // Both at once, so that neither replica can do all the work.
    world.change('a', { ready: false });
    world.change('b', { ready: false });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    await world.untilState(ref, B, 'active');
    const calls = 'flipop_providers_calls_total';
    const made = [await replica.value(calls, INGRESS), await follower.value(calls, INGRESS)];
    expect(Math.min(...made.map((count) => count ?? 0)), 'both replicas ran jobs').toBeGreaterThan(0);

    world.cluster.removePool(ref);
    await world.clock.advance(5_000);
    await expectNothingOf(replica, 'ingress');
    await expectNothingOf(follower, 'ingress');
  });

  test('count calls for the pool they are made for, and lists for none', async () => {
    const { world, ref, replica } = await serving();
    world.address(B);
    world.nodes('c');
    world.pool('other', { ips: [B] });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    const calls = async (call: string) =>
      Object.fromEntries(
        (await replica.samples('flipop_providers_calls_total', { call })).map(({ labels, value }) => [labels.name, value]),
      );
    expect(await calls('AssignIP')).toEqual({ ingress: 1, other: 1 });
    expect(Object.keys(await calls('ListRoutedIPs'))).toEqual(['']);
    const kinds = valuesOf(await replica.samples('flipop_providers_calls_total', { call: 'AssignIP' }), 'kind');
    expect(new Set(kinds)).toEqual(new Set(['FloatingIPPool']));
  });
});

describe('a failover', () => {
  const COUNT = 'routedip_failover_duration_seconds_count';
  const SUM = 'routedip_failover_duration_seconds_sum';

  test('is measured from the loss of the node until the address is active elsewhere, waits after errors included', async () => {
    const { world, ref, replica } = await serving();
    expect(await replica.value(COUNT)).toBeNull();
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' });
    const lostAt = world.clock.now();
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'error');
    await world.untilState(ref, A, 'active');
    const took = (world.clock.now() - lostAt) / 1000;
    expect(await replica.value(COUNT, { provider: 'digitalocean' })).toBe(1);
    const measured = (await replica.value(SUM)) ?? 0;
    expect(measured).toBeGreaterThan(1);
    // The status is written a moment after the turn.
    expect(measured).toBeLessThanOrEqual(took);
    expect(took - measured).toBeLessThan(1);
  });

  test('with no node to go to lasts until there is one', async () => {
    const { world, ref, replica } = await serving();
    world.change('b', { ready: false });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'no-match');
    await world.clock.advance(60_000);
    expect(await replica.value(COUNT)).toBeNull();
    world.change('b', { ready: true });
    await world.untilState(ref, A, 'active');
    expect(await replica.value(COUNT)).toBe(1);
    expect(await replica.value(SUM)).toBeGreaterThan(60);
  });

  test('is none when the node comes back before', async () => {
    const { world, ref, replica } = await serving();
    world.change('b', { ready: false });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'no-match');
    world.change('a', { ready: true });
    await world.untilState(ref, A, 'active');
    world.change('b', { ready: true });
    await world.clock.advance(10_000);
    expect(await replica.value(COUNT)).toBeNull();
    // The next one counts from its own loss.
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    expect(await replica.value(COUNT)).toBe(1);
    expect(await replica.value(SUM)).toBeLessThan(5);
  });

  test('is none when a node drains and its address moves to a free one', async () => {
    const { world, ref, replica } = await serving({ drainPolicy: 'OnCordon' });
    world.change('a', { unschedulable: true });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    expect(valuesOf(await replica.samples(`${P}ip_node`), 'node')).toEqual(['b']);
    expect(await replica.value(COUNT)).toBeNull();
    // One that fails while it waits to be drained is lost like any other.
    world.change('b', { unschedulable: true });
    await world.clock.advance(10_000);
    world.change('b', { ready: false });
    await world.untilState(ref, A, 'no-match');
    world.change('a', { unschedulable: false });
    await world.untilState(ref, A, 'active');
    expect(await replica.value(COUNT)).toBe(1);
  });

  test('is none when an edit of the selectors leaves the node out', async () => {
    const { world, ref, replica } = await serving();
    world.change('b', { labels: { pool: 'work', tier: 'front' } });
    world.pool('ingress', { ips: [A], match: { nodeLabel: 'pool=work,tier=front' } });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    expect(valuesOf(await replica.samples(`${P}ip_node`), 'node')).toEqual(['b']);
    expect(await replica.value(COUNT)).toBeNull();
  });

  test('is none when somebody moved the address and it is put back', async () => {
    const { world, ref, replica } = await serving();
    world.provider.cloud.moveByHand(A as Address, null);
    await world.untilState(ref, A, 'in-progress', 400_000);
    await world.untilState(ref, A, 'active');
    expect(await replica.value(COUNT)).toBeNull();
  });
});

describe('the machines', () => {
  test('are shown by chart and state, as 0 once nobody is in one, and not at all by who does not lead', async () => {
    const { world, ref, replica } = await serving();
    const follower = await world.start();
    expect(await replica.value('routedip_machines', { chart: 'ip', state: 'Stable.Holding' })).toBe(1);
    expect(await replica.value('routedip_machines', { chart: 'pool', state: 'Serving.granting.Open' })).toBe(1);
    world.change('b', { ready: false });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'no-match');
    expect(await replica.value('routedip_machines', { chart: 'ip', state: 'Unassigned.Waiting' })).toBe(1);
    expect(await replica.value('routedip_machines', { chart: 'ip', state: 'Stable.Holding' })).toBe(0);
    expect(await follower.samples('routedip_machines')).toEqual([]);
  });

  test('that leave a state are measured', async () => {
    const { world, ref, replica } = await serving();
    await world.clock.advance(30_000);
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'error');
    await world.untilState(ref, A, 'active');
    const took = async (state: string) => ({
      count: await replica.value('routedip_state_duration_seconds_count', { chart: 'ip', state }),
      sum: await replica.value('routedip_state_duration_seconds_sum', { chart: 'ip', state }),
    });
    expect(await took('CoolOff')).toEqual({ count: 1, sum: 1 });
    expect((await took('Assigning')).count).toBe(2);
    expect((await took('Stable.Holding')).sum).toBeGreaterThanOrEqual(30);
    expect(await replica.value('routedip_transitions_total', { chart: 'ip', to: 'Assigning' })).toBe(2);
  });

  test('that were entered under another leader are not measured', async () => {
    const { world, ref, replica } = await serving();
    const successor = await world.start();
    const stopped = replica.supervisor.stop();
    await world.clock.runUntil(() => successor.supervisor.leading, 60_000);
    await world.clock.advance(30_000);
    await stopped;
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    expect(await successor.value('routedip_state_duration_seconds_count', { chart: 'ip', state: 'Assigning' })).toBe(1);
    expect(await successor.value('routedip_state_duration_seconds_count', { chart: 'ip', state: 'Stable.Holding' })).toBeNull();
  });
});

describe('jobs', () => {
  test('that met a 429 wait and are not failed', async () => {
    const { world, ref, replica } = await serving();
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 2_000 });
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'in-progress');
    await world.untilState(ref, A, 'active');
    expect(await replica.value('routedip_job_retries_total', { job_name: 'assign', reason: 'rateLimited' })).toBe(1);
    expect(await replica.value('routedip_job_retries_total', { job_name: 'assign', reason: 'unfinished' })).toBeGreaterThan(0);
    expect(await replica.value('routedip_job_duration_seconds_count', { job_name: 'assign', outcome: 'success' })).toBe(1);
    expect(await replica.value('routedip_job_duration_seconds_count', { job_name: 'assign', outcome: 'error' })).toBeNull();
    expect(await replica.value('routedip_job_duration_seconds_sum', { job_name: 'assign' })).toBeGreaterThan(2);
    expect(await replica.value('routedip_job_wait_seconds_count', { job_name: 'assign' })).toBe(1);
  });

  test('that failed are told as errors, each try for itself', async () => {
    const { world, ref, replica } = await serving();
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 2);
    world.change('a', { ready: false });
    await world.untilState(ref, A, 'error');
    await world.untilState(ref, A, 'active');
    expect(await replica.value('routedip_job_duration_seconds_count', { job_name: 'assign', outcome: 'error' })).toBe(2);
    expect(await replica.value('routedip_job_run_duration_seconds_count', { job_name: 'assign', outcome: 'error' })).toBe(2);
  });

  test('that cannot be queued are on their way until they can', async () => {
    const { world, ref, replica } = await serving();
    expect(await replica.value('routedip_outbox_commands')).toBe(0);
    world.queues.goDown();
    world.change('a', { ready: false });
    await world.clock.advance(2_000);
    expect(await replica.value('routedip_outbox_commands')).toBe(1);
    expect(await replica.samples('routedip_queue_jobs')).toEqual([]);
    world.queues.comeBack();
    await world.untilState(ref, A, 'active');
    expect(await replica.value('routedip_outbox_commands')).toBe(0);
    expect(valuesOf(await replica.samples('routedip_queue_jobs', { state: 'waiting' }), 'queue')).toEqual([
      'digitalocean',
      'outcomes',
      'timers',
    ]);
  });
});

describe('the request budget of a token', () => {
  const left = (replica: Replica, window: string) =>
    replica.value('routedip_provider_budget_left', { provider: 'digitalocean', token: TOKEN_HASH, window });

  test('is what calls have left of it, and nothing while a 429 closes it', async () => {
    const { world, replica } = await serving();
    const before = (await left(replica, 'hour')) ?? 0;
    expect(before).toBeGreaterThan(4_900);
    const budget = world.budget;
    for (let calls = 0; calls < 100; calls += 1) await budget.pay('failover');
    expect(await left(replica, 'hour')).toBe(before - 100);
    expect(await replica.value('routedip_provider_budget_limit', { window: 'hour' })).toBe(5_000);
    await budget.close(60_000);
    expect(await left(replica, 'minute')).toBe(0);
  });
});

describe('leadership', () => {
  test('is shown by one replica with its term, then by the other one', async () => {
    const { world, replica } = await serving();
    const follower = await world.start();
    const shown = async (of: Replica) => ({ leader: await of.value('routedip_leader'), term: await of.value('routedip_term') });
    expect([await shown(replica), await shown(follower)]).toEqual([
      { leader: 1, term: 1 },
      { leader: 0, term: 0 },
    ]);
    expect(await follower.samples(`${P}ip_state`)).toEqual([]);
    const stopped = replica.supervisor.stop();
    await world.clock.runUntil(() => follower.supervisor.leading, 60_000);
    await world.clock.advance(5_000);
    await stopped;
    expect(await shown(follower)).toEqual({ leader: 1, term: 2 });
    expect(valuesOf(await follower.samples(`${P}ip_state`), 'state')).toEqual(['active']);
  });
});
