import { expect, test } from 'vitest';
import { MemoryJobs } from '../../../adapters/memory/job-driver.ts';
import { PROVIDER } from '../../support/world.ts';
import { MINUTE, RoutedWorld } from '../routedip/world.ts';
import { KEY, OLD, YOUNG } from './world.ts';

const TEMPLATE = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'curl:8' }] } } };

test('what somebody takes out of a firewall of the API is put back, although Jobs drive the addresses', async () => {
  const world = new RoutedWorld();
  const jobs = new MemoryJobs(world.clock);
  world.setClass({ updateRoutedIP: TEMPLATE }, 'http');
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  const process = await world.start();
  const own = process.providers.all[PROVIDER];
  if (!own?.provider) throw new Error('there is no provider');
  process.providers.set(KEY, { facts: own.facts, provider: { ...own.provider, jobs: jobs.driver({ firewalls: false }) } });
  await world.stable(ref, 'young', 2 * MINUTE);
  const opened = world.firewall();
  expect(opened.ports).toContain('tcp/8080');
  world.rules.firewalls.byHand(() => world.provider.cloud.closePorts('edge', [{ port: 8080, protocol: 'TCP' }]));
  expect(world.firewall()).not.toEqual(opened);
  await world.clock.advance(6 * MINUTE);
  expect([world.firewall(), world.statusOf(ref).state, jobs.actions]).toEqual([opened, 'Stable', ['create', 'assign']]);
  expect([world.reasonOf(ref, 'FirewallReady'), world.faults()]).toEqual(['FirewallOpened', []]);
});
