import { expect, test } from 'vitest';
import { JOBS_ONLY, jobsOnly } from '../../adapters/accounts/jobs-only.ts';
import { GroupWorld } from './group-world.ts';

const OTHER = 'example.com/other';
const OTHER_KEY = 'job.other';
const TEMPLATE = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };

test('an address of an IPGroup is kept there when its RoutedIP goes to a class of other Jobs that names no group', async () => {
  const world = new GroupWorld();
  world.group();
  world.groupClass();
  const { providers } = await world.operator();
  const ref = world.wants('shop');
  await world.stable(ref, undefined, 120_000);
  expect(world.k8s.ips()).toMatchObject([{ reclaim: 'Delete' }]);
  providers.set(OTHER_KEY, { facts: { ...JOBS_ONLY, missing: null }, provider: jobsOnly(OTHER_KEY, world.jobs.driver()) });
  world.setClass({ className: OTHER, routedIPFirewallName: '', updateRoutedIP: TEMPLATE, updateFirewall: TEMPLATE }, 'other');
  world.setRoutedIP('shop', { className: OTHER });
  await world.clock.advance(120_000);
  expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', class: { name: 'other' }, routedIP: '192.0.2.1' });
  expect(world.k8s.ips()).toMatchObject([{ address: '192.0.2.1', reclaim: 'Retain' }]);
  expect([world.jobs.overlaps, world.faults()]).toEqual([[], []]);
});
