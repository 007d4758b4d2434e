import { portText } from './port.ts';
import { isWithin, type PortRange } from './port-range.ts';
import type { ObservedBackend, ObservedService, ObservedServicePort } from './types.ts';

/** What has to be open on the nodes that serve a Service. */
export interface ServicePorts {
  /** On every node that `portsOn` does not name, as texts of ports, sorted. */
  readonly ports: readonly string[];
  readonly portsOn: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly PortWarning[];
}

export interface PortWarning {
  readonly reason: 'PortMayNotBeReachable' | 'ProtocolNotSupported';
  readonly message: string;
}

interface Rules {
  /** Allowed by the platform already. */
  readonly open: PortRange;
  /** From where ports are to be reached, as CIDRs; null for anywhere. */
  readonly sources: readonly string[] | null;
}

/** For each port of the Service, on each node: the hostPort of the container port behind it; else the container port of a Pod on the host's network; else
 *  the nodePort; else the Service's own port. Those that the platform allows anyway are left out. */
export function servicePorts(service: ObservedService, rules: Rules): ServicePorts {
  const ports = service.ports.filter(({ protocol }) => isSupported(protocol));
  const byNode = new Map<string, Set<string>>();
  for (const { node, pod } of service.endpoints) {
    const open = byNode.get(node) ?? new Set();
    byNode.set(node, open);
    for (const port of ports) for (const text of opened(numberOn(port, pod), port, rules)) open.add(text);
  }
  const bare = [...new Set(ports.flatMap((port) => opened(numberOn(port, null), port, rules)))].sort();
  const found = [...byNode].map(([node, open]) => [node, [...open].sort()] as const);
  const all = [...new Set(found.flatMap(([, open]) => open))].sort();
  const union = found.length > 0 ? all : bare;
  const differ = found.filter(([, open]) => open.join() !== union.join());
  return { ports: union, portsOn: Object.fromEntries(differ), warnings: warningsOf(service, ports) };
}

const isSupported = (protocol: string): boolean => protocol === 'TCP' || protocol === 'UDP';

/** What listens on the node for the port, given one Pod behind it. */
function numberOn(port: ObservedServicePort, pod: ObservedBackend | null): number {
  const target = pod?.ports.find(({ name, containerPort, protocol }) =>
    typeof port.targetPort === 'number' ? containerPort === port.targetPort && protocol === port.protocol : name === port.targetPort,
  );
  if (target?.hostPort) return target.hostPort;
  if (pod?.hostNetwork) {
    const container = target?.containerPort ?? (typeof port.targetPort === 'number' ? port.targetPort : null);
    if (container !== null) return container;
  }
  return port.nodePort ?? port.port;
}

function opened(port: number, { protocol }: ObservedServicePort, { open, sources }: Rules): readonly string[] {
  if (isWithin(port, open)) return [];
  return [portText({ port, protocol: protocol === 'UDP' ? 'UDP' : 'TCP', ...(sources && { sources }) })];
}

function warningsOf(service: ObservedService, ports: readonly ObservedServicePort[]): readonly PortWarning[] {
  const strange = service.ports
    .filter(({ protocol }) => !isSupported(protocol))
    .map(({ port, protocol }) => ({
      reason: 'ProtocolNotSupported' as const,
      message: `port ${port} is ${protocol}, which no firewall of the provider knows: it is not opened`,
    }));
  const pods = service.endpoints.map(({ pod }) => pod);
  const unheard = ports.filter((port) => port.nodePort === null && pods.some((pod) => !listensOnNode(port, pod)));
  return [
    ...strange,
    ...unheard.map(({ port, protocol }) => ({
      reason: 'PortMayNotBeReachable' as const,
      message: `nothing on the node may listen on ${protocol} ${port}: the Pods have neither a hostPort for it nor the host's network, and the Service has no nodePort`,
    })),
  ];
}

const listensOnNode = (port: ObservedServicePort, pod: ObservedBackend | null): boolean =>
  pod !== null && (pod.hostNetwork || pod.ports.some((each) => each.hostPort !== null && numberOn(port, pod) === each.hostPort));
