import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { markedFor, nodesOf } from './under-way.ts';
import { nodeNameOf, type World } from './world.ts';

const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;

/** Which nodes are to bear the mark of a holder because of which address of a RoutedIP, and whether they do. */
export class HolderMarks {
  readonly #world: World;
  readonly #lost: (node: string, actor: ActorId) => void;
  /** By address: nodes that are to bear the mark because of it. */
  readonly #holds = new Map<ActorId, readonly string[]>();
  /** Nodes whose mark somebody else took off, or that could not be marked since writes failed, until they bear one again: a failover waits for no mark. */
  readonly #unmarked = new Set<string>();
  #marked: Readonly<Record<string, string>> = {};
  #writesFail = false;

  /** `lost`: a node bears no mark any more, and this address is there. */
  constructor(world: World, lost: (node: string, actor: ActorId) => void) {
    this.#world = world;
    this.#lost = lost;
    this.#watchCluster(world.cluster);
  }

  /** The address is assigned to a node that is to bear a mark, and nobody else is to blame that it bears none. */
  isMissing(node: string): boolean {
    return !Object.hasOwn(this.#world.cluster.holders(), node) && !this.#unmarked.has(node);
  }

  /** To be called before a turn is looked at, and before a call is. */
  look(): void {
    const now = this.#world.cluster.holders();
    for (const node of Object.keys(this.#marked).filter((each) => !Object.hasOwn(now, each))) {
      for (const [actor, nodes] of this.#holds) if (nodes.includes(node)) void this.#confirmUnmarked(actor, node);
    }
    this.#marked = now;
    for (const node of Object.keys(now)) this.#unmarked.delete(node);
  }

  /** One that was rebuilt goes by what its class says now, whatever that said before, and whether its address was found again by then or not. */
  notePool({ actor, after }: Transition): void {
    const { spec } = (after?.snapshot.context ?? {}) as Partial<PoolContext>;
    if (spec && !spec.exposes?.taint) this.forget(actor);
  }

  note({ actor, before, after }: Transition): void {
    if (this.#writesFail) this.#noteMarking(after);
    const context = after && contextOf(after);
    if (!context || context.retiring !== null || !context.policy.taint) {
      this.#holds.delete(actor);
      return;
    }
    const { holder, previous } = context;
    const nodes = nodesOf(context);
    // One that was rebuilt and has not found its node again yet is held to what was known before, unless somebody has moved it elsewhere meanwhile.
    const then = before && contextOf(before);
    const isWhereItWas = holder !== null && (this.#holds.get(actor) ?? []).includes(nodeNameOf(holder));
    const isRebuilding = nodes.length === 0 && isWhereItWas && previous.length === 0 && !then?.elected && !then?.assigned;
    if (!isRebuilding) this.#holds.set(actor, nodes);
  }

  /** Nothing of this cell is to be marked. */
  forget(cell: ActorId): void {
    for (const actor of [...this.#holds.keys()]) if (actor.startsWith(`${cell}/`)) this.#holds.delete(actor);
  }

  #noteMarking(record: ActorRecord | null): void {
    if (record?.chart === 'ip' && record.waiting.elect) this.#unmarked.add(contextOf(record).elected?.name ?? '');
  }

  /** What was seen may be behind what is stored, when the one who wrote it has ended: what is stored counts. */
  async #confirmUnmarked(actor: ActorId, node: string): Promise<void> {
    const stored = await this.#world.store.load(actor.split('/', 3).join('/')).catch(() => null);
    const record = stored?.records[actor];
    if (stored && (!record || contextOf(record).retiring !== null || !markedFor(record).includes(node))) return;
    this.#lost(node, actor);
  }

  #watchCluster(cluster: World['cluster']): void {
    const { untaint, removeNode, failWrites, mendWrites } = cluster;
    // What people do is not the operator's doing.
    const byHand =
      (act: (node: string) => void) =>
      (node: string): void => {
        this.look();
        act(node);
        this.#unmarked.add(node);
        this.#marked = cluster.holders();
      };
    cluster.untaint = byHand(untaint);
    cluster.removeNode = byHand(removeNode);
    cluster.failWrites = () => {
      this.#writesFail = true;
      failWrites();
      for (const record of this.#world.invariants.records.values()) this.#noteMarking(record);
    };
    cluster.mendWrites = () => {
      this.#writesFail = false;
      mendWrites();
    };
  }
}
