import type { Address } from '../../../machines/model/types.ts';
import { MeasuredWorld, type Replica } from './operator.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';

/** A replica that has led through a bit of everything, so that each of its series has samples: an assignment that failed and was tried again,
 *  a failover, a 429, an address that was created, a record set that stands and one that cannot. */
export async function busyReplica(): Promise<Replica> {
  const world = new MeasuredWorld();
  world.nodes('a', 'b', 'c', 'd');
  world.address(A, 'a');
  world.address(B);
  world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' });
  world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 500 });
  const ref = world.pool('ingress', { ips: [A, B], desiredIPs: 3, dnsRecordSet: { zone: 'example.com', recordName: 'in' } });
  const replica = await world.start();
  await world.untilState(ref, A, 'active');
  await world.untilState(ref, B, 'active');
  world.change('a', { ready: false });
  await world.untilState(ref, A, 'in-progress');
  await world.untilState(ref, A, 'active');
  // Somebody takes an address off its node.
  world.provider.cloud.moveByHand(B as Address, null);
  await world.clock.runUntil(
    () => world.provider.cloud.addresses().some(({ address, providerID }) => address === B && providerID !== null),
    600_000,
  );
  await world.untilState(ref, B, 'active');
  // What is listed beyond `desiredIPs` is disabled.
  const spare = '203.0.113.9';
  world.address(spare);
  const other = world.pool('other', { ips: ['203.0.113.6', spare], desiredIPs: 1 });
  await world.untilState(other, spare, 'disabled');
  // The zone of the pool's record set does not exist; that of the nodes does.
  world.provider.cloud.addZone('example.org');
  world.change('b', { externalIPs: ['198.51.100.1' as Address] });
  const spec = { match: { nodeLabel: 'pool=work' }, dnsRecordSet: { zone: 'example.org', recordName: 'nodes' } };
  const nodes = world.cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'nodes', spec });
  const stateOf = () => (world.cluster.pool(nodes)?.status as { readonly state?: string } | undefined)?.state;
  await world.clock.runUntil(() => stateOf() === 'active', 60_000);
  const isDegraded = () => world.cluster.conditions(ref).some(({ type, status }) => type === 'Degraded' && status === 'True');
  await world.clock.runUntil(isDegraded, 60_000);
  return replica;
}
