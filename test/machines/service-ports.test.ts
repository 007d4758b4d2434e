import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { servicePorts } from '../../machines/service-ports.ts';
import type { ObservedBackend, ObservedService, ObservedServicePort } from '../../machines/types.ts';

const RULES = { open: { first: 30000, last: 32767 }, sources: null };

const port = (change: Partial<ObservedServicePort> = {}): ObservedServicePort => ({
  name: 'web',
  port: 80,
  protocol: 'TCP',
  targetPort: 'http',
  nodePort: null,
  ...change,
});
const pod = (containerPort: number, change: Partial<ObservedBackend> = {}, hostPort: number | null = null): ObservedBackend => ({
  name: 'pod',
  hostNetwork: false,
  ports: [{ name: 'http', containerPort, hostPort, protocol: 'TCP' }],
  ...change,
});
const service = (ports: readonly ObservedServicePort[], pods: Readonly<Record<string, ObservedBackend | null>>): ObservedService => ({
  type: 'NodePort',
  hasSelector: true,
  ports,
  endpoints: Object.entries(pods).map(([node, backend]) => ({ node, ready: true, pod: backend })),
});
const opened = (ports: readonly ObservedServicePort[], pods: Readonly<Record<string, ObservedBackend | null>>) => {
  const { ports: all, portsOn, warnings } = servicePorts(service(ports, pods), RULES);
  return { all, portsOn, warned: warnings.map(({ reason }) => reason) };
};

describe('what is opened for a port of a Service', () => {
  test('is the hostPort behind it, before anything else', () => {
    const behind = pod(8000, { hostNetwork: true }, 8080);
    expect(opened([port({ nodePort: 25000 })], { a: behind })).toEqual({ all: ['tcp/8080'], portsOn: {}, warned: [] });
  });

  test('is the container port of a Pod on the host network, before the nodePort', () =>
    expect(opened([port({ nodePort: 25000 })], { a: pod(8000, { hostNetwork: true }) }).all).toEqual(['tcp/8000']));

  test('is the target itself on the host network, where the Pod does not list it', () =>
    expect(opened([port({ targetPort: 9000 })], { a: pod(8000, { hostNetwork: true }) }).all).toEqual(['tcp/9000']));

  test('is the nodePort, before the port of the Service', () =>
    expect(opened([port({ nodePort: 25000 })], { a: pod(8000) })).toEqual({ all: ['tcp/25000'], portsOn: {}, warned: [] }));

  test('is the port of the Service when nothing on the node is known to listen, with a warning', () =>
    expect(opened([port()], { a: pod(8000) })).toEqual({ all: ['tcp/80'], portsOn: {}, warned: ['PortMayNotBeReachable'] }));

  test('is nothing within the range that the platform allows, both ends of it included', () => {
    const all = [29999, 30000, 32767, 32768].map((nodePort) => port({ nodePort }));
    expect(opened(all, { a: pod(8000) }).all).toEqual(['tcp/29999', 'tcp/32768']);
  });

  test('is nothing within that range either when it is a hostPort', () =>
    expect(opened([port({ nodePort: 25000 })], { a: pod(8000, {}, 30001) }).all).toEqual([]));

  test('is two rules for one number of TCP and UDP', () =>
    expect(opened([port({ nodePort: 53 }), port({ nodePort: 53, protocol: 'UDP' })], { a: null }).all).toEqual(['tcp/53', 'udp/53']));

  test('is nothing of SCTP, with a warning, and the others all the same', () =>
    expect(opened([port({ protocol: 'SCTP', nodePort: 25000 }), port({ nodePort: 25001 })], { a: null })).toEqual({
      all: ['tcp/25001'],
      portsOn: {},
      warned: ['ProtocolNotSupported'],
    }));

  test('differs from node to node where a target of one name does', () =>
    expect(opened([port({ nodePort: 25000 })], { a: pod(8000, {}, 8080), b: pod(9000, {}, 9090), c: pod(8000) })).toEqual({
      all: ['tcp/25000', 'tcp/8080', 'tcp/9090'],
      portsOn: { a: ['tcp/8080'], b: ['tcp/9090'], c: ['tcp/25000'] },
      warned: [],
    }));

  test('is known before any Pod is there', () => expect(opened([port({ nodePort: 25000 })], {}).all).toEqual(['tcp/25000']));

  test('bears the sources that the class allows', () => {
    const rules = { ...RULES, sources: ['10.0.0.0/8'] };
    const { ports } = servicePorts(service([port({ nodePort: 25000 })], { a: null }), rules);
    expect(ports).toEqual([expect.stringContaining('10.0.0.0/8')]);
  });

  test('is the same for any order of ports and endpoints', () => {
    const given = service([port({ nodePort: 25000 }), port({ nodePort: 24000, protocol: 'UDP' })], {
      a: pod(1, {}, 8080),
      b: pod(2),
      c: null,
    });
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...given.ports], { minLength: 2 }),
        fc.shuffledSubarray([...given.endpoints], { minLength: 3 }),
        (ports, endpoints) => {
          const { warnings: _, ...same } = servicePorts({ ...given, ports, endpoints }, RULES);
          const { warnings: __, ...first } = servicePorts(given, RULES);
          expect(same).toEqual(first);
        },
      ),
    );
  });
});
