import type { Address } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE } from './world.ts';

/** As many as a firewall of DigitalOcean takes. */
const MOST = 10;

test('a RoutedIP that more nodes have refused than its firewall can hold is served on the one that takes it', async ({ open }) => {
  const world = open();
  const names = Array.from({ length: MOST + 1 }, (_, index) => `full-${index}`);
  world.setClass();
  world.setNode(...names.map((name) => node(name)));
  for (const [index, name] of names.entries()) world.address(`198.51.100.${index}` as Address, name);
  world.setWeb('a', names);
  await world.leader();
  const ref = world.setRoutedIP('a');
  await world.untilReason(ref, 'FirewallLimit', 'Ready', 600 * MINUTE);
  world.setNode(...names.map((name) => node(name)), node('free'));
  world.setWeb('a', ['free']);
  await world.stable(ref, 'free', 60 * MINUTE);
});
