import { describe, expect, test } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import { OUTCOMES, type OutcomeData } from '../../../actors/runtime/queue-data.ts';
import { JOBS_ONLY } from '../../../adapters/accounts/jobs-only.ts';
import type { JobScript } from '../../../adapters/memory/job-driver.ts';
import { JobsWorld, jobDriven, KEY, OLD, YOUNG } from './world.ts';

const ADDRESS = '198.51.100.1';

async function served(change = {}, options = {}) {
  const driven = await jobDriven(change, options);
  await driven.world.stable(driven.ref, undefined, 120_000);
  return driven;
}

describe('a RoutedIP whose class is driven by Jobs', () => {
  test('gets an address, opens its port and is assigned, in this order, each by a Job', async () => {
    const { world, ref } = await served();
    expect(world.jobs.actions.slice(0, 3)).toEqual(['create', 'open', 'assign']);
    expect(world.statusOf(ref)).toMatchObject({ routedIP: ADDRESS, assignedNode: 'young', addressOrigin: 'Created' });
    expect(world.heldBy(ADDRESS)).toBe('young');
    expect(world.opened()).toEqual(['tcp/8080 young']);
    expect(world.jobs.overlaps).toEqual([]);
    expect(world.faults()).toEqual([]);
  });

  test('is assigned before anything is opened when its class says so', async () => {
    const { world } = await served({ firewallPostAllow: true });
    expect(world.jobs.actions.slice(0, 3)).toEqual(['create', 'assign', 'open']);
    expect(world.opened()).toEqual(['tcp/8080 young']);
  });

  test('has no Jobs about a firewall when its class names none', async () => {
    const { world } = await served({ routedIPFirewallName: '' });
    expect(world.jobs.actions).toEqual(['create', 'assign']);
  });

  test('moves when its node is lost: opened there, assigned, pruned here', async () => {
    const { world, ref } = await served();
    const before = world.jobs.actions.length;
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old', 120_000);
    const moved = world.jobs.actions.slice(before);
    expect([moved.slice(0, 2), moved.at(-1)]).toEqual([['open', 'assign'], 'prune']);
    expect(world.heldBy(ADDRESS)).toBe('old');
    expect(world.opened()).toEqual(['tcp/8080 old']);
    expect(world.jobs.overlaps).toEqual([]);
  });

  test('is led to nodes without a providerID, which its Jobs know by their names', async () => {
    const world = new JobsWorld();
    world.jobClass();
    const [old, young] = [OLD, YOUNG].map((each) => ({ ...each, providerID: '' })) as [typeof OLD, typeof YOUNG];
    world.setNode(old, young);
    world.setWeb('shop', ['old', 'young']);
    const ref = world.setRoutedIP('shop');
    await world.operator();
    await world.stable(ref, 'young', 120_000);
    world.cluster.setNode({ ...young, ready: false });
    await world.stable(ref, 'old', 120_000);
    expect(world.heldBy(ADDRESS)).toBe('old');
    expect(world.opened()).toEqual(['tcp/8080 old']);
    const assigns = world.jobs.created.filter(({ request }) => request.action === 'assign');
    const { env } = assigns.at(-1)?.request ?? {};
    expect(env).toMatchObject({ ROUTEDIP_NODE: 'old', ROUTEDIP_NODE_PROVIDER_ID: 'old', ROUTEDIP_NODE_INSTANCE_ID: 'old' });
    expect(env).toMatchObject({ ROUTEDIP_PREVIOUS_NODE: 'young', ROUTEDIP_PREVIOUS_NODE_PROVIDER_ID: 'young' });
    expect([assigns.length, world.faults()]).toEqual([2, []]);
  });

  test('goes by the region that its class says now: a wrong one is mended by changing the class', async () => {
    const { world, ref } = await jobDriven({ region: 'here' });
    for (const each of [OLD, YOUNG]) world.setNode({ ...each, region: 'nyc3' });
    await world.untilReason(ref, 'NoEligibleNode', 'Degraded', 60_000);
    expect(world.messageOf(ref, 'Degraded')).toContain('young (it is in region nyc3, not in here)');
    world.jobClass({ region: 'nyc3' });
    await world.stable(ref, 'young', 60_000);
    expect(world.heldBy(ADDRESS)).toBe('young');
    const [assign] = world.jobs.created.filter(({ request }) => request.action === 'assign');
    expect(assign?.request.env.ROUTEDIP_REGION).toBe('nyc3');
  });

  test('leaves no Job behind that has ended', async () => {
    const { world } = await served();
    expect(world.jobs.created.length).toBeGreaterThan(2);
    expect(world.jobs.present).toEqual([]);
  });

  test('tells its Jobs which node it leaves and which try it is', async () => {
    const { world, ref } = await served();
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old', 120_000);
    const assign = world.jobs.created.findLast(({ request }) => request.action === 'assign');
    expect(assign?.request.env).toMatchObject({
      ROUTEDIP_NAMESPACE: 'web',
      ROUTEDIP_NAME: 'shop',
      ROUTEDIP_ADDRESS: ADDRESS,
      ROUTEDIP_NODE: 'old',
      ROUTEDIP_NODE_PROVIDER_ID: OLD.providerID,
      ROUTEDIP_NODE_INSTANCE_ID: 'old',
      ROUTEDIP_PREVIOUS_NODE: 'young',
      ROUTEDIP_PREVIOUS_NODE_PROVIDER_ID: YOUNG.providerID,
      ROUTEDIP_SERVICE_NAMESPACE: 'web',
      ROUTEDIP_SERVICE_NAME: 'shop',
      ROUTEDIP_FIREWALL: 'edge',
      ROUTEDIP_PORTS: 'tcp/8080',
      ROUTEDIP_RECLAIM_POLICY: 'Retain',
    });
  });

  test('tells the Jobs of its firewall all that is to be open, and what was opened before', async () => {
    const { world, ref } = await served();
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old', 120_000);
    const prune = world.jobs.created.findLast(({ request }) => request.action === 'prune');
    const on = ({ name, providerID }: { name: string; providerID: string }) => ({ name, providerID, instanceID: name });
    expect(prune?.request.request).toMatchObject({
      addOnly: false,
      ports: [{ port: 8080, protocol: 'TCP', nodes: [on(OLD)] }],
      owned: [{ port: 8080, protocol: 'TCP', nodes: [on(OLD), { providerID: YOUNG.providerID, instanceID: 'young' }] }],
    });
  });

  test('that has an address already is found by a Job, and stays where it is', async () => {
    const driven = await jobDriven();
    const { world } = driven;
    world.jobs.platform.holders.set('192.0.2.1', OLD.providerID);
    const ref = world.setRoutedIP('shop', { routedIP: '192.0.2.1' });
    await world.stable(ref, 'old', 120_000);
    expect(world.jobs.actions[0]).toBe('find');
    expect(world.jobs.actions).not.toContain('assign');
    expect(world.jobs.actions).not.toContain('create');
  });

  test('that is deleted, with an address that was made for it, has it deleted by a Job', async () => {
    const { world, ref } = await served({ routedIPReclaimPolicy: 'Delete' });
    expect(world.jobs.platform.holders.has(ADDRESS)).toBe(true);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 120_000);
    expect(world.jobs.actions.slice(-2)).toEqual(['prune', 'delete']);
    expect(world.jobs.platform.holders.has(ADDRESS)).toBe(false);
    expect(world.opened()).toEqual([]);
  });
});

describe('a Job that assigns', () => {
  /** Served, then made to move to node old, when the next assign goes by the script. */
  async function moving(script: JobScript) {
    const driven = await served();
    driven.world.jobs.script('assign', script);
    const before = driven.world.jobs.created.length;
    driven.world.cluster.setNode({ ...YOUNG, ready: false });
    const actions = () => driven.world.jobs.actions.slice(before);
    const until = (happened: () => boolean, ms = 120_000) => driven.world.clock.runUntil(happened, ms);
    return { ...driven, actions, until, runs: (action: string) => actions().filter((each) => each === action).length };
  }

  test('and fails is told of and deleted, and a new one comes after a wait; mark and claims are kept', async () => {
    const { world, ref, until, runs } = await moving({ kind: 'exit', code: 1, says: { message: 'no route' } });
    await until(() => world.statusOf(ref).state === 'CoolOff');
    expect(world.statusOf(ref).error).toMatch(/updateRoutedIP \(assign\): Job \S+ ended with exit code 1: no route/);
    expect(world.jobs.present).toEqual([]);
    expect(Object.keys(world.cluster.holders())).toContain('old');
    expect(world.opened()).toEqual(['tcp/8080 old', 'tcp/8080 young']);
    const failedAt = world.clock.monotonic();
    await until(() => runs('assign') === 2);
    expect(world.clock.monotonic() - failedAt).toBeGreaterThanOrEqual(900);
    await world.stable(ref, 'old', 120_000);
    expect(world.heldBy(ADDRESS)).toBe('old');
  });

  test.each([75, 99])('and ends with %i is tried again soon', async (code) => {
    const { world, ref, until, runs } = await moving({ kind: 'exit', code });
    await until(() => world.statusOf(ref).state === 'CoolOff');
    await until(() => runs('assign') === 2, 20_000);
  });

  test('and says that this can never work is tried again after an hour, or once the class or the RoutedIP is changed; both hear of it', async () => {
    const { world, ref, until, runs } = await moving({ kind: 'exit', code: 65 });
    await until(() => world.statusOf(ref).state === 'CoolOff');
    const next = `the next try comes at ${world.statusOf(ref).coolOffUntil}`;
    const said = 'tried again once the RoutedIP, its class or its credentials are changed, and each hour';
    expect(world.messageOf(ref, 'Progressing')).toBe(`${said}; ${next}`);
    await world.clock.advance(59 * 60_000);
    expect([runs('assign'), world.reasonOf(ref)]).toEqual([1, 'RoutedIPJobFailed']);
    expect(world.eventsOf(ref)).toContain('RoutedIPJobFailed');
    expect(world.cluster.announced.map(({ about, event }) => [about.kind, event.reason])).toEqual([
      ['ClusterRoutedIPClass', 'RoutedIPJobFailed'],
    ]);
    world.jobs.script('assign', { kind: 'exit', code: 65 });
    await until(() => runs('assign') === 2, 120_000);
    await world.clock.advance(60_000);
    world.jobClass({ perNodeIPLimit: 2 });
    await world.stable(ref, 'old', 60_000);
    expect(runs('assign')).toBe(3);
  });

  test('and is refused its credentials waits for others', async () => {
    const { world, ref, process, until, runs } = await moving({ kind: 'exit', code: 77 });
    await until(() => world.statusOf(ref).state === 'CoolOff');
    await expect(until(() => runs('assign') > 1, 50_000)).rejects.toThrow();
    const known = process.providers.all[KEY];
    process.providers.set(KEY, known ? { ...known } : null);
    await world.stable(ref, 'old', 20_000);
    expect(runs('assign')).toBe(2);
  });

  test('and whose Pod never begins is given up at its deadline, and a new one is made', async () => {
    const { world, ref, until, runs } = await moving({ kind: 'stuck', why: 'ImagePullBackOff' });
    const begun = world.clock.monotonic();
    await until(() => world.statusOf(ref).state === 'CoolOff', 600_000);
    expect(world.clock.monotonic() - begun).toBeGreaterThanOrEqual(300_000);
    expect(world.statusOf(ref).error).toMatch(/DeadlineExceeded; its Pod waited: ImagePullBackOff/);
    expect(runs('find')).toBe(0);
    await world.stable(ref, 'old', 120_000);
    expect([runs('assign'), runs('find')]).toEqual([2, 0]);
    expect(world.jobs.overlaps).toEqual([]);
  });

  test('and is killed at its deadline may have had an effect: where the address is, is found out before the next one', async () => {
    const { world, ref, actions } = await moving({ kind: 'hang' });
    await world.stable(ref, 'old', 900_000);
    expect(actions().filter((each) => each === 'assign' || each === 'find')).toEqual(['assign', 'find', 'assign']);
    expect(world.jobs.overlaps).toEqual([]);
  });

  test('and is deleted by somebody in the middle: where the address is, is found out before the next one', async () => {
    const { world, ref, actions, until, runs } = await moving({ kind: 'hang' });
    await until(() => runs('assign') === 1);
    expect(world.jobs.remove('assign')).toBe(1);
    await world.stable(ref, 'old', 120_000);
    expect(actions().filter((each) => each === 'assign' || each === 'find')).toEqual(['assign', 'find', 'assign']);
  });

  test('and is deleted after it has done its work is not done again', async () => {
    const { world, ref, actions, until, runs } = await moving({ kind: 'hang' });
    await until(() => runs('assign') === 1);
    world.jobs.platform.holders.set(ADDRESS, OLD.providerID);
    world.jobs.remove('assign');
    await world.stable(ref, 'old', 120_000);
    expect(actions().filter((each) => each === 'assign' || each === 'find')).toEqual(['assign', 'find']);
  });

  test.each([
    [YOUNG.providerID, /exit code 0, but says that 198\.51\.100\.1 is on digitalocean:\/\/young/],
    ['\u001b[31m\n', /exit code 0, but names what is no provider ID: \\u001b\[31m\\n/],
  ])('and says that the address is on another node, or on what can be none (%j), has failed', async (providerID, error) => {
    const { world, ref, until } = await moving({ kind: 'pretend', says: { address: ADDRESS, providerID } });
    await until(() => world.statusOf(ref).state === 'CoolOff');
    expect(world.statusOf(ref).error).toMatch(error);
    expect(world.statusOf(ref).assignedNode).not.toBe('old');
    await world.stable(ref, 'old', 120_000);
    expect(world.heldBy(ADDRESS)).toBe('old');
  });

  test('and says nothing has done it', async () => {
    const { world, ref, runs } = await moving({ kind: 'pretend', says: {} });
    await world.stable(ref, 'old', 120_000);
    expect(runs('assign')).toBe(1);
  });

  test('goes on while its template is edited; the next one is made from the new template', async () => {
    const { world, ref, until, runs } = await moving({ kind: 'exit', code: 75, afterMs: 20_000 });
    await until(() => runs('assign') === 1);
    world.jobs.template = 'second';
    await world.stable(ref, 'old', 120_000);
    const assigns = world.jobs.created.filter(({ request }) => request.action === 'assign').slice(-2);
    expect(assigns.map(({ template, state }) => [template, state.kind])).toEqual([
      ['first', 'failed'],
      ['second', 'succeeded'],
    ]);
  });

  test('is not killed when its node is lost: another one comes after it has ended', async () => {
    const { world, ref, until, runs } = await moving({ kind: 'exit', code: 0, afterMs: 20_000 });
    await until(() => runs('assign') === 1);
    world.cluster.setNode({ ...OLD, ready: false });
    world.cluster.setNode(YOUNG);
    const [first] = world.jobs.created.filter(({ request }) => request.action === 'assign').slice(-1);
    await until(() => first?.state.kind === 'succeeded');
    expect(runs('assign')).toBe(1);
    await world.stable(ref, 'young', 120_000);
    expect(world.heldBy(ADDRESS)).toBe('young');
    expect(world.jobs.overlaps).toEqual([]);
  });
});

describe('a Job that does not begin', () => {
  const refused = 'FailedCreate: Error creating: pods "rip-r-1" is forbidden: violates PodSecurity "restricted:latest"';

  test.each(['create', 'open', 'assign'] as const)(
    'although it is to %s is told of within seconds, on the RoutedIP and its class, and no more once it has begun',
    async (action) => {
      const { world, ref } = await jobDriven();
      world.jobs.script(action, { kind: 'stuck', reason: 'FailedCreate', why: refused, forMs: 60_000 });
      const condition = (type: string) => world.cluster.conditions(ref).find((each) => each.type === type);
      const { clock, jobs } = world;
      await clock.runUntil(() => jobs.actions.includes(action), 60_000);
      await clock.runUntil(() => condition('Degraded')?.status === 'True', 5_000);
      const purpose = action === 'open' ? 'updateFirewall' : 'updateRoutedIP';
      const told = new RegExp(`^${purpose} \\(${action}\\): Job \\S+ waits: FailedCreate: Error creating: pods .* violates PodSecurity`);
      expect(condition('Degraded')).toMatchObject({ reason: 'FailedCreate', message: expect.stringMatching(told) });
      expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'FailedCreate' });
      expect(world.eventsOf(ref).filter((reason) => reason === 'FailedCreate')).toHaveLength(1);
      expect(world.cluster.announced.map(({ about, event }) => [about.kind, event.reason])).toEqual([
        ['ClusterRoutedIPClass', 'FailedCreate'],
      ]);
      await clock.runUntil(() => condition('Degraded')?.status === 'False', 62_000);
      expect(jobs.actions.filter((each) => each === action)).toHaveLength(1);
      await world.stable(ref, 'young', 60_000);
      expect(world.eventsOf(ref).filter((reason) => reason === 'FailedCreate')).toHaveLength(1);
    },
  );

  test('is told of in words that a leader of an earlier version takes for no result', async () => {
    const { world, ref } = await jobDriven();
    world.jobs.script('assign', { kind: 'stuck', reason: 'FailedCreate', why: refused, forMs: 60_000 });
    await world.stable(ref, 'young', 120_000);
    const outcomes = world.queues.jobs(OUTCOMES).map(({ data }) => data as unknown as OutcomeData);
    const waits = outcomes.filter(({ outcome }) => 'waits' in outcome);
    expect(waits.map(({ outcome }) => ('waits' in outcome ? outcome.waits?.reason : ''))).toEqual(['FailedCreate', undefined]);
    // It knows a result by the invocation under which it waits, of which none is named so.
    expect(waits.map(({ invokeId }) => invokeId)).toEqual(['', '']);
    expect(outcomes.filter(({ outcome }) => !('waits' in outcome)).map(({ invokeId }) => invokeId)).not.toContain('');
  });

  test('is told of by the next leader, too', async () => {
    const { world, ref, process } = await jobDriven();
    world.jobs.script('assign', {
      kind: 'stuck',
      reason: 'ImagePullBackOff',
      why: 'ImagePullBackOff: Back-off pulling image',
      forMs: 120_000,
    });
    const reason = () => world.reasonOf(ref, 'Degraded');
    await world.clock.runUntil(() => reason() === 'ImagePullBackOff', 60_000);
    await process.stop();
    await world.operator();
    await world.clock.advance(30_000);
    expect(reason()).toBe('ImagePullBackOff');
    await world.stable(ref, 'young', 120_000);
    expect(reason()).toBe('AsExpected');
    expect(world.jobs.actions.filter((each) => each === 'assign')).toHaveLength(1);
  });
});

describe('a class whose Jobs the operator may not run', () => {
  const refused = new ProviderError(
    'Unsupported',
    'updateRoutedIP Job (create): the ServiceAccount may not list jobs in namespace routedip-jobs',
    { conditionReason: 'Forbidden' },
  );

  test('is told of, once, and goes on within seconds once it may, however long that took', async () => {
    const { world, ref } = await jobDriven();
    world.jobs.refused = refused;
    await world.untilReason(ref, 'Forbidden', 'Degraded');
    await world.clock.advance(3_600_000);
    expect(world.messageOf(ref, 'Degraded')).toContain('may not list jobs in namespace routedip-jobs');
    expect(world.eventsOf(ref).filter((reason) => reason === 'Forbidden')).toHaveLength(1);
    expect(world.eventsOf(ref)).not.toContain('CreateFailed');
    world.jobs.refused = null;
    await world.clock.runUntil(() => world.jobs.actions.includes('create'), 11_000);
    await world.stable(ref, 'young', 60_000);
  });

  test('has its assignment tried again as soon', async () => {
    const { world, ref } = await jobDriven();
    await world.clock.runUntil(() => world.jobs.actions.includes('create') && world.statusOf(ref).routedIP === ADDRESS, 60_000);
    world.jobs.refused = refused;
    await world.untilReason(ref, 'Forbidden', 'Degraded', 60_000);
    await world.clock.advance(3_600_000);
    world.jobs.refused = null;
    await world.stable(ref, 'young', 30_000);
  });
});

describe('a class driven by Jobs whose Secret is missing', () => {
  test('waits and runs no Jobs until it is there', async () => {
    const { world, ref, process } = await jobDriven();
    const known = process.providers.all[KEY];
    expect(known?.provider).not.toBeNull();
    const missing = 'Secret routedip-operator/platform does not exist';
    process.providers.set(KEY, { facts: { ...JOBS_ONLY, missing }, provider: null });
    await world.clock.runUntil(() => world.reasonOf(ref) === 'SecretNotFound', 60_000);
    const before = world.jobs.created.length;
    await world.clock.advance(600_000);
    expect(world.jobs.created.length).toBe(before);
    process.providers.set(KEY, known ?? null);
    await world.stable(ref, 'young', 120_000);
    expect(world.jobs.actions).toContain('assign');
  });
});
