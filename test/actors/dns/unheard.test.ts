import { expect } from 'vitest';
import { withoutHands } from '../../support/replicas.ts';
import { test } from '../../support/sound.ts';
import { node } from '../../support/world.ts';

const ZONE = 'example.com';
const A = '203.0.113.1';
const SECOND = 1000;

test('a record that a worker has made after it ended, beside the one of the next worker, goes as soon as no call of the former can have an effect any more', async ({
  open,
}) => {
  const world = open();
  const { cloud, faults } = world.provider;
  cloud.addZone(ZONE);
  world.nodes(node('a'));
  const records = () => cloud.zone(ZONE).records.filter(({ name }) => name === 'web');
  await withoutHands(world, () => world.start());
  const worker = await world.start();
  await world.clock.advance(20 * SECOND);
  faults.next('createDNSRecord', { kind: 'hang', effectAfterMs: 14 * SECOND });
  world.pool('ingress', { ips: [world.address(A)], dnsRecordSet: { zone: ZONE, recordName: 'web' } });
  await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'createDNSRecord'), 10 * SECOND);
  worker.kill();
  await world.start();
  await world.clock.runUntil(() => records().length === 2, 15 * SECOND);
  expect(await world.clock.runUntil(() => records().length === 1, 30 * SECOND)).toBeLessThan(15 * SECOND);
  await world.clock.advance(60 * SECOND);
  expect(records().map(({ data }) => data)).toEqual([A]);
});
