import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, FIREWALL, type Routed, routedStage } from '../e2e/routed.ts';
import { HTTP, meaningOf } from '../e2e/routed-objects.ts';

/** What listens on each node: every node another hostPort, so that ports are to be opened and closed with a move. */
const LISTENS: Readonly<Record<string, number>> = { a: 8081, b: 8082 };

/** In which order what is done for a RoutedIP is done, as the provider and the API server see it. */
describe('what a RoutedIP needs', () => {
  // The audit log's times are compared with the provider's: both by the wall clock, from which a process's own clock drifts.
  const { routed } = routedStage({ audit: true, cloud: { now: Date.now } });

  /** A RoutedIP `shop` on one of two nodes that listen on different ports. */
  async function shop(spec: JsonObject = {}) {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS, spec);
    await world.stage.nodes('a', 'b');
    for (const [node, hostPort] of Object.entries(LISTENS)) {
      const https = { containerPort: 443, hostPort: 8443 };
      await world.pod(node, { ports: [{ containerPort: 80, hostPort }, https] });
    }
    await world.service('shop', ['a', 'b']);
    // A verification lists the firewalls whenever its time has come, also between two steps of a move.
    await world.stage.start({ flags: ['--verify-interval=10m'] });
    await world.routedIP('shop');
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    expect(world.firewall()).toEqual({ ports: ['tcp/22', `tcp/${LISTENS[holder]}`], nodes: [holder] });
    return { world, address, holder, other: holder === 'a' ? 'b' : 'a' };
  }

  /** What was asked of the provider after `since`, in order. A firewall may be looked at at any time, also once more after all was as it should be. */
  const asked = (world: Routed, since: number): readonly string[] => world.stage.cloud.calls.select({ since }).map(meaningOf);

  /** Between the first call of one meaning and the first of the other, or before that one. */
  const between = (all: readonly string[], after: string | null, before: string): readonly string[] =>
    all.slice(after === null ? 0 : all.indexOf(after), all.indexOf(before));

  /** When the first call came that changed anything, ms since the epoch. */
  const firstAt = (world: Routed, since: number): number => {
    const [first] = world.changes(since);
    return world.stage.cloud.calls.select({ since }).find((call) => meaningOf(call) === first)?.at ?? Number.NaN;
  };

  test('is done in the order that keeps connections: marked, opened there, moved, closed here', async () => {
    const { world, holder, other } = await shop();
    const before = world.lastCall();
    const failedAt = Date.now();
    const mark = () => world.stage.target.nodeWrites(other).find((at) => at >= failedAt);
    await world.stage.notReady(holder);
    await world.stable('shop', other);
    expect(world.changes(before)).toEqual(['AddPort', 'AddNode', 'AssignRoutedIP', 'DeletePort', 'DeleteNode']);
    expect(between(asked(world, before), null, 'AddPort')).toContain('FindFirewall');
    await world.stage.until('the mark is in the log', () => mark() !== undefined);
    expect(mark()).toBeLessThanOrEqual(firstAt(world, before));
    expect(world.firewall()).toEqual({ ports: ['tcp/22', `tcp/${LISTENS[other]}`], nodes: [other] });
  });

  test('is opened only after the address has moved under firewallPostAllow, and closed last all the same', async () => {
    const { world, holder, other } = await shop({ firewallPostAllow: true });
    expect(world.changes().slice(0, 3)).toEqual(['POST /v2/firewalls', 'CreateRoutedIP', 'AssignRoutedIP']);
    const before = world.lastCall();
    await world.stage.notReady(holder);
    await world.stable('shop', other);
    expect(world.changes(before)).toEqual(['AssignRoutedIP', 'AddPort', 'AddNode', 'DeletePort', 'DeleteNode']);
    expect(between(asked(world, before), 'AssignRoutedIP', 'AddPort')).toContain('FindFirewall');
  });

  test('besides, when the Service gets a port, is opened without moving anything, and closed when it loses it', async () => {
    const { world, address, holder } = await shop();
    const before = world.lastCall();
    await world.editService('shop', { ports: [HTTP, { name: 'https', port: 443, targetPort: 443, nodePort: 30_443 }] });
    await world.stage.until('the port is open', () => world.firewall().ports.includes('tcp/8443'));
    const both = JSON.stringify([LISTENS[holder], 8443].map((port) => ({ port, protocol: 'TCP' })));
    await world.stage.until('the status has both', async () => JSON.stringify((await world.status('shop'))?.ports) === both);
    await world.stable('shop', holder);
    expect(world.changes(before)).toEqual(['AddPort']);

    await world.editService('shop', { ports: [HTTP] });
    await world.stage.until('the port is closed', () => !world.firewall().ports.includes('tcp/8443'));
    await world.stable('shop', holder);
    expect(world.changes(before)).toEqual(['AddPort', 'DeletePort']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', `tcp/${LISTENS[holder]}`], nodes: [holder] });
    expect(world.stage.heldBy(address)).toBe(holder);
  });

  test('is opened in another firewall before it is closed in the former one when the class names another', async () => {
    const { world, address, holder } = await shop();
    await world.addFirewall('outer');
    const before = world.lastCall();
    await world.editClass(CLASS, { routedIPFirewallName: 'outer' });
    await world.stage.until('nothing is left in the former one', () => world.firewall().nodes.length === 0);
    expect(world.changes(before)).toEqual(['AddPort', 'AddNode', 'DeletePort', 'DeleteNode']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.firewall('outer')).toEqual({ ports: ['tcp/22', `tcp/${LISTENS[holder]}`], nodes: [holder] });
    await world.stage.until('the status names it', async () => (await world.status('shop'))?.firewall === 'outer');
    expect([world.stage.heldBy(address), FIREWALL]).toEqual([holder, 'edge']);
  });
});
