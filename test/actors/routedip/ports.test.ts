import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND, servicePort } from './world.ts';

const A = '203.0.113.7' as Address;
const NODES = ['a', 'b', 'c', 'd'].map((name, index) => node(name, { createdAt: index }));
const NAMES = NODES.map(({ name }) => name);
/** Of what is lost. */
const lost = (name: string | null) => ({ ...node(name ?? ''), ready: false });

/** RoutedIP `shop` (address A) may be on four nodes, of which `d` is the youngest. */
async function ready(world: RoutedWorld, policy: Parameters<RoutedWorld['setClass']>[0] = {}) {
  world.setClass(policy);
  world.setNode(...NODES);
  world.address(A);
  world.setWeb('shop', NAMES);
  return world.leader();
}
const shop = (world: RoutedWorld): ObjectRef => world.setRoutedIP('shop', { routedIP: A });
const port = (number: number) => ({ ports: [servicePort(number)] });
const idle = async (world: RoutedWorld): Promise<void> => world.clock.advance(5 * SECOND);

describe('the ports of a Service', () => {
  test.for([
    ['8080', '30000-32767', 8080, ['tcp/22', 'tcp/8080']],
    ['30080', '30000-32767', 30080, ['tcp/22']],
    ['30080 when the range ends below it', '30000-30079', 30080, ['tcp/22', 'tcp/30080']],
    ['8080 when the range has it', '8000+100', 8080, ['tcp/22']],
  ] as const)('as nodePort %s are opened outside the range only', async ([, nodePortRange, nodePort, ports], { open }) => {
    const world = open();
    await ready(world, { nodePortRange });
    world.setWeb('shop', NAMES, port(nodePort));
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(ports);
    expect(world.reasonOf(ref, 'FirewallReady')).toBe(ports.length > 1 ? 'FirewallOpened' : 'NothingToOpen');
  });

  test('that the class does not allow are not opened, and are closed and opened when it changes; the address serves all the same', async ({
    open,
  }) => {
    const world = open();
    await ready(world, { allowedPorts: ['8080'] });
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9090)] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    expect(world.reasonOf(ref, 'Ready')).toBe('Assigned');
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('PortNotAllowed');
    expect(world.reasonOf(ref, 'Degraded')).toBe('PortNotAllowed');
    expect(world.eventsOf(ref).filter((reason) => reason === 'PortNotAllowed')).toHaveLength(1);
    world.setClass({});
    await idle(world);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080', 'tcp/9090']);
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallOpened');
    expect(world.reasonOf(ref, 'Degraded')).toBe('AsExpected');
    world.setClass({ maxPorts: 1 });
    await idle(world);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('PortNotAllowed');
  });

  test('that the class does not allow are not what keeps an address without a node from serving', async ({ open }) => {
    const world = open();
    await ready(world, { allowedPorts: ['8080'] });
    world.setWeb('shop', [], { ports: [servicePort(8080), servicePort(9090)] });
    const ref = shop(world);
    await world.untilReason(ref, 'NoEligibleNode');
    expect([world.reasonOf(ref, 'Degraded'), world.reasonOf(ref, 'FirewallReady')]).toEqual(['NoEligibleNode', 'PortNotAllowed']);
  });

  const pod = (hostPort: number | null) => ({
    name: `pod-${hostPort}`,
    hostNetwork: false,
    ports: [{ name: 'http', containerPort: 80, hostPort, protocol: 'TCP' as const }],
  });
  const bare = servicePort(0, { nodePort: null, name: 'http' });

  test('whose Pods have a hostPort are opened by that one, not by their own number', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', [], { type: 'ClusterIP', ports: [bare], endpoints: [{ node: 'd', ready: true, pod: pod(8080) }] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    expect(world.statusOf(ref).ports).toEqual([{ port: 8080, protocol: 'TCP' }]);
    expect(world.eventsOf(ref)).not.toContain('PortMayNotBeReachable');
  });

  test('on which nothing may listen on the node are opened with a Warning', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', [], { type: 'ClusterIP', ports: [bare], endpoints: [{ node: 'd', ready: true, pod: pod(null) }] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/80']);
    expect(world.eventsOf(ref).filter((reason) => reason === 'PortMayNotBeReachable')).toHaveLength(1);
  });

  test('with a name that differs between Pods are each Pod’s own, on the node where it runs; all of them where several do', async ({
    open,
  }) => {
    const world = open();
    await ready(world);
    const named = servicePort(0, { nodePort: null, targetPort: 'http' });
    const endpoints = [
      { node: 'a', ready: true, pod: pod(8081) },
      { node: 'a', ready: true, pod: pod(8082) },
      { node: 'd', ready: true, pod: pod(9090) },
    ];
    world.setWeb('shop', [], { type: 'ClusterIP', ports: [named], endpoints });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/9090']);
    expect(world.statusOf(ref).ports).toEqual([{ port: 9090, protocol: 'TCP' }]);
    world.cluster.setNode(lost('d'));
    await world.stable(ref, 'a');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8081', 'tcp/8082'], nodes: [providerIDOf('a')] });
  });

  test('of TCP and UDP with one number are two rules', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', NAMES, { ports: [servicePort(5353), servicePort(5353, { name: 'udp', protocol: 'UDP' })] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/5353', 'udp/5353']);
    world.setWeb('shop', NAMES, { ports: [servicePort(5353, { name: 'udp', protocol: 'UDP' })] });
    await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/22,udp/5353', 5 * SECOND);
  });

  test('of SCTP are skipped with a Warning, and the others opened', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9999, { protocol: 'SCTP' })] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    const told = world.cluster.projections.flatMap(({ events }) => events).filter(({ reason }) => reason === 'ProtocolNotSupported');
    expect(told).toEqual([expect.objectContaining({ type: 'Warning', message: expect.stringContaining('SCTP') })]);
  });

  test('that are added while the address is Stable are opened without moving it', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    const before = world.changes().length;
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9090)] });
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 2 * SECOND);
    await world.stable(ref, 'd', SECOND);
    await idle(world);
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallPort']);
    expect(world.statusOf(ref).ports).toEqual([
      { port: 8080, protocol: 'TCP' },
      { port: 9090, protocol: 'TCP' },
    ]);
  });

  test('that go while the address is Stable are closed, after it was seen on its node once more', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9090)] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    const before = world.provider.calls.length;
    world.setWeb('shop', NAMES);
    await world.clock.runUntil(() => !world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    await world.stable(ref, 'd');
    const calls = world.provider.calls.slice(before).map(({ verb }) => verb);
    expect(calls.filter((verb) => !verb.startsWith('find'))).toEqual(['deleteRoutedIPFirewallPort']);
    expect(calls.indexOf('findRoutedIP')).toBeGreaterThanOrEqual(0);
    expect(calls.indexOf('findRoutedIP')).toBeLessThan(calls.indexOf('deleteRoutedIPFirewallPort'));
  });

  test('that go while somebody has moved the address are not closed before it is back', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9090)] });
    const ref = shop(world);
    await world.stable(ref, 'd');
    world.provider.cloud.moveByHand(A, null);
    const before = world.changes().length;
    world.setWeb('shop', NAMES);
    await world.clock.runUntil(() => world.changes().length >= before + 2, MINUTE);
    await world.stable(ref, 'd');
    expect(world.changes().slice(before)).toEqual(['assignRoutedIP', 'deleteRoutedIPFirewallPort']);
    expect(world.eventsOf(ref)).toContain('PruneDeferred');
  });
});
