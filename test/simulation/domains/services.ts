import fc from 'fast-check';
import type { ObservedBackend, ObservedEndpoint, ObservedService } from '../../../machines/model/types.ts';
import { type Domain, exactly, index, NODES, of, type Played, type Stage, some } from '../domain.ts';
import { nodeName, serviceName } from '../history.ts';

/** What is seen of the Pods behind a Service: nothing yet; some of them; all of them, which listen on other ports of some nodes. */
type Pods = 'unseen' | 'some' | 'seen';

export interface ServiceSetup {
  readonly ports: readonly number[];
  readonly nodes: readonly number[];
  readonly pods: Pods;
}

/** What becomes of the Services of RoutedIPs. */
export type ServiceHappening =
  | { readonly kind: 'ports'; readonly service: number; readonly ports: readonly number[] }
  | { readonly kind: 'endpoints'; readonly service: number; readonly nodes: readonly number[]; readonly pods: Pods }
  | { readonly kind: 'serviceGoes' | 'serviceComes' | 'serviceOdd' | 'serviceUsual'; readonly service: number };

/** The last one is within the range that the platform allows by itself. */
const PORTS = [
  { port: 80, nodePort: 8080, protocol: 'TCP' },
  { port: 443, nodePort: 8443, protocol: 'TCP' },
  { port: 53, nodePort: 8053, protocol: 'UDP' },
  { port: 81, nodePort: 30_080, protocol: 'TCP' },
] as const;

/** How long it may take until everybody knows what stands in the cluster, ms. */
const KNOWN_AFTER_MS = 60_000;

interface ServiceNow {
  readonly name: string;
  ports: readonly number[];
  nodes: readonly string[];
  pods: Pods;
  isThere: boolean;
  isOdd: boolean;
  /** By node: when no ready endpoint of it was there last, virtual ms. */
  readonly idleAt: Map<string, number>;
}

/** The Services of a history, and what their owners do to them. */
export class PlayedServices implements Played<ServiceHappening> {
  readonly #stage: Stage;
  readonly #services: readonly ServiceNow[];

  constructor(stage: Stage, setups: readonly ServiceSetup[]) {
    this.#stage = stage;
    this.#services = setups.map(({ ports, nodes, pods }, index) => ({
      name: serviceName(index),
      ports,
      nodes: nodes.map(nodeName),
      pods,
      isThere: true,
      isOdd: false,
      idleAt: new Map(),
    }));
    for (const service of this.#services) this.#apply(service);
  }

  /** A ready endpoint is there. */
  isOn(name: string, node: string): boolean {
    return this.#services.find((service) => service.name === name)?.nodes.includes(node) ?? false;
  }

  /** A ready endpoint is there, and has been for so long that everybody knows. */
  hasLongBeenOn(name: string, node: string): boolean {
    const service = this.#services.find((each) => each.name === name);
    const idleAt = service?.idleAt.get(node) ?? Number.NEGATIVE_INFINITY;
    return service !== undefined && servesOn(service, node) && idleAt + KNOWN_AFTER_MS <= this.#stage.world.clock.monotonic();
  }

  act(what: ServiceHappening): void {
    const service = this.#services[what.service];
    if (!service) return;
    this.#noteIdle(service);
    if (what.kind === 'ports') service.ports = what.ports;
    else if (what.kind === 'endpoints') {
      service.nodes = what.nodes.map(nodeName);
      service.pods = what.pods;
    } else if (what.kind === 'serviceGoes') service.isThere = false;
    else if (what.kind === 'serviceComes') service.isThere = true;
    else service.isOdd = what.kind === 'serviceOdd';
    this.#apply(service);
  }

  /** All are there, of a usual kind, and on all nodes that may serve besides. */
  mend(): void {
    const nodes = this.#stage.nodes.serving();
    for (const service of this.#services) {
      this.#noteIdle(service);
      service.isThere = true;
      service.isOdd = false;
      service.nodes = [...new Set([...service.nodes, ...nodes])];
      this.#apply(service);
    }
  }

  /** Before it becomes another one. */
  #noteIdle(service: ServiceNow): void {
    const nodes = Array.from({ length: NODES }, (_, each) => nodeName(each));
    for (const node of nodes) if (!servesOn(service, node)) service.idleAt.set(node, this.#stage.world.clock.monotonic());
  }

  #apply({ name, ports, nodes, pods, isThere, isOdd }: ServiceNow): void {
    const service: ObservedService = {
      type: 'NodePort',
      hasSelector: !isOdd,
      ports: ports.flatMap((index) => {
        const listed = PORTS[index];
        return listed ? [{ name: `p${index}`, targetPort: listed.port, ...listed }] : [];
      }),
      endpoints: [...nodes].sort().map((node) => endpointOn(node, pods)),
    };
    this.#stage.world.cluster.setService('web', name, isThere ? service : null);
  }
}

const servesOn = ({ nodes, isThere, isOdd }: ServiceNow, node: string): boolean => isThere && !isOdd && nodes.includes(node);

const endpointOn = (node: string, pods: Pods): ObservedEndpoint => {
  const isEven = Number(node.slice(1)) % 2 === 0;
  const isSeen = pods === 'seen' || (pods === 'some' && isEven);
  return { node, ready: true, pod: isSeen ? podOn(node, isEven) : null };
};

/** On nodes with an even number Pods are on the host's network, on the others they have host ports. */
const podOn = (node: string, isEven: boolean): ObservedBackend => ({
  name: `pod-${node}`,
  hostNetwork: isEven,
  ports: isEven
    ? []
    : PORTS.map(({ port, protocol }) => ({ name: '', containerPort: port, hostPort: port === 81 ? null : 9_000 + port, protocol })),
});

const SERVICES = 2;
const service = index(SERVICES);
const pods = fc.constantFrom<Pods>('unseen', 'unseen', 'some', 'seen');

export const serviceSetups: fc.Arbitrary<readonly ServiceSetup[]> = exactly(
  SERVICES,
  fc.record({ ports: some(PORTS.length), nodes: some(NODES, 1), pods }),
);

export const SERVICES_DOMAIN: Domain<ServiceHappening, PlayedServices> = {
  sorts: [
    { weight: 3, arbitrary: fc.record({ kind: of('ports'), service, ports: some(PORTS.length) }) },
    { weight: 3, arbitrary: fc.record({ kind: of('endpoints'), service, nodes: some(NODES), pods }) },
    { weight: 1, arbitrary: fc.record({ kind: of('serviceGoes', 'serviceComes', 'serviceOdd', 'serviceUsual'), service }) },
  ],
  open: (stage) => new PlayedServices(stage, stage.history.routed?.services ?? []),
};
