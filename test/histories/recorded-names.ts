import { node, type World } from '../support/world.ts';

const ZONE = 'example.com';
const ADDRESS = '203.0.113.7';
/** By node the address that its machine has. */
const EXTERNAL = { a: '198.51.100.1', b: '198.51.100.2' } as const;

const machine = (name: keyof typeof EXTERNAL, ready = true) => node(name, { ready, externalIPs: [EXTERNAL[name]] as never });
const record = (recordName: string) => ({ zone: ZONE, recordName });

/** The name of a pool and the name of its nodes, from the first record to the day on which nobody wants them any more: refused at first, through a
 *  failover, a spec that is not valid, a change of leader, and without a node. */
export async function names(world: World): Promise<void> {
  const { clock, cluster, provider } = world;
  const listed = (name: string): string =>
    provider.cloud
      .zone(ZONE)
      .records.filter((each) => each.name === name)
      .map(({ data }) => data)
      .sort()
      .join(' ');
  const until = (condition: () => boolean): Promise<number> => clock.runUntil(condition, 180_000);
  const rests = (actor: string, state: string) => (): boolean => world.invariants.records.get(actor)?.snapshot.value === state;
  const setOfNodes = (recordName: string) =>
    cluster.setPool({
      kind: 'NodeDNSRecordSet',
      name: 'nodes',
      spec: { match: { nodeLabel: 'pool=work' }, dnsRecordSet: record(recordName) },
    });

  provider.cloud.addZone(ZONE);
  world.nodes(machine('a'), machine('b'));
  world.address(ADDRESS);
  provider.faults.next('createDNSRecord', { kind: 'refuse', error: 'Unavailable' });
  const pool = world.pool('ingress', { ips: [ADDRESS], dnsRecordSet: record('web') });
  const set = setOfNodes('nodes');
  const first = await world.start();
  await until(() => listed('web') === ADDRESS && listed('nodes') === '198.51.100.1 198.51.100.2');
  cluster.setNode(machine('a', false));
  await until(() => world.holderOf(ADDRESS) === 'b' && listed('nodes') === EXTERNAL.b);
  setOfNodes('');
  await until(rests('dns/default/nodes', 'Invalid'));
  first.kill();
  setOfNodes('machines');
  await world.start();
  await until(() => listed('machines') === EXTERNAL.b);
  cluster.setNode(machine('b', false));
  await until(rests('dns/default/nodes', 'Empty'));
  await until(rests('pool/default/ingress/dns', 'Empty'));
  cluster.removePool(set);
  cluster.removePool(pool);
  await until(() => !world.invariants.records.has(`zone/digitalocean/${ZONE}`));
}
