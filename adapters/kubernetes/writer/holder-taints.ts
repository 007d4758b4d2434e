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
  /** How often it is looked whether somebody took a mark off, ms. */
  readonly recheckMs: number;
  /** `refused` is told of what people are to know. */
  lane(run: () => Promise<void>, refused: (error: unknown) => void): Lane;
  /** One node cannot be marked, and maybe all others. */
  refused(node: ObjectRef, error: unknown): void;
}

/** The nodes that bear the holder's taint by right. */
interface Wanted {
  readonly marks: ReadonlyMap<string, HolderMark>;
  /** Whether all others are to bear none. */
  readonly complete: boolean;
}

/** What was made of a node's taint, and what the watch showed of the node before: while it shows no more, our own write counts. */
interface Written {
  readonly effect: HolderEffect | null;
  readonly before: SeenNode | undefined;
}

/** Keeps the taint of holders on the nodes that are to bear it, and takes it off those that are not. What is wrong is written again until it is
 *  right; each node has one request at a time. */
export class HolderMarks {
  readonly #options: HolderMarksOptions;
  readonly #turns = new Turns();
  /** Nodes that may bear a mark: one that the watches do not show any more is remembered here. */
  readonly #bearing = new Set<string>();
  readonly #written = new Map<string, Written>();
  /** Nodes that were marked since the last word on all nodes, which therefore says nothing against them. */
  readonly #marked = new Set<string>();
  /** Of which node an error tells. */
  readonly #failed = new WeakMap<Error, string>();
  /** Told at the end of the next run. */
  readonly #untried: (() => void)[] = [];
  #wanted: Wanted | null = null;
  #lane: Lane | null = null;
  #closed = false;
  #cancelRecheck: () => void = () => undefined;

  constructor(options: HolderMarksOptions) {
    this.#options = options;
  }

  /** Resolves once the node bears the taint, or is gone. @throws ServerUnreachable | ApiError */
  async mark(node: string, effect: HolderEffect): Promise<void> {
    this.#marked.add(node);
    const before = this.#options.seen.node(node) ?? undefined;
    await this.#write(node, before, () => effect);
  }

  /** All that is to be from now on, whatever was wanted before. */
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

  /** Resolves once what is wanted by now was written, or did not work: what cannot be written keeps nothing else from going on. */
  whenTried(): Promise<void> {
    if (this.#lane === null || this.#lane.idle) return Promise.resolve();
    return new Promise((resolve) => void this.#untried.push(resolve));
  }

  whenIdle(): Promise<void> {
    return this.#lane?.whenIdle() ?? Promise.resolve();
  }

  /** What was wanted is not written any more. */
  forget(): void {
    this.#cancelRecheck();
    this.#lane?.stop();
    this.#lane = null;
    this.#wanted = null;
    for (const tell of this.#untried.splice(0)) tell();
    for (const known of [this.#bearing, this.#written, this.#marked]) known.clear();
  }

  /** Nothing begins any more, whatever is still wanted: a process that looks again and again would not end. */
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

  /** Writes what differs. Every node is tried, whatever happens to another one. @throws AggregateError of all that failed; it may be repeated */
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
    // What we wrote last is newer than what the watch may still have to say.
    if (written !== undefined && written.effect !== target) return true;
    const isOwnWord = written !== undefined && written.before === seen;
    if (!isOwnWord && seen?.holder !== target) return true;
    if (target === null && !isOwnWord) this.#drop(node);
    return false;
  }

  /** Undefined for what is left as it is. */
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

/** As the kubelet names a node in Events: kubectl looks for the name in place of the uid. */
const nodeRef = (name: string): ObjectRef => ({ kind: 'Node', namespace: '', name, uid: name });
