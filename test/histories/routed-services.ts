import type { ObservedBackend, ObservedEndpoint, ObservedService } from '../../machines/types.ts';
import type { RoutedWorld } from '../actors/routed-world.ts';
import { PORTS, type Pods, type RoutedHappening, type RoutedHistory } from './routed-steps.ts';
import { nodeName } from './steps.ts';

interface ServiceNow {
  readonly name: string;
  ports: readonly number[];
  nodes: readonly string[];
  pods: Pods;
  isThere: boolean;
  isOdd: boolean;
}

type Act = Extract<RoutedHappening, { readonly service: number }>;

export const serviceName = (index: number): string => `s${index}`;

/** The Services of a history, and what their owners do to them. */
export class RoutedServices {
  readonly #world: RoutedWorld;
  readonly #services: readonly ServiceNow[];

  constructor(world: RoutedWorld, { services }: RoutedHistory) {
    this.#world = world;
    this.#services = services.map(({ ports, nodes, pods }, index) => ({
      name: serviceName(index),
      ports,
      nodes: nodes.map(nodeName),
      pods,
      isThere: true,
      isOdd: false,
    }));
    for (const service of this.#services) this.#apply(service);
  }

  /** A ready endpoint is there. */
  isOn(name: string, node: string): boolean {
    return this.#services.find((service) => service.name === name)?.nodes.includes(node) ?? false;
  }

  act(what: Act): void {
    const service = this.#services[what.service];
    if (!service) return;
    if (what.kind === 'ports') service.ports = what.ports;
    else if (what.kind === 'endpoints') {
      service.nodes = what.nodes.map(nodeName);
      service.pods = what.pods;
    } else if (what.kind === 'serviceGoes') service.isThere = false;
    else if (what.kind === 'serviceComes') service.isThere = true;
    else service.isOdd = what.kind === 'serviceOdd';
    this.#apply(service);
  }

  /** All are there, of a usual kind, and on these nodes besides. */
  mend(nodes: readonly string[]): void {
    for (const service of this.#services) {
      service.isThere = true;
      service.isOdd = false;
      service.nodes = [...new Set([...service.nodes, ...nodes])];
      this.#apply(service);
    }
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
    this.#world.cluster.setService('web', name, isThere ? service : null);
  }
}

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
