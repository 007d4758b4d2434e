import { isDeepStrictEqual } from 'node:util';
import type { ClusterListener, PoolObject } from '../../actors/ports/cluster.ts';
import type { NodeRef, ObservedNode, ObservedPod, ObservedService, ProviderID } from '../../machines/model/types.ts';

/** The separate watches: pools, RoutedIPs and NodeDNSRecordSets; classes and issuers; nodes; Services with their endpoints, and Pods. */
export type Watched = 'objects' | 'policies' | 'nodes' | 'services';

/** What a process sees of the cluster. */
export interface Seen {
  readonly pools: ReadonlyMap<string, PoolObject>;
  readonly policies: ReadonlyMap<string, PoolObject>;
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** The addresses annotated on the node by pools. */
  readonly annotated: (node: string) => ObservedNode['reservedIPs'];
  readonly services: ReadonlyMap<string, ObservedService>;
  readonly pods: ReadonlyMap<string, ObservedPod>;
}

export type Tell = (listener: ClusterListener, seen: Seen) => void;

/** The watched world, and how it is reported. */
export interface WatchedWorld {
  readonly seen: Seen;
  /** The current state, copied or live. */
  copy(watched: Watched): Partial<Seen>;
  live(watched: Watched): Partial<Seen>;
  readonly tellFacts: Tell;
  tellPool(listener: ClusterListener, seen: Seen, pool: PoolObject): void;
}

/** A change that a stuck watch has not reported, with the state at that time. */
interface Missed {
  readonly seen: Partial<Seen>;
  readonly tell: Tell;
}

/** The watches of one process. Each reports changes immediately, unless it is stuck. */
export class ClusterWatch {
  readonly #world: WatchedWorld;
  readonly #stuck = new Map<Watched, Missed[]>();
  #listener: ClusterListener | null = null;
  #seen: Seen;
  #evacuating: readonly NodeRef[] = [];
  #machines: ReadonlyMap<string, string> = new Map();

  constructor(world: WatchedWorld) {
    this.#world = world;
    this.#seen = world.seen;
  }

  /** Lists everything. */
  open(listener: ClusterListener): void {
    this.#listener = listener;
    this.resync();
  }

  close(): void {
    this.#listener = null;
  }

  /** Reports everything again, as far as it is seen. */
  resync(): void {
    this.#tell((listener, seen) => {
      this.#machines = machinesIn(seen);
      listener.machinesObserved?.(this.#machines);
      for (const policy of seen.policies.values()) listener.policyObserved?.(policy);
      for (const pool of seen.pools.values()) listener.poolObserved(pool);
      this.#world.tellFacts(listener, seen);
      this.#evacuating = evacuatingIn(seen);
      if (this.#evacuating.length > 0) listener.evacuationsObserved?.(this.#evacuating);
    });
  }

  changed(watched: Watched, tell: Tell): void {
    const missed = this.#stuck.get(watched);
    if (missed) missed.push({ seen: this.#world.copy(watched), tell });
    else this.#told(watched, tell);
  }

  sees(watched: Watched): boolean {
    return !this.#stuck.has(watched);
  }

  /** Stops reporting. False when it is already stuck. */
  stick(watched: Watched): boolean {
    if (this.#stuck.has(watched)) return false;
    this.#stuck.set(watched, []);
    this.#seen = { ...this.#seen, ...this.#world.copy(watched) };
    return true;
  }

  /** Reports the first missed change. True once there is none left, and it reports immediately again. */
  catchUp(watched: Watched): boolean {
    const missed = this.#stuck.get(watched)?.shift();
    if (!missed) {
      this.#stuck.delete(watched);
      this.#looks(watched);
      return true;
    }
    this.#seen = { ...this.#seen, ...missed.seen };
    this.#told(watched, missed.tell);
    return false;
  }

  /** Relists: objects that came and went meanwhile are never reported. */
  relist(watched: Watched): void {
    if (!this.#stuck.delete(watched)) return;
    const former = this.#seen;
    this.#looks(watched);
    if (watched === 'objects') {
      for (const { ref } of vanished(former.pools, this.#seen.pools)) this.#tell((listener) => listener.poolGone(ref));
      for (const pool of changedIn(former.pools, this.#seen.pools))
        this.#tell((listener, seen) => this.#world.tellPool(listener, seen, pool));
    } else if (watched === 'policies') {
      for (const { ref } of vanished(former.policies, this.#seen.policies)) this.#tell((listener) => listener.policyGone?.(ref));
      for (const policy of changedIn(former.policies, this.#seen.policies)) this.#tell((listener) => listener.policyObserved?.(policy));
    } else this.#told(watched, this.#world.tellFacts);
  }

  /** It sees the live state again. */
  #looks(watched: Watched): void {
    this.#seen = { ...this.#seen, ...this.#world.live(watched) };
  }

  #tell(tell: Tell): void {
    if (this.#listener !== null) tell(this.#listener, this.#seen);
  }

  #tellMachines(): void {
    const now = machinesIn(this.#seen);
    if (isDeepStrictEqual(now, this.#machines)) return;
    this.#machines = now;
    this.#tell((listener) => listener.machinesObserved?.(now));
  }

  /** Also reports machines and nodes to evacuate when they have changed. */
  #told(watched: Watched, tell: Tell): void {
    if (watched === 'nodes') this.#tellMachines();
    this.#tell(tell);
    if (watched !== 'nodes') return;
    const now = evacuatingIn(this.#seen);
    if (isDeepStrictEqual(now, this.#evacuating)) return;
    this.#evacuating = now;
    this.#tell((listener) => listener.evacuationsObserved?.(now));
  }
}

/** Keyed by providerID; by name for a Node without one. */
const machinesIn = ({ nodes }: Seen): ReadonlyMap<string, string> =>
  new Map([...nodes.values()].map(({ providerID, name }) => [providerID || name, name]));

const evacuatingIn = ({ nodes }: Seen): readonly NodeRef[] =>
  [...nodes.values()].flatMap(({ name, providerID, evacuating }) => (evacuating ? [{ name, providerID: providerID as ProviderID }] : []));

type Objects = ReadonlyMap<string, PoolObject>;

const vanished = (before: Objects, now: Objects): readonly PoolObject[] =>
  [...before].flatMap(([key, object]) => (now.get(key)?.ref.uid === object.ref.uid ? [] : [object]));

/** A change of the status alone is not reported. */
const changedIn = (before: Objects, now: Objects): readonly PoolObject[] =>
  [...now].flatMap(([key, object]) => {
    const then = before.get(key);
    const isSame =
      then?.ref.uid === object.ref.uid &&
      then.generation === object.generation &&
      then.deleting === object.deleting &&
      isDeepStrictEqual(then.marks, object.marks);
    return isSame ? [] : [object];
  });
