import { describe, expect, test } from 'vitest';
import { CLASS, routedStage } from '../e2e/routed.ts';

/** Droplets on which DigitalOcean applies no change of a firewall. */
describe('a firewall that is not applied', () => {
  const { routed } = routedStage();

  const hang = (node: string, status: 'waiting' | 'failed' | null): void => {
    const { cloud } = routed().stage;
    for (const { id, name } of cloud.state.droplets.values()) if (name === node) cloud.setFirewallHanging(id, status);
  };

  /** Somebody puts a Droplet of his own into the firewall. */
  async function cover(droplet: number): Promise<void> {
    const { cloud } = routed().stage;
    const [firewall] = cloud.state.firewalls.values();
    const { status } = await fetch(`${cloud.url}/v2/firewalls/${firewall?.id}/droplets`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ droplet_ids: [droplet] }),
    });
    expect(status).toBe(204);
  }

  /** RoutedIP `shop` on one of three nodes. */
  async function shop() {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS, {});
    await world.stage.nodes('a', 'b', 'c');
    for (const node of ['a', 'b', 'c']) await world.pod(node, { ports: [{ containerPort: 80, hostPort: 8081 }] });
    await world.service('shop', ['a', 'b', 'c']);
    await world.stage.start();
    await world.routedIP('shop');
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    const [one = '', other = ''] = ['a', 'b', 'c'].filter((node) => node !== holder);
    return { world, address, holder, one, other };
  }

  test('on the nodes that are left keeps the address where its ports are open, and it goes where they open first', async () => {
    const { world, address, holder, one, other } = await shop();
    hang(one, 'failed');
    hang(other, 'waiting');
    const before = world.stage.assigns(address).length;
    await world.stage.notReady(holder);
    await world.stage.until('its ports are added', () => world.firewall().nodes.length > 1);
    hang(other, null);
    await world.stage.until(`it is on ${other}`, () => world.stage.heldBy(address) === other, 60_000);
    await world.stable('shop', other);
    expect(world.stage.assigns(address).slice(before)).toEqual([{ address, node: other }]);
    await world.stage.until('the other one is left', () => world.firewall().nodes.join() === other);
  });

  test('on a Droplet of somebody else holds up nobody', async () => {
    const { world, address, holder } = await shop();
    const foreign = world.stage.cloud.addDroplet({ name: 'foreign', region: 'nyc3' });
    world.stage.cloud.setFirewallHanging(foreign.id, 'waiting');
    await cover(foreign.id);
    await world.stage.notReady(holder);
    await world.stage.until('it is elsewhere', () => ![null, holder].includes(world.stage.heldBy(address)), 20_000);
  });
});
