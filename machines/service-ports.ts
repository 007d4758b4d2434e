import { allowedText, type PortLimits, permission } from './allowed-ports.ts';
import { portText } from './port.ts';
import { isWithin, type PortRange } from './port-range.ts';
import type { ObservedBackend, ObservedService, ObservedServicePort, Port } from './types.ts';

/** What has to be open on the nodes that serve a Service. */
export interface ServicePorts {
  /** On every node that `portsOn` does not name, as texts of ports, sorted. */
  readonly ports: readonly string[];
  readonly portsOn: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly PortWarning[];
}

export interface PortWarning {
  readonly reason: 'PortMayNotBeReachable' | 'ProtocolNotSupported' | 'PortNotAllowed';
  readonly message: string;
}

interface Rules {
  /** Allowed by the platform already. */
  readonly open: PortRange;
  /** From where ports are to be reached, as CIDRs; null for anywhere. */
  readonly sources: readonly string[] | null;
  /** Null where nothing is opened anyway. */
  readonly limits: PortLimits | null;
  /** Whose limits these are. */
  readonly source: string;
}

/** For each port of the Service, on each node: the hostPort of the container port behind it; else the container port of a Pod on the host's network; else
 *  the nodePort; else the Service's own port. Those that the platform allows anyway are left out, and those that the class does not let be opened. */
export function servicePorts(service: ObservedService, rules: Rules): ServicePorts {
  const ports = service.ports.filter(({ protocol }) => isSupported(protocol));
  const { allowed, refusals } = withinLimits(service, ports, rules);
  const byNode = new Map<string, Set<string>>();
  for (const { node, pod } of service.endpoints) {
    const open = byNode.get(node) ?? new Set();
    byNode.set(node, open);
    for (const port of ports) {
      const text = textOf(numberOn(port, pod), port, rules);
      if (allowed.has(text)) open.add(text);
    }
  }
  const found = [...byNode].map(([node, open]) => [node, [...open].sort()] as const);
  const union = [...allowed].sort();
  const differ = found.filter(([, open]) => open.join() !== union.join());
  return { ports: union, portsOn: Object.fromEntries(differ), warnings: [...warningsOf(service, ports), ...refusals] };
}

/** What may be opened of all that is asked for, in the order of the Service. */
function withinLimits(
  { endpoints }: ObservedService,
  ports: readonly ObservedServicePort[],
  rules: Rules,
): { readonly allowed: ReadonlySet<string>; readonly refusals: readonly PortWarning[] } {
  const pods = endpoints.length > 0 ? endpoints.map(({ pod }) => pod) : [null];
  const allowed = new Set<string>();
  const refusals = new Map<string, PortWarning>();
  for (const port of ports)
    for (const number of [...new Set(pods.map((pod) => numberOn(port, pod)))].sort((a, b) => a - b)) {
      if (isWithin(number, rules.open)) continue;
      const text = textOf(number, port, rules);
      const why = allowed.has(text) ? null : whyNot({ port: number, protocol: protocolOf(port) }, allowed.size, rules);
      if (why === null) allowed.add(text);
      else refusals.set(text, { reason: 'PortNotAllowed', message: `${port.protocol} ${number} is not opened: ${why}` });
    }
  return { allowed, refusals: [...refusals.values()] };
}

function whyNot(port: Pick<Port, 'port' | 'protocol'>, opened: number, { limits, source }: Rules): string | null {
  if (!limits) return null;
  switch (permission(limits, port)) {
    case 'OfTheNode':
      return `the node itself uses it, so allowedPorts of ${source} has to name it`;
    case 'NotAllowed':
      return `allowedPorts of ${source} is ${(limits.allowedPorts ?? []).map(allowedText).join(', ')}`;
    case 'Allowed':
      return opened < (limits.maxPorts ?? Number.POSITIVE_INFINITY) ? null : `maxPorts of ${source} is ${limits.maxPorts}`;
  }
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

const protocolOf = ({ protocol }: ObservedServicePort): Port['protocol'] => (protocol === 'UDP' ? 'UDP' : 'TCP');

const textOf = (number: number, port: ObservedServicePort, { sources }: Rules): string =>
  portText({ port: number, protocol: protocolOf(port), ...(sources && { sources }) });

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
