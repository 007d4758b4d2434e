import fc from 'fast-check';
import type { Address, ObservedNode, ProviderID, Taint } from '../../../machines/model/types.ts';
import { type Moment, momentOf } from '../../support/marks.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { type Domain, index, NODES, of, type Played, type Stage } from '../domain.ts';
import { nodeName } from '../history.ts';

/** `nodeEnds`: its Node is being deleted. `machineDies`: the machine behind it is deleted at the provider, and the Node stays and is not Ready; `machineGoes`:
 *  both are gone at once. `doom` and `spare`: the autoscaler is about to take it away, or not any more. `taint`: somebody else's, which nobody tolerates.
 *  `exclude`: the label that keeps a node out of load balancing. `relieve`: none of these three any more. `untaint`: somebody takes our mark off. `evacuate` and
 *  `stay`: somebody asks for every address to leave it, or not any more. */
const KINDS = [
  'nodeFails',
  'nodeRecovers',
  'nodeGoes',
  'nodeComes',
  'nodeEnds',
  'machineGoes',
  'machineDies',
  'cordon',
  'uncordon',
  'doom',
  'spare',
  'taint',
  'exclude',
  'relieve',
  'untaint',
  'evacuate',
  'stay',
] as const;

type NodeKind = (typeof KINDS)[number];

export interface NodeHappening {
  readonly kind: NodeKind;
  readonly node: number;
}

/** A Node of the cluster, and what became of the machine behind it. */
interface NodePlan {
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly doomed: boolean;
  readonly evacuating: boolean;
  readonly deleting: boolean;
  readonly tainted: boolean;
  readonly excluded: boolean;
  readonly machine: boolean;
}

const FRESH: NodePlan = {
  ready: true,
  cordoned: false,
  doomed: false,
  evacuating: false,
  deleting: false,
  tainted: false,
  excluded: false,
  machine: true,
};

/** As Kubernetes, its autoscaler and somebody else write them; nobody here tolerates them. */
const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const DOOMED: Taint = { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' };
const TAINTED: Taint = { key: 'example.com/reserved', value: 'batch', effect: 'NoSchedule' };
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

const CHANGES: Readonly<Partial<Record<NodeKind, Partial<NodePlan>>>> = {
  nodeFails: { ready: false },
  nodeRecovers: { ready: true },
  nodeEnds: { deleting: true },
  machineDies: { ready: false, machine: false },
  cordon: { cordoned: true },
  uncordon: { cordoned: false },
  doom: { doomed: true },
  spare: { doomed: false },
  taint: { tainted: true },
  exclude: { excluded: true },
  relieve: { doomed: false, tainted: false, excluded: false },
  evacuate: { evacuating: true },
  stay: { evacuating: false },
};

/** How long it may take until everybody knows what stands in the cluster, ms. */
const KNOWN_AFTER_MS = 60_000;

const isLeaving = ({ cordoned, doomed, evacuating, deleting }: NodePlan): boolean => cordoned || doomed || evacuating || deleting;
const isTroubled = (plan: NodePlan): boolean => !plan.machine || plan.tainted || isLeaving(plan);
const isEligible = (plan: NodePlan): boolean => plan.ready && !isTroubled(plan);

/** The nodes of a history, and what happens to them. */
export class PlayedNodes implements Played<NodeHappening> {
  readonly #stage: Stage;
  readonly #plans = new Map<string, NodePlan>();
  /** When something but being Ready was last wrong with a node, virtual ms. */
  readonly #troubled = new Map<string, number>();
  /** When a node was last not Ready, or not there, virtual ms. */
  readonly #unready = new Map<string, number>();
  /** When a node was last kept out of load balancing, virtual ms. */
  readonly #unbalanced = new Map<string, number>();
  readonly #evacuated = new Map<string, Moment>();
  /** By node: how many machines were made for it. */
  readonly #made = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
    for (let each = 0; each < stage.history.nodes; each += 1) this.comes(nodeName(each));
  }

  /** Those whose own addresses may be published, with what their machines have. That a node is to be evacuated is about the addresses of pools and RoutedIPs. */
  eligible(): Readonly<Record<string, Address>> {
    const isPublished = (plan: NodePlan): boolean => isEligible({ ...plan, evacuating: false });
    return Object.fromEntries([...this.#plans].flatMap(([name, plan]) => (isPublished(plan) ? [[name, machineAddress(name)]] : [])));
  }

  /** The machine behind it: the present one, or the last. */
  machineOf(name: string): ProviderID {
    return providerIDOf(name, this.#made.get(name));
  }

  mayHold(name: string): boolean {
    const plan = this.#plans.get(name);
    return plan !== undefined && isEligible(plan);
  }

  /** It may hold the address of a Service that has an endpoint there. */
  mayServe(name: string): boolean {
    return this.mayHold(name) && this.isBalanced(name);
  }

  /** Load balancers may lead to it. */
  isBalanced(name: string): boolean {
    return this.#plans.get(name)?.excluded === false;
  }

  /** Those that may, by name. */
  serving(): readonly string[] {
    return [...this.#plans.keys()].filter((name) => this.mayServe(name));
  }

  /** It is about to go, and has been Ready for a minute, or always. */
  leavesWhileItWorks(name: string): boolean {
    const plan = this.#plans.get(name);
    const unreadyAt = this.#unready.get(name) ?? Number.NEGATIVE_INFINITY;
    return plan?.ready === true && isLeaving(plan) && !plan.tainted && unreadyAt + KNOWN_AFTER_MS <= this.#now;
  }

  /** When something but being Ready was last wrong with it, virtual ms: now, while it is. */
  troubledAt(name: string): number {
    const plan = this.#plans.get(name);
    if (!plan || isTroubled(plan)) return this.#now;
    return this.#troubled.get(name) ?? Number.NEGATIVE_INFINITY;
  }

  /** When it was last kept out of load balancing, virtual ms: now, while it is. */
  unbalancedAt(name: string): number {
    return this.isBalanced(name) ? (this.#unbalanced.get(name) ?? Number.NEGATIVE_INFINITY) : this.#now;
  }

  /** Since when it is to be evacuated; null while it is not. */
  evacuatedSince(name: string): Moment | null {
    return this.#evacuated.get(name) ?? null;
  }

  /** What is wrong with what is said of nodes that are to be evacuated: each of them can be empty. */
  wrongs(): readonly string[] {
    const said = this.#stage.world.cluster.evacuations();
    return [
      ...[...this.#evacuated.keys()].flatMap((name) =>
        said[name]?.status === 'True' || this.#stage.attacker?.isAllOf(said[name]?.message ?? '')
          ? []
          : [`${name} is to be evacuated, and says ${said[name]?.message}`],
      ),
      ...Object.keys(said).flatMap((name) => (this.#evacuated.has(name) ? [] : [`${name} says that it is evacuated, and is not to be`])),
    ];
  }

  act({ kind, node: number }: NodeHappening): void {
    const name = nodeName(number);
    if (kind === 'untaint') this.#stage.world.cluster.untaint(name);
    else if (kind === 'nodeComes') this.comes(name);
    else if (kind === 'nodeGoes') this.#goes(name);
    else if (kind === 'machineGoes') {
      this.#removeMachine(name);
      this.#goes(name);
    } else this.#change(name, CHANGES[kind] ?? {});
  }

  /** A new one, or the same one with nothing wrong with it. */
  comes(name: string): void {
    if (this.#now > 0) this.#note(name);
    if (!this.#stage.world.provider.cloud.hasNode(this.machineOf(name))) this.#made.set(name, (this.#made.get(name) ?? 0) + 1);
    this.#plans.set(name, FRESH);
    this.#evacuated.delete(name);
    this.#stage.world.nodes(this.#node(name, FRESH));
  }

  /** Those with which something is wrong are well again; those that are about to go stay so when `keepsLeaving`. Machines that died are gone for good. */
  heal(keepsLeaving: boolean): void {
    for (const [name, plan] of this.#plans) {
      const stays = keepsLeaving && isLeaving(plan) && !plan.tainted;
      if (plan.machine && !stays) this.comes(name);
      else if (plan.machine) this.#change(name, { ready: true });
    }
  }

  /** New ones, until so many of all may serve. */
  provide(count: number): void {
    for (let each = 0; this.serving().length < count; each += 1) if (!this.#plans.has(nodeName(each))) this.comes(nodeName(each));
  }

  get #now(): number {
    return this.#stage.world.clock.monotonic();
  }

  #removeMachine(name: string): void {
    this.#stage.world.provider.cloud.removeNode(this.machineOf(name));
  }

  #goes(name: string): void {
    this.#plans.delete(name);
    this.#evacuated.delete(name);
    this.#note(name);
    this.#stage.world.cluster.removeNode(name);
  }

  #change(name: string, change: Partial<NodePlan>): void {
    const former = this.#plans.get(name);
    if (!former) return;
    this.#note(name);
    const plan = { ...former, ...change };
    // Without its machine nothing is ready, and no machine comes back.
    const present = { ...plan, ready: plan.ready && plan.machine };
    if (former.machine && !present.machine) this.#removeMachine(name);
    this.#plans.set(name, present);
    if (!present.evacuating) this.#evacuated.delete(name);
    else if (!former.evacuating) this.#evacuated.set(name, momentOf(this.#stage.world));
    this.#stage.world.cluster.setNode(this.#node(name, present));
  }

  /** It is about to change: what is wrong with it was so until now. */
  #note(name: string): void {
    const at = this.troubledAt(name);
    if (at > Number.NEGATIVE_INFINITY) this.#troubled.set(name, at);
    const { ready = false, excluded = false } = this.#plans.get(name) ?? {};
    if (!ready) this.#unready.set(name, this.#now);
    if (excluded) this.#unbalanced.set(name, this.#now);
  }

  #node(name: string, { ready, cordoned, doomed, evacuating, deleting, tainted, excluded }: NodePlan): ObservedNode {
    const taints = [...(cordoned ? [CORDONED] : []), ...(doomed ? [DOOMED] : []), ...(tainted ? [TAINTED] : [])];
    const { names, routed } = this.#stage.history;
    const providerID = this.machineOf(name);
    return node(name, {
      uid: `uid-${providerID}`,
      providerID,
      ready,
      taints,
      deleting,
      unschedulable: cordoned,
      ...(excluded && { labels: { pool: 'work', [EXCLUDED]: '' } }),
      ...(names && { externalIPs: [machineAddress(name)] }),
      // Some are of one age.
      ...(routed && { createdAt: Number(name.slice(1)) % 3 }),
      ...(evacuating && { evacuating }),
    });
  }
}

/** The address that the machine of a node has of its own. */
const machineAddress = (name: string): Address => `198.51.100.${Number(name.slice(1)) + 1}` as Address;

const on = (...kinds: readonly NodeKind[]): fc.Arbitrary<NodeHappening> => fc.record({ kind: of(...kinds), node: index(NODES) });

export const NODES_DOMAIN: Domain<NodeHappening, PlayedNodes> = {
  sorts: [
    { weight: 2, arbitrary: on('nodeFails') },
    { weight: 2, arbitrary: on('nodeRecovers') },
    { weight: 1, arbitrary: on('nodeGoes', 'nodeComes', 'machineGoes', 'machineDies') },
    { weight: 1, arbitrary: on('cordon', 'cordon', 'uncordon', 'doom', 'spare', 'nodeEnds') },
    { weight: 1, arbitrary: on('taint', 'exclude', 'relieve', 'untaint', 'untaint') },
    { weight: 1, arbitrary: on('evacuate', 'evacuate', 'stay') },
  ],
  open: (stage) => new PlayedNodes(stage),
};
