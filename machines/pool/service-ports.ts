import { portText } from '../model/port.ts';
import { isWithin, type PortRange } from '../model/port-range.ts';
import type { ObservedBackend, ObservedContainerPort, ObservedService, ObservedServicePort, Port } from '../model/types.ts';
import { allowedText, type PortLimits, permission } from '../spec/allowed-ports.ts';

/** What must be open on the nodes that serve a Service. */
export interface ServicePorts {
  /** On every node not in `portsOn`, as texts of ports, sorted. */
  readonly ports: readonly string[];
  readonly portsOn: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly PortWarning[];
}

export interface PortWarning {
  readonly reason: 'PortMayNotBeReachable' | 'ProtocolNotSupported' | 'PortNotAllowed';
  readonly message: string;
}

interface Rules {
  /** Node ports that the platform opens; null for none. */
  readonly open: PortRange | null;
  /** Source CIDRs that may reach the ports; null for anywhere. */
  readonly sources: readonly string[] | null;
  /** Null where nothing is opened anyway. */
  readonly limits: PortLimits | null;
  /** The object that sets these limits. */
  readonly source: string;
}

/** How many ports of one Service are evaluated: the firewalls of all providers have fewer, and all results are saved in every turn. */
const MOST_PORTS = 1_000;
/** How many warnings are given per reason; of the others only the number is shown. */
const MOST_WARNINGS = 20;

/** For each port of the Service, on each node: the hostPort of the container port behind it; else the container port of a Pod on the host's network; else the nodePort; else
 *  the Service's own port. Node ports opened by the platform are left out, and so are ports that the class does not allow. */
export function servicePorts(service: ObservedService, rules: Rules): ServicePorts {
  const supported = service.ports.filter(({ protocol }) => isSupported(protocol));
  const ports = supported.slice(0, MOST_PORTS);
  const listeningOn = listening(ports);
  const endpoints = service.endpoints.map(({ node, pod }) => ({ node, listening: listeningOn(pod) }));
  const present = [...new Set(endpoints.map((endpoint) => endpoint.listening))];
  const { allowed, refusals } = withinLimits(present.length > 0 ? present : [listeningOn(null)], ports, {
    ...rules,
    // DigitalOcean's cloud controller opens node ports for no other type (firewall_controller.go).
    open: service.type === 'NodePort' && !service.isUnmanaged ? rules.open : null,
  });
  const byNode = new Map<string, Set<string>>();
  for (const { node, listening } of endpoints) {
    const open = byNode.get(node) ?? new Set();
    byNode.set(node, open);
    for (const [index, port] of ports.entries()) {
      const text = textOf(listening[index]?.number ?? port.port, port, rules);
      if (allowed.has(text)) open.add(text);
    }
  }
  const found = [...byNode].map(([node, open]) => [node, [...open].sort()] as const);
  const union = [...allowed].sort();
  const differ = found.filter(([, open]) => open.join() !== union.join());
  const kinds = [strange(service), unheard(ports, present), [...beyond(supported), ...refusals]];
  return { ports: union, portsOn: Object.fromEntries(differ), warnings: kinds.flatMap(few) };
}

/** What listens on a node for one port of the Service. */
interface Listening {
  readonly number: number;
  /** A listener of the Pod is certain. */
  readonly isHeard: boolean;
}

/** The port on the node for each of the Service's ports, given one Pod behind them: the same list for all Pods that have the same ports. */
function listening(ports: readonly ObservedServicePort[]): (pod: ObservedBackend | null) => readonly Listening[] {
  const known = { own: new Map<object | null, readonly Listening[]>(), host: new Map<object | null, readonly Listening[]>() };
  return (pod) => {
    const table = pod?.hostNetwork ? known.host : known.own;
    const found = table.get(pod?.ports ?? null) ?? allOn(ports, pod);
    table.set(pod?.ports ?? null, found);
    return found;
  };
}

function allOn(ports: readonly ObservedServicePort[], pod: ObservedBackend | null): readonly Listening[] {
  const containerPorts = pod?.ports ?? [];
  const first = (keyOf: (port: ObservedContainerPort) => string) =>
    new Map(containerPorts.toReversed().map((port) => [keyOf(port), port] as const));
  const byNumber = first(({ containerPort, protocol }) => `${protocol}/${containerPort}`);
  const byName = first(({ name }) => name);
  const hostPorts = new Set(containerPorts.map(({ hostPort }) => hostPort));
  return ports.map((port) => {
    const { targetPort, protocol } = port;
    const target = typeof targetPort === 'number' ? byNumber.get(`${protocol}/${targetPort}`) : byName.get(targetPort);
    const number = numberOn(port, target, pod?.hostNetwork ?? false);
    return { number, isHeard: pod !== null && (pod.hostNetwork || hostPorts.has(number)) };
  });
}

/** What the limits allow of the requested ports, in the order of the Service. */
function withinLimits(
  all: readonly (readonly Listening[])[],
  ports: readonly ObservedServicePort[],
  rules: Rules,
): { readonly allowed: ReadonlySet<string>; readonly refusals: readonly PortWarning[] } {
  const allowed = new Set<string>();
  const refusals = new Map<string, PortWarning>();
  for (const [index, port] of ports.entries())
    for (const number of [...new Set(all.map((listening) => listening[index]?.number ?? port.port))].sort((a, b) => a - b)) {
      if (rules.open && number === port.nodePort && isWithin(number, rules.open)) continue;
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

/** `target` is the container port of the Pod that the Service port targets, if the Pod declares it. */
function numberOn(port: ObservedServicePort, target: ObservedContainerPort | undefined, hostNetwork: boolean): number {
  if (target?.hostPort) return target.hostPort;
  if (hostNetwork) {
    const container = target?.containerPort ?? (typeof port.targetPort === 'number' ? port.targetPort : null);
    if (container !== null) return container;
  }
  return port.nodePort ?? port.port;
}

const protocolOf = ({ protocol }: ObservedServicePort): Port['protocol'] => (protocol === 'UDP' ? 'UDP' : 'TCP');

const textOf = (number: number, port: ObservedServicePort, { sources }: Rules): string =>
  portText({ port: number, protocol: protocolOf(port), ...(sources && { sources }) });

const strange = (service: ObservedService): readonly PortWarning[] =>
  service.ports
    .filter(({ protocol }) => !isSupported(protocol))
    .map(({ port, protocol }) => ({
      reason: 'ProtocolNotSupported',
      message: `port ${port} is ${protocol}, which no firewall of the provider knows: it is not opened`,
    }));

const unheard = (ports: readonly ObservedServicePort[], present: readonly (readonly Listening[])[]): readonly PortWarning[] =>
  ports
    .filter(({ nodePort }, index) => nodePort === null && present.some((listening) => !listening[index]?.isHeard))
    .map(({ port, protocol }) => ({
      reason: 'PortMayNotBeReachable',
      message: `nothing on the node may listen on ${protocol} ${port}: the Pods have neither a hostPort for it nor the host's network, and the Service has no nodePort`,
    }));

const beyond = ({ length }: readonly ObservedServicePort[]): readonly PortWarning[] =>
  length <= MOST_PORTS
    ? []
    : [{ reason: 'PortNotAllowed', message: `the Service has ${length} ports, and only the first ${MOST_PORTS} of them are opened` }];

/** The first warnings of one reason, and how many more there are. */
const few = (warnings: readonly PortWarning[]): readonly PortWarning[] => {
  const [first] = warnings;
  if (!first || warnings.length <= MOST_WARNINGS) return warnings;
  const more = `the same is to be said of ${warnings.length - MOST_WARNINGS} more ports of the Service`;
  return [...warnings.slice(0, MOST_WARNINGS), { ...first, message: more }];
};
