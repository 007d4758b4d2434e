import type { Address, ObservedNode, Taint } from '../../machines/types.ts';
import { type Moment, momentOf } from '../support/marks.ts';
import { node, providerIDOf, type World } from '../support/world.ts';
import { type NodeHappening, nodeName } from './steps.ts';

/** A Node of the cluster, and what became of the machine behind it. */
interface NodePlan {
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly doomed: boolean;
  readonly evacuating: boolean;
  readonly deleting: boolean;
  readonly machine: boolean;
}

const FRESH: NodePlan = { ready: true, cordoned: false, doomed: false, evacuating: false, deleting: false, machine: true };

/** As Kubernetes and its autoscaler write them; nobody here tolerates them. */
const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const DOOMED: Taint = { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' };

const CHANGES: Readonly<Partial<Record<NodeHappening, Partial<NodePlan>>>> = {
  nodeFails: { ready: false },
  nodeRecovers: { ready: true },
  nodeEnds: { deleting: true },
  machineDies: { ready: false, machine: false },
  cordon: { cordoned: true },
  uncordon: { cordoned: false },
  doom: { doomed: true },
  spare: { doomed: false },
  evacuate: { evacuating: true },
  stay: { evacuating: false },
};

/** How long it may take until everybody knows what stands in the cluster, ms. */
const KNOWN_AFTER_MS = 60_000;

const isLeaving = ({ cordoned, doomed, evacuating, deleting }: NodePlan): boolean => cordoned || doomed || evacuating || deleting;
const isEligible = (plan: NodePlan): boolean => plan.ready && !isLeaving(plan);

/** The nodes of a history, and what happens to them. */
export class PlayedNodes {
  readonly #world: World;
  readonly #withAddresses: boolean;
  readonly #plans = new Map<string, NodePlan>();
  /** When something but being Ready was last wrong with a node, virtual ms. */
  readonly #troubled = new Map<string, number>();
  /** When a node was last not Ready, or not there, virtual ms. */
  readonly #unready = new Map<string, number>();
  readonly #evacuated = new Map<string, Moment>();

  /** `withAddresses`: the machines have addresses of their own. */
  constructor(world: World, withAddresses: boolean) {
    this.#world = world;
    this.#withAddresses = withAddresses;
  }

  /** Those that may hold an address, with what their machines have of their own. */
  eligible(): Readonly<Record<string, Address>> {
    return Object.fromEntries([...this.#plans].flatMap(([name, plan]) => (isEligible(plan) ? [[name, machineAddress(name)]] : [])));
  }

  mayHold(name: string): boolean {
    const plan = this.#plans.get(name);
    return plan !== undefined && isEligible(plan);
  }

  /** It is about to go, and has been Ready for a minute, or always. */
  leavesWhileItWorks(name: string): boolean {
    const plan = this.#plans.get(name);
    const unreadyAt = this.#unready.get(name) ?? Number.NEGATIVE_INFINITY;
    return plan?.ready === true && isLeaving(plan) && unreadyAt + KNOWN_AFTER_MS <= this.#world.clock.monotonic();
  }

  /** When something but being Ready was last wrong with it, virtual ms: now, while it is. */
  troubledAt(name: string): number {
    const plan = this.#plans.get(name);
    if (!plan?.machine || isLeaving(plan)) return this.#world.clock.monotonic();
    return this.#troubled.get(name) ?? Number.NEGATIVE_INFINITY;
  }

  /** Since when it is to be evacuated; null while it is not. */
  evacuatedSince(name: string): Moment | null {
    return this.#evacuated.get(name) ?? null;
  }

  /** What is wrong with what is said of nodes that are to be evacuated: each of them can be empty. */
  wrongEvacuations(): readonly string[] {
    const said = this.#world.cluster.evacuations();
    const isAsked = (name: string): boolean => this.#plans.get(name)?.evacuating === true;
    const asked = [...this.#plans.keys()].filter(isAsked);
    return [
      ...asked.flatMap((name) => (said[name]?.status === 'True' ? [] : [`${name} is to be evacuated, and says ${said[name]?.message}`])),
      ...Object.keys(said).flatMap((name) => (isAsked(name) ? [] : [`${name} says that it is evacuated, and is not to be`])),
    ];
  }

  act(kind: NodeHappening, name: string): void {
    if (kind === 'nodeComes') this.comes(name);
    else if (kind === 'nodeGoes') this.#goes(name);
    else if (kind === 'machineGoes') {
      this.#world.provider.cloud.removeNode(providerIDOf(name));
      this.#goes(name);
    } else this.#change(name, CHANGES[kind] ?? {});
  }

  /** A new one, or the same one with nothing wrong with it. */
  comes(name: string): void {
    if (this.#world.clock.monotonic() > 0) this.#note(name);
    this.#plans.set(name, FRESH);
    this.#evacuated.delete(name);
    this.#world.nodes(this.#node(name, FRESH));
  }

  /** Enough nodes for so many addresses. Machines that died are gone for good; those that are about to go stay so when `keepsLeaving`. */
  mend(count: number, keepsLeaving: boolean): void {
    for (let index = 0; Object.keys(this.eligible()).length < count || index < count; index += 1) {
      const name = nodeName(index);
      const plan = this.#plans.get(name);
      if (!plan || (plan.machine && !(keepsLeaving && isLeaving(plan)))) this.comes(name);
      else if (plan.machine) this.#change(name, { ready: true });
    }
  }

  #goes(name: string): void {
    this.#plans.delete(name);
    this.#evacuated.delete(name);
    this.#note(name);
    this.#world.cluster.removeNode(name);
  }

  #change(name: string, change: Partial<NodePlan>): void {
    const former = this.#plans.get(name);
    if (!former) return;
    this.#note(name);
    const plan = { ...former, ...change };
    // Without its machine nothing is ready.
    const present = { ...plan, ready: plan.ready && plan.machine };
    if (former.machine && !present.machine) this.#world.provider.cloud.removeNode(providerIDOf(name));
    this.#plans.set(name, present);
    if (!present.evacuating) this.#evacuated.delete(name);
    else if (!former.evacuating) this.#evacuated.set(name, momentOf(this.#world));
    this.#world.cluster.setNode(this.#node(name, present));
  }

  /** It is about to change: what is wrong with it was so until now. */
  #note(name: string): void {
    const at = this.troubledAt(name);
    if (at > Number.NEGATIVE_INFINITY) this.#troubled.set(name, at);
    if (this.#plans.get(name)?.ready !== true) this.#unready.set(name, this.#world.clock.monotonic());
  }

  #node(name: string, { ready, cordoned, doomed, evacuating, deleting }: NodePlan): ObservedNode {
    const taints = [...(cordoned ? [CORDONED] : []), ...(doomed ? [DOOMED] : [])];
    const own = this.#withAddresses && { externalIPs: [machineAddress(name)] };
    return node(name, { ready, taints, deleting, unschedulable: cordoned, ...own, ...(evacuating && { evacuating }) });
  }
}

/** The address that the machine of a node has of its own. */
const machineAddress = (name: string): Address => `198.51.100.${Number(name.slice(1)) + 1}` as Address;
