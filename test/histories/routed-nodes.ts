import type { ObservedNode, Taint } from '../../machines/types.ts';
import type { RoutedWorld } from '../actors/routed-world.ts';
import { type Moment, momentOf } from '../support/marks.ts';
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
  readonly evacuating: boolean;
  readonly machine: boolean;
}

const FRESH: NodePlan = {
  ready: true,
  cordoned: false,
  doomed: false,
  deleting: false,
  tainted: false,
  excluded: false,
  evacuating: false,
  machine: true,
};

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
  evacuate: { evacuating: true },
  stay: { evacuating: false },
  relieve: { doomed: false, tainted: false, excluded: false },
};

const isFit = ({ ready, cordoned, doomed, deleting, tainted, evacuating, machine }: NodePlan): boolean =>
  ready && machine && !cordoned && !doomed && !deleting && !tainted && !evacuating;

/** The nodes of a history, and what happens to them. */
export class RoutedNodes {
  readonly #world: RoutedWorld;
  readonly #plans = new Map<string, NodePlan>();
  readonly #evacuated = new Map<string, Moment>();

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

  /** Since when it is to be evacuated; null while it is not. */
  evacuatedSince(name: string): Moment | null {
    return this.#evacuated.get(name) ?? null;
  }

  /** What is wrong with what is said of nodes that are to be evacuated: each of them can be empty. */
  wrongEvacuations(): readonly string[] {
    const said = this.#world.cluster.evacuations();
    return [
      ...[...this.#evacuated.keys()].flatMap((name) =>
        said[name]?.status === 'True' ? [] : [`${name} is to be evacuated, and says ${said[name]?.message}`],
      ),
      ...Object.keys(said).flatMap((name) => (this.#evacuated.has(name) ? [] : [`${name} says that it is evacuated, and is not to be`])),
    ];
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
    this.#evacuated.delete(name);
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
    this.#evacuated.delete(name);
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
    if (!present.evacuating) this.#evacuated.delete(name);
    else if (!former.evacuating) this.#evacuated.set(name, momentOf(this.#world));
    this.#world.cluster.setNode(this.#node(name, present));
  }

  #node(name: string, { ready, cordoned, doomed, deleting, tainted, excluded, evacuating }: NodePlan): ObservedNode {
    const taints = [...(cordoned ? [CORDONED] : []), ...(doomed ? [DOOMED] : []), ...(tainted ? [TAINTED] : [])];
    const labels = { pool: 'work', ...(excluded && { [EXCLUDED]: '' }) };
    // Some are of one age.
    return node(name, {
      ready,
      taints,
      labels,
      deleting,
      unschedulable: cordoned,
      createdAt: Number(name.slice(1)) % 3,
      ...(evacuating && { evacuating }),
    });
  }
}
