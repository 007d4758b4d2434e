import { afterEach, describe, expect, test } from 'vitest';
import { CLOSED_PORT, failures, openReach, type Reach, transitsOf } from '../e2e/reach.ts';
import { routedStage } from '../e2e/routed.ts';

const NODES = ['a', 'b', 'c'];

/** Whoever connects to the address of a RoutedIP, by real connections through the simulated cloud: to the node that it points at, if a firewall lets them. */
describe('whoever connects to the address of a RoutedIP', () => {
  // An address moves faster than a rule comes into force: connections are lost to a port that is opened late, or not waited for.
  const { routed } = routedStage({ cloud: { actionMs: 150, firewallMs: 600 } });
  const held: { reach?: Reach } = {};
  afterEach(() => held.reach?.close());

  /** `shop` serves on all nodes; its address stands on one of them, whose answers the prober got. */
  async function shop(spec = {}) {
    const world = routed();
    await world.addFirewall();
    await world.setClass('floating', spec);
    await world.stage.nodes(...NODES);
    const reach = await openReach(world, NODES);
    held.reach = reach;
    await world.service('shop', NODES);
    await world.stage.start();
    await world.routedIP('shop');
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    const prober = await reach.probe(address);
    await reach.answered(prober, holder);
    /** Resolves with the node that answers instead of the holder, at rest. */
    const moved = async (): Promise<string> => {
      await world.stage.until('the address is elsewhere', () => ![holder, null].includes(world.stage.heldBy(address)));
      const next = world.stage.heldBy(address) ?? '';
      await world.stable('shop', next);
      await reach.answered(prober, next);
      return next;
    };
    // The first transit was that of the new address.
    const lost = async () => failures(await prober.stop(), transitsOf(world, address).slice(1));
    return { world, reach, address, holder, prober, moved, lost };
  }

  test('is answered all through a planned move, except while the address itself is in transit', async () => {
    const { world, reach, holder, prober, moved, lost } = await shop();
    const before = world.lastCall();
    await reach.cordon(holder);
    const next = await moved();
    const { inTransit, before: early, after: late } = await lost();
    expect({ early, late }).toEqual({ early: 0, late: 0 });
    // Connections can fail: some did, while the address was on its way.
    expect(inTransit).toBeGreaterThan(0);
    expect(new Set(prober.tries.flatMap(({ by }) => by ?? []))).toEqual(new Set([holder, next]));
    expect(world.changes(before)).toEqual(['AddNode', 'AssignRoutedIP', 'DeleteNode']);
  });

  test('is turned away on the new node until its port is open there, when the class opens ports after the move', async () => {
    const { world, reach, holder, moved, lost } = await shop({ firewallPostAllow: true });
    const before = world.lastCall();
    await reach.cordon(holder);
    await moved();
    const { before: early, after: late } = await lost();
    expect(early).toBe(0);
    expect(late).toBeGreaterThan(0);
    expect(world.changes(before)).toEqual(['AssignRoutedIP', 'AddNode', 'DeleteNode']);
  });

  test('loses nobody any more once the address of a node that failed is on another one', async () => {
    const { world, reach, holder, moved, lost } = await shop();
    reach.silence(holder);
    await world.stage.notReady(holder);
    await moved();
    const { before, after } = await lost();
    // Of the node that is gone nobody gets an answer.
    expect(before).toBeGreaterThan(0);
    expect(after).toBe(0);
  });

  test('gets no answer from a port that no Service names, wherever the address is', async () => {
    const { reach, address, holder, moved } = await shop();
    const closed = await reach.probe(address, CLOSED_PORT);
    await reach.cordon(holder);
    const next = await moved();
    expect(closed.tries.length).toBeGreaterThan(20);
    expect(closed.tries.filter(({ outcome }) => outcome !== 'reset')).toEqual([]);
    // Nothing but the firewall was in the way.
    await reach.openByHand(CLOSED_PORT);
    await reach.answered(closed, next);
  });
});
