import { expect, test } from 'vitest';
import { JOBS_ONLY, jobsOnly } from '../../../adapters/accounts/jobs-only.ts';
import { GroupWorld } from '../routedip/group-world.ts';
import { jobDriven, KEY } from './world.ts';

const OTHER = 'example.com/other';
const OTHER_KEY = 'job.other';
const TEMPLATE = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };

const OTHER_CLASS = { className: OTHER, routedIPFirewallName: '', updateRoutedIP: TEMPLATE, updateFirewall: TEMPLATE };

test('an address of an IPGroup is kept there when its RoutedIP goes to a class of other Jobs that names no group', async () => {
  const world = new GroupWorld();
  world.group();
  world.groupClass();
  const { providers } = await world.operator();
  const ref = world.wants('shop');
  await world.stable(ref, undefined, 120_000);
  expect(world.k8s.ips()).toMatchObject([{ reclaim: 'Delete' }]);
  providers.set(OTHER_KEY, { facts: { ...JOBS_ONLY, missing: null }, provider: jobsOnly(OTHER_KEY, world.jobs.driver()) });
  world.setClass(OTHER_CLASS, 'other');
  world.setRoutedIP('shop', { className: OTHER });
  await world.clock.advance(120_000);
  expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', class: { name: 'other' }, routedIP: '192.0.2.1' });
  expect(world.k8s.ips()).toMatchObject([{ address: '192.0.2.1', reclaim: 'Retain' }]);
  expect([world.jobs.overlaps, world.faults()]).toEqual([[], []]);
});

test('an address whose RoutedIP went to a class of other Jobs during a pause is driven by those once it is over', async () => {
  const { world, ref, process } = await jobDriven({ routedIPFirewallName: '' });
  await world.stable(ref, undefined, 120_000);
  process.providers.set(OTHER_KEY, { facts: { ...JOBS_ONLY, missing: null }, provider: jobsOnly(OTHER_KEY, world.jobs.driver()) });
  world.setClass(OTHER_CLASS, 'other');
  world.cluster.annotate(ref, { 'routedip.io/paused': 'true' });
  await world.clock.advance(5_000);
  world.setRoutedIP('shop', { className: OTHER });
  await world.clock.advance(30_000);
  const drivenBy = () => {
    const { snapshot } = process.supervisor.records().get('rip/web/shop')?.get('rip/web/shop/ip/198.51.100.1') ?? {};
    return (snapshot?.context as { readonly provider?: string } | undefined)?.provider;
  };
  expect(drivenBy()).toBe(KEY);
  world.cluster.annotate(ref, {});
  await world.clock.advance(60_000);
  expect([drivenBy(), world.statusOf(ref).state, world.heldBy('198.51.100.1')]).toEqual([OTHER_KEY, 'Stable', 'young']);
});
