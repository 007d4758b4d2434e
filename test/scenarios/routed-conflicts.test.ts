import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CLASS, type Routed, routedStageOnce } from '../e2e/routed.ts';
import { HTTP } from '../e2e/routed-objects.ts';

/** A real API server gives each nodePort once. */
const PORTS: Readonly<Record<string, number>> = { 'z-older': 30_081, 'a-newer': 30_082, later: 30_083 };

/** Ages are told in whole seconds: of two that are made in one the uid would decide. */
const untilASecondLater = ({ stage }: Routed): Promise<void> => {
  const madeBy = Math.floor(Date.now() / 1000);
  return stage.until('another second', () => Math.floor(Date.now() / 1000) > madeBy);
};

/** One address that several objects name. Each test begins and ends with none of them. */
describe('an address', () => {
  const routed = routedStageOnce();

  beforeAll(async () => {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes('a', 'b');
    for (const [name, nodePort] of Object.entries(PORTS)) await world.service(name, ['a', 'b'], [{ ...HTTP, nodePort }]);
    // Nothing is told again from time to time: a conflict shows by what has happened.
    await world.stage.start({ flags: ['--resync-interval=1h'] });
  });

  // What a deletion has left where it was would keep a node from those of the next test.
  afterEach(() => {
    const { cloud } = routed().stage;
    for (const address of cloud.state.reservedIPs.keys()) cloud.moveReservedIP(address, null);
  });

  /** Resolves once the RoutedIP says that it does not get the address, and why, everywhere where people look. */
  async function refused(world: Routed, name: string, text: string): Promise<void> {
    expect(await world.degraded(name, 'AddressConflict')).toBe(text);
    expect(await world.condition(name, 'Ready')).toMatchObject({ status: 'False', reason: 'AddressConflict', message: text });
    const status = await world.status(name);
    expect([status?.state, status?.error, status?.assignedNode]).toEqual(['Unassigned', text, undefined]);
    await world.stage.until('an Event says so', async () => (await world.notes(name)).includes(`AddressConflict: ${text}`));
  }

  async function serves(world: Routed, name: string, address: string): Promise<void> {
    await world.stage.until(`${name} serves`, async () => (await world.condition(name, 'Ready'))?.status === 'True');
    await world.stage.until(`nothing is wrong with ${name}`, async () => (await world.condition(name))?.reason === 'AsExpected');
    expect(await world.stable(name)).toBe(address);
  }

  const deleted = async (world: Routed, name: string): Promise<void> => {
    await world.deleteRoutedIP(name);
    await world.stage.until(`${name} is gone`, async () => (await world.status(name)) === null);
  };

  /** Resolves once nothing is done for the pool any more: what is taken off its nodes afterwards is not put back. */
  const removed = async ({ stage }: Routed, pool: string): Promise<void> => {
    await stage.deletePool(pool);
    const annotated = () => Promise.all(['a', 'b'].map((node) => stage.annotation(node)));
    await stage.until(`no node is annotated for ${pool}`, async () => (await annotated()).every((address) => address === null));
  };

  const anAddress = ({ stage }: Routed): string => stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
  const open = (...ports: readonly number[]): readonly string[] => ['tcp/22', ...ports.map((port) => `tcp/${port}`)];

  test('that two RoutedIPs name is the older one’s; the newer one says so, and has it where it is when the older one goes', async () => {
    const world = routed();
    const address = anAddress(world);
    // Named so that the alphabet does not give the right answer.
    await world.routedIP('z-older', { routedIP: address });
    await serves(world, 'z-older', address);
    const holder = world.stage.heldBy(address) ?? '';
    await untilASecondLater(world);
    const before = world.lastCall();
    await world.routedIP('a-newer', { routedIP: address });
    await refused(world, 'a-newer', `${address} belongs to RoutedIP default/z-older, which keeps it`);
    await serves(world, 'z-older', address);
    expect(await world.events('z-older')).not.toContain('AddressConflict');
    expect([world.changes(before), world.firewall()]).toEqual([[], { ports: open(30_081), nodes: [holder] }]);

    await deleted(world, 'z-older');
    await serves(world, 'a-newer', address);
    await world.stage.until('its own port is open', () => JSON.stringify(world.firewall().ports) === JSON.stringify(open(30_082)));
    expect([world.stage.heldBy(address), world.firewall().nodes, world.stage.assigns(address).length]).toEqual([holder, [holder], 1]);
    await deleted(world, 'a-newer');
  });

  test('that an older pool lists is not led to a Service before the pool lets it go', async () => {
    const world = routed();
    const { stage } = world;
    const [address, own] = [anAddress(world), anAddress(world)];
    await stage.pool('ingress', { ips: [address, own] });
    await stage.until('the pool serves', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const holder = stage.heldBy(address) ?? '';
    await untilASecondLater(world);
    const before = world.lastCall();
    await world.routedIP('later', { routedIP: address });
    await refused(world, 'later', `${address} belongs to FloatingIPPool default/ingress, which keeps it`);
    expect([world.changes(before), stage.heldBy(address), await stage.activeOn('ingress', address)]).toEqual([[], holder, holder]);

    await stage.editPool('ingress', { ips: [own] });
    await serves(world, 'later', address);
    expect([stage.heldBy(address), stage.assigns(address).length, world.firewall()]).toEqual([
      holder,
      1,
      { ports: open(30_083), nodes: [holder] },
    ]);
    await deleted(world, 'later');
    await removed(world, 'ingress');
  });

  test('that was created for an older RoutedIP is not a pool’s before that one goes; the pool serves its others meanwhile', async () => {
    const world = routed();
    const { stage } = world;
    await world.routedIP('z-older');
    const address = await world.stable('z-older');
    const holder = stage.heldBy(address) ?? '';
    const own = anAddress(world);
    await untilASecondLater(world);
    await stage.pool('ingress', { ips: [address, own] });
    await stage.until('the pool serves its own', async () => (await stage.activeOn('ingress', own)) !== null);
    const text = `${address} belongs to RoutedIP default/z-older, which keeps it`;
    const degraded = async () => ((await stage.getPool('ingress')).status?.conditions ?? []).find(({ type }) => type === 'Degraded');
    await stage.until('the pool says so', async () => (await degraded())?.reason === 'AddressConflict');
    expect((await degraded())?.message).toBe(text);
    expect((await stage.getPool('ingress')).status?.ips?.[address]).toMatchObject({ state: 'error', error: text });
    await serves(world, 'z-older', address);
    expect([stage.heldBy(address), stage.heldBy(own) === holder, stage.assigns(address).length]).toEqual([holder, false, 1]);

    await deleted(world, 'z-older');
    await stage.until('the pool has it', async () => (await stage.activeOn('ingress', address)) === holder);
    await stage.until('nothing is wrong', async () => (await degraded())?.status === 'False');
    expect([stage.assigns(address).length, world.firewall()]).toEqual([1, { ports: ['tcp/22'], nodes: [] }]);
    await removed(world, 'ingress');
  });
});
