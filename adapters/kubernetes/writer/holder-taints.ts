import type { HolderEffect, HolderMark } from '../../../actors/ports/cluster.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { SeenNode } from '../cache/trim.ts';
import type { Connection } from '../client/connection.ts';
import { inParallel } from '../client/parallel.ts';
import type { Seen } from '../source/source.ts';
import { type WantedTaint, writeTaint } from './node-taint.ts';
import { Turns } from './turns.ts';
import type { Lane } from './work-queue.ts';

export interface HolderMarksOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly seen: Seen;
  /** How often to check whether a mark was removed externally, ms. */
  readonly recheckMs: number;
  /** `refused` receives errors that must be reported to users. */
  lane(run: () => Promise<void>, refused: (error: unknown) => void): Lane;
  /** One node cannot be marked, possibly other nodes either. */
  refused(node: ObjectRef, error: unknown): void;
}

/** The nodes that should have the holder taint. */
interface Wanted {
  readonly marks: ReadonlyMap<string, HolderMark>;
  /** Whether all other nodes must have none. */
  readonly complete: boolean;
}

/** The last write of a node's taint, and what the watch showed before it: until the watch shows something newer, our own write counts. */
interface Written {
  readonly effect: HolderEffect | null;
  readonly before: SeenNode | undefined;
}

/** Keeps the holder taint on the nodes that should have it, and removes it from the others. Deviations are corrected until they are gone; each node has one
 *  request at a time. */
export class HolderMarks {
  readonly #options: HolderMarksOptions;
  readonly #turns = new Turns();
  /** Nodes that may have a mark, including nodes that the watches no longer show. */
  readonly #bearing = new Set<string>();
  readonly #written = new Map<string, Written>();
  /** Nodes marked since the last `want`, which therefore must not remove their mark. */
  readonly #marked = new Set<string>();
  /** The node that an error belongs to. */
  readonly #failed = new WeakMap<Error, string>();
  /** Called at the end of the next run. */
  readonly #untried: (() => void)[] = [];
  #wanted: Wanted | null = null;
  #lane: Lane | null = null;
  #closed = false;
  #cancelRecheck: () => void = () => undefined;

  constructor(options: HolderMarksOptions) {
    this.#options = options;
  }

  /** Resolves once the node has the taint, or is gone. @throws ServerUnreachable | ApiError */
  async mark(node: string, effect: HolderEffect): Promise<void> {
    this.#marked.add(node);
    const before = this.#options.seen.node(node) ?? undefined;
    await this.#write(node, before, () => effect);
  }

  /** Replaces the complete set of wanted marks. */
  want(marks: Readonly<Record<string, HolderMark>>, complete: boolean): void {
    if (this.#closed) return;
    this.#wanted = { marks: new Map(Object.entries(marks)), complete };
    this.#marked.clear();
    this.#lane ??= this.#options.lane(
      () => this.#try(),
      (error) => this.#options.refused(nodeRef(this.#failed.get(error as Error) ?? ''), error),
    );
    this.#lane.request();
  }

  /** Resolves once the currently wanted marks were written or failed: a failed write must not block the caller. */
  whenTried(): Promise<void> {
    if (this.#lane === null || this.#lane.idle) return Promise.resolve();
    return new Promise((resolve) => void this.#untried.push(resolve));
  }

  whenIdle(): Promise<void> {
    return this.#lane?.whenIdle() ?? Promise.resolve();
  }

  /** Drops everything wanted: nothing more is written. */
  forget(): void {
    this.#cancelRecheck();
    this.#lane?.stop();
    this.#lane = null;
    this.#wanted = null;
    for (const tell of this.#untried.splice(0)) tell();
    for (const known of [this.#bearing, this.#written, this.#marked]) known.clear();
  }

  /** Starts nothing more, whatever is still wanted: periodic rechecks would keep the process from ending. */
  close(): void {
    this.forget();
    this.#closed = true;
  }

  async #try(): Promise<void> {
    const waiting = this.#untried.splice(0);
    try {
      await this.#writeAll();
    } finally {
      for (const tell of waiting) tell();
    }
  }

  /** Writes what differs. Every node is tried, even if others fail. @throws AggregateError of all that failed; it may be repeated */
  async #writeAll(): Promise<void> {
    this.#recheckLater();
    const nodes = new Map<string, SeenNode>();
    for (const seen of this.#options.seen.nodes()) {
      nodes.set(seen.node.name, seen);
      if (seen.holder !== null) this.#bearing.add(seen.node.name);
    }
    const concerned = new Set([...this.#bearing, ...(this.#wanted?.marks.keys() ?? [])]);
    const due = [...concerned].filter((node) => this.#isDue(node, nodes.get(node)));
    const telling = (node: string) => async (): Promise<void> => {
      try {
        await this.#write(node, nodes.get(node), () => this.#targetOf(node));
      } catch (error) {
        this.#failed.set(error as Error, node);
        throw error;
      }
    };
    await inParallel(due.map(telling));
  }

  #isDue(node: string, seen: SeenNode | undefined): boolean {
    const target = this.#targetOf(node);
    if (target === undefined) return false;
    const written = this.#written.get(node);
    // Our last write is newer than what the watch shows.
    if (written !== undefined && written.effect !== target) return true;
    const isOwnWord = written !== undefined && written.before === seen;
    if (!isOwnWord && seen?.holder !== target) return true;
    if (target === null && !isOwnWord) this.#drop(node);
    return false;
  }

  /** Undefined to leave the node as it is. */
  #targetOf(node: string): ReturnType<WantedTaint> {
    if (this.#wanted === null) return undefined;
    const { marks, complete } = this.#wanted;
    const mark = marks.get(node);
    if (mark !== undefined) return mark === 'AsItIs' ? undefined : mark;
    return complete && !this.#marked.has(node) ? null : undefined;
  }

  async #write(node: string, before: SeenNode | undefined, wanted: WantedTaint): Promise<void> {
    this.#bearing.add(node);
    const effect = await this.#turns.take(node, () => writeTaint(this.#options.connection, node, wanted));
    if (effect !== undefined) this.#written.set(node, { effect, before });
    if (effect === null && before === undefined) this.#drop(node);
  }

  #drop(node: string): void {
    this.#bearing.delete(node);
    this.#written.delete(node);
  }

  #recheckLater(): void {
    const { clock, recheckMs } = this.#options;
    this.#cancelRecheck();
    this.#cancelRecheck = clock.after(recheckMs, () => this.#lane?.request());
  }
}

/** Like the kubelet in Events about nodes: kubectl expects the name as the uid. */
const nodeRef = (name: string): ObjectRef => ({ kind: 'Node', namespace: '', name, uid: name });
