import type { ObservedNode, Taint } from '../../machines/types.ts';
import type { RoutedWorld } from '../actors/routed-world.ts';
import { node, providerIDOf } from '../support/world.ts';
import type { RoutedNodeHappening } from './routed-steps.ts';
import { nodeName } from './steps.ts';

/** A Node of the cluster, and what became of the machine behind it. */
interface NodePlan {
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly doomed: boolean;
  readonly deleting: boolean;
  readonly tainted: boolean;
  readonly excluded: boolean;
  readonly machine: boolean;
}

const FRESH: NodePlan = { ready: true, cordoned: false, doomed: false, deleting: false, tainted: false, excluded: false, machine: true };

/** As Kubernetes, its autoscaler and somebody else write them; nobody here tolerates them. */
const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const DOOMED: Taint = { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' };
const TAINTED: Taint = { key: 'example.com/reserved', value: 'batch', effect: 'NoSchedule' };
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

const CHANGES: Readonly<Partial<Record<RoutedNodeHappening, Partial<NodePlan>>>> = {
  nodeFails: { ready: false },
  nodeRecovers: { ready: true },
  nodeEnds: { deleting: true },
  machineDies: { ready: false, machine: false },
  cordon: { cordoned: true },
  uncordon: { cordoned: false },
  doom: { doomed: true },
  taint: { tainted: true },
  exclude: { excluded: true },
  relieve: { doomed: false, tainted: false, excluded: false },
};

const isFit = ({ ready, cordoned, doomed, deleting, tainted, machine }: NodePlan): boolean =>
  ready && machine && !cordoned && !doomed && !deleting && !tainted;

/** The nodes of a history, and what happens to them. */
export class RoutedNodes {
  readonly #world: RoutedWorld;
  readonly #plans = new Map<string, NodePlan>();

  constructor(world: RoutedWorld) {
    this.#world = world;
  }

  /** It may hold the address of a Service that has an endpoint there. */
  mayServe(name: string): boolean {
    const plan = this.#plans.get(name);
    return plan !== undefined && isFit(plan) && !plan.excluded;
  }

  /** It may hold the address of a pool. */
  mayHold(name: string): boolean {
    const plan = this.#plans.get(name);
    return plan !== undefined && isFit(plan);
  }

  act(kind: RoutedNodeHappening, name: string): void {
    if (kind === 'untaint') this.#world.cluster.untaint(name);
    else if (kind === 'nodeComes') this.comes(name);
    else if (kind === 'nodeGoes') this.#goes(name);
    else if (kind === 'machineGoes') {
      this.#world.provider.cloud.removeNode(providerIDOf(name));
      this.#goes(name);
    } else this.#change(name, CHANGES[kind] ?? {});
  }

  /** A new one, or the same one with nothing wrong with it. */
  comes(name: string): void {
    this.#plans.set(name, FRESH);
    this.#world.nodes(this.#node(name, FRESH));
  }

  /** New nodes, until so many of all may serve. Those with which something is wrong stay as they are. Answers the names of those that may serve. */
  mend(count: number): readonly string[] {
    for (let index = 0; this.#serving().length < count; index += 1) if (!this.#plans.has(nodeName(index))) this.comes(nodeName(index));
    return this.#serving();
  }

  #serving(): readonly string[] {
    return [...this.#plans.keys()].filter((name) => this.mayServe(name));
  }

  #goes(name: string): void {
    this.#plans.delete(name);
    this.#world.cluster.removeNode(name);
  }

  #change(name: string, change: Partial<NodePlan>): void {
    const former = this.#plans.get(name);
    if (!former) return;
    const plan = { ...former, ...change };
    // Without its machine nothing is ready, and no machine comes back.
    const present = { ...plan, ready: plan.ready && plan.machine && former.machine, machine: plan.machine && former.machine };
    if (former.machine && !present.machine) this.#world.provider.cloud.removeNode(providerIDOf(name));
    this.#plans.set(name, present);
    this.#world.cluster.setNode(this.#node(name, present));
  }

  #node(name: string, { ready, cordoned, doomed, deleting, tainted, excluded }: NodePlan): ObservedNode {
    const taints = [...(cordoned ? [CORDONED] : []), ...(doomed ? [DOOMED] : []), ...(tainted ? [TAINTED] : [])];
    const labels = { pool: 'work', ...(excluded && { [EXCLUDED]: '' }) };
    // Some are of one age.
    return node(name, { ready, taints, labels, deleting, unschedulable: cordoned, createdAt: Number(name.slice(1)) % 3 });
  }
}
