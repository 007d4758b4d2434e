import { expect, test } from 'vitest';
import { jobDriven, OLD, YOUNG } from './world.ts';

const ADDRESS = '198.51.100.1';

test.each([
  ['stays there when a Job finds it there', false, null, ['find']],
  ['is assigned again when a Job does not find it there: the machine was restarted without it', true, null, ['find', 'assign']],
  ['is assigned again by a template that cannot find: it ends with 65', true, { kind: 'exit', code: 65 }, ['find', 'assign']],
  ['is assigned again by a template that cannot find: it says nothing', true, { kind: 'pretend', says: {} }, ['find', 'assign']],
] as const)('an address whose node comes back %s', async (_, isTakenOff, script, actions) => {
  const { world, ref } = await jobDriven({ routedIPFirewallName: '' });
  world.cluster.setNode({ ...OLD, ready: false });
  await world.stable(ref, 'young', 120_000);
  const before = world.jobs.actions.length;
  world.cluster.setNode({ ...YOUNG, ready: false });
  await world.clock.advance(60_000);
  if (isTakenOff) world.jobs.platform.holders.set(ADDRESS, null);
  if (script) world.jobs.script('find', script);
  world.cluster.setNode(YOUNG);
  await world.clock.advance(60_000);
  await world.stable(ref, 'young', 120_000);
  expect(world.heldBy(ADDRESS)).toBe('young');
  expect(world.jobs.actions.slice(before)).toEqual(actions);
});
