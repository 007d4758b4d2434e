import type { Clock, Json } from '../../../actors/ports/records.ts';
import type { Evacuation, ObjectRef } from '../../../machines/model/types.ts';
import { nodePath } from '../cache/selection.ts';
import { EVACUATED, type SeenNode } from '../cache/trim.ts';
import { isNotFound } from '../client/api-error.ts';
import { type Connection, STRATEGIC_MERGE_PATCH } from '../client/connection.ts';
import { wholeSeconds } from '../client/kube-time.ts';
import { inParallel } from '../client/parallel.ts';
import type { Seen } from '../source/source.ts';
import type { Lane } from './work-queue.ts';

export interface EvacuationMarksOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly seen: Seen;
  /** `refused` receives errors that must be reported to users. */
  lane(run: () => Promise<void>, refused: (error: unknown) => void): Lane;
  /** The status of one node cannot be written, possibly that of other nodes either. */
  refused(node: ObjectRef, error: unknown): void;
}

/** The last write for a node, and what the watch showed before it: until the watch shows something newer, our own write counts. */
interface Written {
  readonly what: Evacuation | null;
  readonly before: SeenNode | undefined;
}

/** Keeps the condition on nodes being evacuated, and removes it from all others. */
export class EvacuationMarks {
  readonly #options: EvacuationMarksOptions;
  readonly #written = new Map<string, Written>();
  /** The node that an error belongs to. */
  readonly #failed = new WeakMap<Error, string>();
  #wanted: ReadonlyMap<string, Evacuation> | null = null;
  #lane: Lane | null = null;

  constructor(options: EvacuationMarksOptions) {
    this.#options = options;
  }

  want(wanted: Readonly<Record<string, Evacuation>>): void {
    this.#wanted = new Map(Object.entries(wanted));
    this.#lane ??= this.#options.lane(
      () => this.#writeAll(),
      (error) => this.#refused(this.#failed.get(error as Error) ?? '', error),
    );
    this.#lane.request();
  }

  whenIdle(): Promise<void> {
    return this.#lane?.whenIdle() ?? Promise.resolve();
  }

  /** Drops everything wanted: nothing more is written. */
  forget(): void {
    this.#lane?.stop();
    this.#lane = null;
    this.#wanted = null;
    this.#written.clear();
  }

  /** @throws AggregateError of all that failed; it may be repeated */
  async #writeAll(): Promise<void> {
    const nodes = new Map([...this.#options.seen.nodes()].map((seen) => [seen.node.name, seen]));
    const due = [...nodes.values()].filter((seen) => this.#isDue(seen));
    await inParallel(
      due.map((seen) => async () => {
        try {
          await this.#write(seen);
        } catch (error) {
          this.#failed.set(error as Error, seen.node.name);
          throw error;
        }
      }),
    );
  }

  #refused(name: string, error: unknown): void {
    this.#options.refused({ kind: 'Node', namespace: '', name, uid: name }, error);
  }

  #isDue(seen: SeenNode): boolean {
    const { name } = seen.node;
    const wanted = this.#wanted?.get(name) ?? null;
    const written = this.#written.get(name);
    const borne = written?.before === seen ? written.what : seen.evacuated;
    return !isSame(wanted, borne);
  }

  async #write(before: SeenNode): Promise<void> {
    const { connection, clock } = this.#options;
    const { name } = before.node;
    const what = this.#wanted?.get(name) ?? null;
    const borne = this.#written.get(name)?.what ?? before.evacuated;
    const now = wholeSeconds(clock.now());
    const condition: Json = what
      ? { type: EVACUATED, ...what, lastHeartbeatTime: now, ...(borne?.status !== what.status && { lastTransitionTime: now }) }
      : { type: EVACUATED, $patch: 'delete' };
    const body = { status: { conditions: [condition] } };
    try {
      await connection.send({ method: 'PATCH', path: `${nodePath(name)}/status`, contentType: STRATEGIC_MERGE_PATCH, body });
    } catch (error) {
      // A deleted node needs no write.
      if (!isNotFound(error)) throw error;
    }
    this.#written.set(name, { what, before });
  }
}

const isSame = (one: Evacuation | SeenNode['evacuated'], other: Evacuation | SeenNode['evacuated']): boolean =>
  one?.status === other?.status && one?.reason === other?.reason && one?.message === other?.message;
