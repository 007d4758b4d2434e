import { describe, expect, test } from 'vitest';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { withoutHands } from '../../support/replicas.ts';
import { node, type OperatorProcess } from '../../support/world.ts';
import { JobsWorld, jobDriven, KEY, OLD, YOUNG } from './world.ts';

const ADDRESS = '198.51.100.1';
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Served on node young; then Redis goes, and the leader goes on without it, after it has made room once. */
async function without() {
  const driven = await jobDriven({ routedIPFirewallName: '' }, { away: true });
  const { world, ref, process } = driven;
  await world.stable(ref, 'young', 2 * MINUTE);
  await world.clock.advance(10 * SECOND);
  redisGoes(world);
  await world.clock.advance(MINUTE);
  expect([aways(world), process.supervisor.leading, world.statusOf(ref).state]).toEqual([2, true, 'Stable']);
  const before = world.jobs.created.length;
  const actions = (): readonly string[] => world.jobs.actions.slice(before);
  expect(world.heldBy(ADDRESS)).toBe('young');
  return { ...driven, actions, lose: () => world.cluster.setNode({ ...YOUNG, ready: false }) };
}

describe('a RoutedIP whose class is driven by Jobs, while Redis is away', () => {
  test('has a Job say where its address is before another one assigns it, each time, and only until Redis is back', async () => {
    const { world, ref, process, actions, lose } = await without();
    lose();
    await world.stable(ref, 'old', 2 * MINUTE);
    expect(actions()).toEqual(['find', 'assign']);
    world.cluster.setNode(YOUNG, { ...OLD, ready: false });
    await world.stable(ref, 'young', 2 * MINUTE);
    expect(actions()).toEqual(['find', 'assign', 'find', 'assign']);
    redisReturns(world);
    await world.clock.advance(MINUTE);
    expect(process.supervisor.withoutStore()).toBe(null);
    const back = actions().length;
    world.cluster.setNode(OLD);
    lose();
    await world.stable(ref, 'old', 2 * MINUTE);
    expect([actions().slice(back), world.heldBy(ADDRESS)]).toEqual([['assign'], 'old']);
    expect([world.jobs.overlaps, world.faults()]).toEqual([[], []]);
  });

  test.each([
    ['is stopped', (process: OperatorProcess) => process.stop()],
    ['dies', async (process: OperatorProcess) => process.kill()],
  ] as const)('has nothing assigned a second time when the leader %s while a Job assigns it', async (_, ends) => {
    const { world, ref, process, actions, lose } = await without();
    world.jobs.script('assign', { kind: 'exit', code: 0, afterMs: 3 * MINUTE });
    lose();
    await world.clock.runUntil(() => actions().includes('assign'), MINUTE);
    await world.clock.advance(10 * SECOND);
    await ends(process);
    redisReturns(world);
    await world.operator();
    await world.stable(ref, 'old', 10 * MINUTE);
    expect([actions().filter((each) => each === 'assign').length, world.heldBy(ADDRESS), world.jobs.overlaps]).toEqual([1, 'old', []]);
  });

  test('has nothing assigned when somebody has put its address there already', async () => {
    const { world, ref, actions, lose } = await without();
    world.jobs.platform.holders.set(ADDRESS, OLD.providerID);
    lose();
    await world.stable(ref, 'old', 2 * MINUTE);
    expect(actions()).toEqual(['find']);
  });

  test('stays where somebody has put its address meanwhile, when it may stay there', async () => {
    const { world, ref, actions, lose } = await without();
    const eldest = node('eldest', { createdAt: 0 });
    world.setNode(eldest);
    world.setWeb('shop', ['old', 'young', 'eldest']);
    await world.clock.advance(10 * SECOND);
    expect([actions(), world.statusOf(ref).assignedNode]).toEqual([[], 'young']);
    world.jobs.platform.holders.set(ADDRESS, eldest.providerID);
    lose();
    await world.stable(ref, 'eldest', 2 * MINUTE);
    expect([actions(), world.heldBy(ADDRESS)]).toEqual([['find', 'find'], 'eldest']);
  });

  test.each([
    ['says nothing of it', { kind: 'pretend', says: {} }],
    ['ends with 65', { kind: 'exit', code: 65 }],
  ] as const)('has its address assigned all the same when the template cannot find: it %s', async (_, script) => {
    const { world, ref, actions, lose } = await without();
    world.jobs.script('find', script);
    lose();
    await world.stable(ref, 'old', 2 * MINUTE);
    expect([actions(), world.heldBy(ADDRESS)]).toEqual([['find', 'assign'], 'old']);
  });

  test.each([
    ['fails', { kind: 'exit', code: 75 }],
    ['is killed at its deadline', { kind: 'hang' }],
  ] as const)('is looked at again when the Job that looks %s, and then nothing is in doubt', async (_, script) => {
    const { world, ref, actions, lose } = await without();
    world.jobs.script('find', script);
    lose();
    await world.clock.runUntil(() => world.statusOf(ref).state === 'CoolOff', 10 * MINUTE);
    expect([actions(), world.heldBy(ADDRESS), world.statusOf(ref).inDoubt]).toEqual([['find'], 'young', undefined]);
    await world.stable(ref, 'old', 2 * MINUTE);
    expect([actions(), world.heldBy(ADDRESS)]).toEqual([['find', 'find', 'assign'], 'old']);
  });
});

describe('a firewall that is driven by Jobs, while Redis is away', () => {
  test('is open in the end although a replica without a view of the Lease prunes it by what was wanted before', async () => {
    const world = new JobsWorld({ away: true });
    world.jobClass();
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['old', 'young']);
    const ref = world.setRoutedIP('shop');
    const cell = `firewall/${KEY}/edge`;
    let onceThere = (): void => undefined;
    const first = await withoutHands(
      world,
      () =>
        world.operator((point, about) => {
          const state = point === 'afterWrite' && about === cell && first.supervisor.records().get(cell)?.get(cell)?.snapshot.value;
          if (state === 'Pruning') onceThere();
          return false;
        }),
      KEY,
    );
    const second = await world.operator();
    await world.stable(ref, 'young', 2 * MINUTE);
    await world.clock.advance(20 * SECOND);
    // Nobody reaches the records from the moment on in which the job is there, and who is to run it sees no Lease any more.
    onceThere = () => {
      first.store.cut();
      second.store.cut();
      second.lease.cut();
    };
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.clock.runUntil(() => aways(world) === 1, MINUTE);
    onceThere = () => undefined;
    expect([world.opened(), world.heldBy(ADDRESS)]).toEqual([['tcp/8080 old', 'tcp/8080 young'], 'old']);
    world.cluster.setNode(YOUNG, { ...OLD, ready: false });
    await world.clock.advance(9 * SECOND);
    const before = world.jobs.actions.filter((action) => action === 'prune').length;
    second.store.mend();
    await world.clock.runUntil(() => world.jobs.actions.filter((action) => action === 'prune').length > before, 2 * SECOND);
    await world.clock.runUntil(() => world.opened().join() === 'tcp/8080 old', 5 * SECOND);
    expect(world.heldBy(ADDRESS), 'it waits for its port').toBe('old');
    await world.clock.runUntil(() => world.heldBy(ADDRESS) === 'young', MINUTE);
    expect(world.opened()).toContain('tcp/8080 young');
    first.store.mend();
    second.lease.mend();
    await world.clock.advance(2 * MINUTE);
    await world.stable(ref, 'young', 2 * MINUTE);
    expect([world.opened(), world.heldBy(ADDRESS), world.jobs.overlaps, world.faults()]).toEqual([['tcp/8080 young'], 'young', [], []]);
  });
});
