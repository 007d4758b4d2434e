import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ObservedBackend, ObservedService, ObservedServicePort } from '../../../machines/model/types.ts';
import { servicePorts } from '../../../machines/pool/service-ports.ts';
import { allowedText, type PortLimits, portLimits } from '../../../machines/spec/allowed-ports.ts';

const RULES = { open: { first: 30000, last: 32767 }, sources: null, limits: {}, source: 'ClusterRoutedIPClass floating' };

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
const opened = (ports: readonly ObservedServicePort[], pods: Readonly<Record<string, ObservedBackend | null>>, limits: PortLimits = {}) => {
  const { ports: all, portsOn, warnings } = servicePorts(service(ports, pods), { ...RULES, limits });
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

  test('is a hostPort also within that range, which the platform opens for node ports alone', () =>
    expect(opened([port({ nodePort: 25000 })], { a: pod(8000, {}, 30001) }).all).toEqual(['tcp/30001']));

  test.each<[string, Partial<ObservedService>]>([
    ['of type LoadBalancer', { type: 'LoadBalancer' }],
    ['whose node ports the platform is told not to open', { isUnmanaged: true }],
  ])('is the nodePort within that range, too, of a Service %s', (_, change) => {
    const behind = { ...service([port({ nodePort: 30080 })], { a: pod(8000) }), ...change };
    expect(servicePorts(behind, { ...RULES, limits: {} }).ports).toEqual(['tcp/30080']);
  });

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

const numbers = (...all: readonly number[]) => all.map((nodePort) => port({ nodePort }));
const allowing = (...allowedPorts: readonly string[]) => portLimits({ allowedPorts });

describe('a Service with thousands of ports before Pods with as many', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => port({ port: index + 1, targetPort: index + 1 }));

  test('is looked at once for each of its ports and each of theirs, not for each pair', () => {
    let reads = 0;
    const behind = Array.from({ length: 5_000 }, (_, index) => {
      const others = { name: `p${index}`, hostPort: null, protocol: 'TCP' };
      return {
        ...others,
        get containerPort() {
          reads += 1;
          return index + 60_000;
        },
      };
    });
    opened(many(1_000), { a: pod(1, { ports: behind }), b: pod(1, { ports: behind }) });
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(20 * behind.length);
  });

  test('has its first thousand opened, and is told in a few words of the others and of what is wrong with each', () => {
    const { all, warned } = opened(many(5_000), { a: pod(1) });
    const own = 1;
    expect(all).toHaveLength(1_000 - own);
    expect(Object.groupBy(warned, (reason) => reason)).toMatchObject({
      PortMayNotBeReachable: { length: 21 },
      PortNotAllowed: { length: 2 },
    });
    const { warnings } = servicePorts(service(many(5_000), { a: pod(1) }), RULES);
    expect(warnings.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'the Service has 5000 ports, and only the first 1000 of them are opened',
        'the same is to be said of 980 more ports of the Service',
      ]),
    );
  });
});

describe('what a class lets be opened', () => {
  test('is no port of the node itself, unless it is named', () => {
    const own = numbers(22, 2379, 2380, 6443, 10250, 10255, 10259);
    expect(opened(own, { a: null })).toEqual({ all: [], portsOn: {}, warned: own.map(() => 'PortNotAllowed') });
    expect(opened(own, { a: null }, allowing('1-65535')).all).toEqual([]);
    expect(opened(own, { a: null }, allowing('22', '2379-2380', 'tcp/6443', '10250-10255')).all).toEqual(
      ['tcp/22', 'tcp/2379', 'tcp/2380', 'tcp/6443', 'tcp/10250', 'tcp/10255'].sort(),
    );
    expect(opened(numbers(21, 23, 2378, 2381, 10249, 10260), { a: null }).warned).toEqual([]);
  });

  test('is what its entries name, of the protocol that they name', () => {
    const both = [port({ nodePort: 53 }), port({ nodePort: 53, protocol: 'UDP' }), port({ nodePort: 8080 }), port({ nodePort: 9000 })];
    expect(opened(both, { a: null }, allowing('udp/53', '8000-8999'))).toEqual({
      all: ['tcp/8080', 'udp/53'],
      portsOn: {},
      warned: ['PortNotAllowed', 'PortNotAllowed'],
    });
  });

  test('is what the node listens on, not what the Service says', () => {
    expect(opened([port({ port: 22, nodePort: 25000 })], { a: null }).all).toEqual(['tcp/25000']);
    expect(opened([port({ port: 80, nodePort: 25000 })], { a: pod(8000, {}, 22) }).warned).toEqual(['PortNotAllowed']);
    expect(opened([port({ port: 80 })], { a: pod(10250, { hostNetwork: true }) }).all).toEqual([]);
  });

  test('is no more than it says, and on each node of these only', () => {
    const limits = portLimits({ maxPorts: 2 });
    expect(opened(numbers(8082, 8081, 8083), { a: null }, limits)).toEqual({
      all: ['tcp/8081', 'tcp/8082'],
      portsOn: {},
      warned: ['PortNotAllowed'],
    });
    const behind = { a: pod(1, {}, 8083), b: pod(1, {}, 8082), c: pod(1, {}, 8081) };
    expect(opened([port()], behind, limits)).toMatchObject({
      all: ['tcp/8081', 'tcp/8082'],
      portsOn: { a: [], b: ['tcp/8082'], c: ['tcp/8081'] },
    });
  });

  test('keeps nothing out that the platform allows, and says nothing where no firewall is managed', () => {
    expect(opened(numbers(30022), { a: null }, allowing('80')).warned).toEqual([]);
    expect(servicePorts(service(numbers(22), { a: null }), { ...RULES, limits: null }).warnings).toEqual([]);
  });

  test('says which port it is, and by whose rule', () => {
    const { warnings } = servicePorts(service(numbers(22, 80, 90), { a: null }), {
      ...RULES,
      limits: portLimits({ allowedPorts: ['80', '443'] }),
    });
    expect(warnings.map(({ message }) => message)).toEqual([
      'TCP 22 is not opened: the node itself uses it, so allowedPorts of ClusterRoutedIPClass floating has to name it',
      'TCP 90 is not opened: allowedPorts of ClusterRoutedIPClass floating is 80, 443',
    ]);
  });

  test.for(['', '0', '80-', '90-80', '65536', '1-65536', 'sctp/80', 'TCP/80', '80/tcp', ' 80', '080', '80,81'])('refuses %j', (entry) =>
    expect(() => portLimits({ allowedPorts: [entry] })).toThrow(`"${entry}"`),
  );

  test.for([
    [{ allowedPorts: [] }],
    [{ allowedPorts: '80' }],
    [{ allowedPorts: [80] }],
    [{ maxPorts: 0 }],
    [{ maxPorts: 1.5 }],
    [{ maxPorts: '3' }],
  ])('refuses %j', ([raw]) => expect(() => portLimits(raw ?? {})).toThrow(/allowedPorts|maxPorts/));

  test('reads what it writes', () =>
    fc.assert(
      fc.property(
        fc.constantFrom('', 'tcp/', 'udp/'),
        fc.integer({ min: 1, max: 65_535 }),
        fc.integer({ min: 1, max: 65_535 }),
        (protocol, a, b) => {
          const text = `${protocol}${Math.min(a, b)}${a === b ? '' : `-${Math.max(a, b)}`}`;
          expect(portLimits({ allowedPorts: [text] }).allowedPorts?.map(allowedText)).toEqual([text]);
        },
      ),
    ));
});
