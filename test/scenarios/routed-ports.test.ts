import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, routedStage } from '../e2e/routed.ts';
import type { PodPorts } from '../e2e/routed-objects.ts';

/** Which ports are opened on a node, by what listens there. */
const PORTS: Readonly<
  Record<string, { readonly listens: PodPorts; readonly ports: readonly JsonObject[]; readonly open: readonly string[] }>
> = {
  'the hostPort of the container port behind the port of the Service, and not the nodePort': {
    listens: { ports: [{ containerPort: 8000, hostPort: 8080 }] },
    ports: [{ name: 'http', port: 80, targetPort: 8000, nodePort: 30_080 }],
    open: ['tcp/22', 'tcp/8080'],
  },
  'the hostPort that a named targetPort leads to': {
    listens: {
      ports: [
        { name: 'web', containerPort: 8000, hostPort: 8080 },
        { name: 'admin', containerPort: 9000, hostPort: 9090 },
      ],
    },
    ports: [{ name: 'http', port: 80, targetPort: 'web', nodePort: 30_080 }],
    open: ['tcp/22', 'tcp/8080'],
  },
  'the container port of a Pod on the host’s network': {
    listens: { hostNetwork: true, ports: [{ name: 'web', containerPort: 8000, hostPort: 8000 }] },
    ports: [{ name: 'http', port: 80, targetPort: 'web', nodePort: 30_080 }],
    open: ['tcp/22', 'tcp/8000'],
  },
  'TCP and UDP of one number as two rules': {
    listens: {
      ports: [
        { name: 'dns', containerPort: 53, hostPort: 53, protocol: 'UDP' },
        { name: 'dns-tcp', containerPort: 53, hostPort: 53, protocol: 'TCP' },
      ],
    },
    ports: [
      { name: 'dns', port: 53, targetPort: 53, protocol: 'UDP', nodePort: 30_053 },
      { name: 'dns-tcp', port: 53, targetPort: 53, protocol: 'TCP', nodePort: 30_053 },
    ],
    open: ['tcp/22', 'tcp/53', 'udp/53'],
  },
  'a nodePort outside of the range that the platform allows': {
    listens: {},
    ports: [{ name: 'http', port: 80, targetPort: 80, nodePort: 30_080 }],
    open: ['tcp/22', 'tcp/30080'],
  },
};

describe('the firewall of a RoutedIP', () => {
  const { routed } = routedStage();

  /** A RoutedIP on the only node. */
  async function shop(listens: PodPorts, ports: readonly JsonObject[]) {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes('a');
    await world.pod('a', listens);
    await world.service('shop', ['a'], ports);
    await world.stage.start();
    await world.routedIP('shop');
    await world.stable('shop', 'a');
    return world;
  }

  for (const [what, { listens, ports, open }] of Object.entries(PORTS)) {
    test(`has ${what}`, async () => {
      const world = await shop(listens, ports);
      expect(world.firewall()).toEqual({ ports: open, nodes: ['a'] });
    });
  }

  test('is not touched for a nodePort within the range, and the address is assigned all the same', async () => {
    const world = await shop({}, [{ name: 'http', port: 80, targetPort: 80, nodePort: 31_080 }]);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.changes()).toEqual(['POST /v2/firewalls', 'CreateRoutedIP', 'AssignRoutedIP']);
    expect(await world.condition('shop', 'FirewallReady')).toMatchObject({ status: 'True', reason: 'NothingToOpen' });
  });

  test('keeps what it has while the Pods of the Service are replaced', async () => {
    const world = await shop({ ports: [{ containerPort: 80, hostPort: 8080 }] }, [
      { name: 'http', port: 80, targetPort: 80, nodePort: 30_080 },
    ]);
    const before = world.lastCall();
    await world.endpoints('shop', []);
    await world.degraded('shop', 'NoEligibleNode');
    await world.pod('a', { ports: [{ containerPort: 80, hostPort: 8080 }] });
    await world.endpoints('shop', ['a']);
    await world.stage.until('it serves again', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
    expect(world.changes(before)).toEqual([]);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: ['a'] });
  });

  test('has what replaced Pods listen on instead, opened before the former port is closed', async () => {
    const world = await shop({ ports: [{ containerPort: 80, hostPort: 8080 }] }, [
      { name: 'http', port: 80, targetPort: 80, nodePort: 30_080 },
    ]);
    const before = world.lastCall();
    await world.pod('a', { ports: [{ containerPort: 80, hostPort: 8081 }] });
    await world.stage.until('the former port is closed', () => !world.firewall().ports.includes('tcp/8080'));
    expect(world.changes(before)).toEqual(['AddPort', 'DeletePort']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8081'], nodes: ['a'] });
  });

  test('leaves SCTP out, and says so', async () => {
    const world = await shop({}, [
      { name: 'http', port: 80, targetPort: 80, nodePort: 30_080 },
      { name: 'sctp', port: 5060, targetPort: 5060, protocol: 'SCTP', nodePort: 30_081 },
    ]);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/30080']);
    await world.stage.until('an Event says so', async () =>
      (await world.notes('shop')).includes(
        'ProtocolNotSupported: port 5060 is SCTP, which no firewall of the provider knows: it is not opened',
      ),
    );
  });
});
