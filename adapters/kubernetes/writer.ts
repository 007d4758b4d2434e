import type { ClusterEvent, ClusterWriter, PoolProjection } from '../../actors/ports/cluster.ts';
import type { Clock, Log } from '../../actors/ports.ts';
import type { CreateIntent, ObjectRef, Published } from '../../machines/jobs.ts';
import type { Address } from '../../machines/types.ts';
import { isForbidden, messageOf } from './api-error.ts';
import { type BackoffTable, backoff, type Random } from './backoff.ts';
import type { Connection } from './connection.ts';
import { EventWriter } from './event-writer.ts';
import { Lane, type Pace } from './lane.ts';
import { ObjectWriter } from './object-writer.ts';
import { PoolAnnotations, type Wanted } from './pool-annotations.ts';
import type { Seen } from './source.ts';

export interface WriterTimings {
  /** For each object. */
  readonly pace: Pace;
  readonly backoff: BackoffTable;
}

export const WRITER_TIMINGS: WriterTimings = {
  pace: { intervalMs: 50, burst: 4, impatienceMs: 1_000 },
  backoff: { firstMs: 250, factor: 2, maxMs: 30_000 },
};

export interface WriterOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly seen: Seen;
  /** Names this process in Events, e.g. its Pod. */
  readonly instance: string;
  readonly timings?: WriterTimings;
}

/** All that is written about one object. */
interface Desk {
  readonly ref: ObjectRef;
  readonly writer: ObjectWriter;
  readonly status: Lane;
  readonly nodes: Lane;
  projection: PoolProjection | null;
  wanted: Wanted | null;
}

/** Writes what the operator wants to be seen of its objects: status, annotations of nodes, Events. Each object has lanes of its own, so that none waits
 *  for another; what fails is tried again until it works or something newer takes its place. */
export class KubernetesWriter implements ClusterWriter {
  readonly #options: WriterOptions;
  readonly #timings: WriterTimings;
  readonly #events: EventWriter;
  readonly #desks = new Map<string, Desk>();

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#timings = options.timings ?? WRITER_TIMINGS;
    this.#events = new EventWriter({ ...options, backoff: this.#timings.backoff });
  }

  project(projection: PoolProjection): void {
    const { ref, annotated, addresses, events } = projection;
    const desk = this.#desk(ref);
    desk.writer.note(projection);
    desk.projection = projection;
    desk.wanted = { annotated, addresses };
    desk.status.request();
    desk.nodes.request();
    for (const event of events) this.#events.report(ref, event);
  }

  async retract(ref: ObjectRef, addresses: readonly Address[]): Promise<void> {
    const desk = this.#desk(ref);
    desk.projection = null;
    desk.wanted = { annotated: {}, addresses };
    desk.nodes.request();
    await desk.nodes.whenIdle();
    // Stopped before it was done: whoever leads by now sees to it.
    if (this.#desks.get(ref.uid) !== desk) return new Promise(() => undefined);
    // A pool that was projected again meanwhile stays.
    if (!desk.projection) this.#close(desk);
  }

  recordIntent(owner: ObjectRef, intent: CreateIntent & { readonly region: string }): Promise<void> {
    return this.#desk(owner).writer.recordIntent(intent);
  }

  appendAddress(owner: ObjectRef, address: Address): Promise<Published> {
    return this.#desk(owner).writer.appendAddress(address);
  }

  async announce(owner: ObjectRef, event: ClusterEvent): Promise<void> {
    const pool = `${owner.namespace}/${owner.name}`;
    this.#options.log.warn('announces', { pool, reason: event.reason, message: event.message });
    await this.#events.announce(owner, event);
  }

  async flush(graceMs: number): Promise<void> {
    const lanes = [...this.#desks.values()].flatMap(({ status, nodes }) => [status, nodes]);
    const all = Promise.all([...lanes.map((lane) => lane.whenIdle()), this.#events.whenIdle()]);
    let cancel = (): void => undefined;
    const grace = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(graceMs, resolve);
    });
    await Promise.race([all, grace]);
    cancel();
  }

  /** Another process leads now: nothing that was to be written is written any more. */
  forget(): void {
    for (const desk of this.#desks.values()) this.#close(desk);
  }

  /** Writes nothing any more; what waits is dropped. */
  close(): void {
    this.forget();
    this.#events.stop();
  }

  #close(desk: Desk): void {
    desk.status.stop();
    desk.nodes.stop();
    if (this.#desks.get(desk.ref.uid) === desk) this.#desks.delete(desk.ref.uid);
  }

  #desk(ref: ObjectRef): Desk {
    const known = this.#desks.get(ref.uid);
    if (known !== undefined) return known;
    const { connection, clock, seen } = this.#options;
    const writer = new ObjectWriter(connection, clock, seen, ref);
    const annotations = new PoolAnnotations(connection, clock, seen);
    annotations.learn(seen.object(ref)?.object.status ?? null);
    const desk: Desk = {
      ref,
      writer,
      projection: null,
      wanted: null,
      status: this.#lane(ref, 'status', () => writer.write(() => desk.projection)),
      nodes: this.#lane(ref, 'annotations', async () => {
        if (desk.wanted !== null) await annotations.write(desk.wanted);
      }),
    };
    this.#desks.set(ref.uid, desk);
    return desk;
  }

  #lane(ref: ObjectRef, what: string, run: () => Promise<void>): Lane {
    const { clock, log, random } = this.#options;
    return new Lane({
      clock,
      pace: this.#timings.pace,
      backoff: backoff(this.#timings.backoff, random),
      run,
      failed: (error, retryInMs) => {
        const causes = error instanceof AggregateError ? error.errors : [error];
        log.warn(`${what} not written`, {
          object: `${ref.kind} ${ref.namespace}/${ref.name}`,
          error: messageOf(causes[0]),
          retryInMs: Math.round(retryInMs),
        });
        const refused = causes.find(isForbidden);
        if (refused !== undefined) this.#events.report(ref, refusalOf(refused, what));
      },
    });
  }
}

/** Somebody has to mend the permissions: said where people look for what is wrong with the object. */
const refusalOf = (error: unknown, what: string): ClusterEvent => ({
  type: 'Warning',
  reason: 'Forbidden',
  action: what === 'status' ? 'UpdateStatus' : 'Annotate',
  message: messageOf(error),
});
