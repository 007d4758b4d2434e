import { createHash, randomBytes } from 'node:crypto';
import type { ClusterEvent } from '../../../actors/ports/cluster.ts';
import { objectName } from '../../../actors/ports/observers.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { isConflict, isNotFound, messageOf, ServerUnreachable } from '../client/api-error.ts';
import { type BackoffTable, backoff } from '../client/backoff.ts';
import { MERGE_PATCH, type Means } from '../client/connection.ts';
import { coreEventsApi, type EventApi, eventName, eventNamespace, eventsApi, type Report, withinNote } from './event-body.ts';
import { Lane } from './work-queue.ts';

export interface EventWriterOptions extends Means {
  /** Name of this process, e.g. its Pod. */
  readonly instance: string;
  readonly backoff: BackoffTable;
}

/** The same Event within this time is a repetition, ms. */
const SERIES_MS = 10 * 60_000;

/** Repetitions are counted in the Event no more often than this, ms. */
const COUNT_EVERY_MS = 60_000;

/** Servers keep an Event for an hour by default: an announcement repeated within this time need not be sent, ms. */
const KEPT_MS = 60 * 60_000;

/** Maximum number of remembered announcements. */
const MOST_ANNOUNCED = 10_000;

/** Maximum number of distinct Events remembered, and of Events waiting to be written. */
const MOST = 1_000;

/** Outcome of an Event that must not get lost: `known` when the server already had it. */
export type Announced = 'written' | 'known' | 'refused';

interface Told {
  report: Report;
  /** When it was last written, ms since the epoch. */
  writtenAt: number;
  /** Whether it waits to be written. */
  queued: boolean;
  /** Whether the server has it. */
  created: boolean;
}

/** Servers list Events by name, and `kubectl describe` shows them in that order: names sort by time, then by number, and end in a random suffix that keeps
 *  processes apart. */
const inOrder = (now: number, number: number): string =>
  `${now.toString(16).padStart(12, '0')}${(number % 0x10000).toString(16).padStart(4, '0')}${randomBytes(3).toString('hex')}`;

/** Reports Events one at a time. A repeated Event is counted instead of created again. Events are only informational: one that the server refuses is
 *  logged and dropped. */
export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #told = new Map<string, Told>();
  /** When the server responded to each announcement, by name, monotonic ms. */
  readonly #announced = new Map<string, number>();
  readonly #lane: Lane;
  #queue: Told[] = [];
  #api: EventApi = eventsApi;
  #reported = 0;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#lane = new Lane({
      clock: options.clock,
      pace: { intervalMs: 100, burst: 50, impatienceMs: 1_000 },
      backoff: backoff(options.backoff, options.random),
      run: () => this.#drain(),
      failed: (error, retryInMs) => options.log.warn('events wait', { error: messageOf(error), retryInMs: Math.round(retryInMs) }),
    });
  }

  report(about: ObjectRef, whole: ClusterEvent): void {
    // Truncated first: a thousand are remembered, and a message may quote a selector of 32 KiB.
    const event = withinNote(whole);
    const now = this.#options.clock.now();
    const key = JSON.stringify([about.uid, event.type, event.reason, event.message]);
    const before = this.#told.get(key);
    if (before !== undefined && now - before.report.lastAt < SERIES_MS) {
      before.report = { ...before.report, lastAt: now, count: before.report.count + 1 };
      if (now - before.writtenAt >= COUNT_EVERY_MS) this.#enqueue(before);
      return;
    }
    const { instance } = this.#options;
    this.#reported += 1;
    const name = eventName(about.name, inOrder(now, this.#reported));
    const told = {
      report: { name, about, event, instance, firstAt: now, lastAt: now, count: 1 },
      writtenAt: now,
      queued: false,
      created: false,
    };
    // The newest is last, so that the oldest is forgotten first.
    this.#told.delete(key);
    this.#told.set(key, told);
    const oldest = this.#told.keys().next().value;
    if (this.#told.size > MOST && oldest !== undefined) this.#told.delete(oldest);
    this.#enqueue(told);
  }

  /** Writes an Event that must not get lost; resolves once the server has it or has refused it. A repeated Event has the same name, so it exists once; it is not
   *  sent again if this process knows that the server responded to it.
   *  @throws ServerUnreachable */
  async announce(about: ObjectRef, event: ClusterEvent): Promise<Announced> {
    const { clock, instance, log } = this.#options;
    const now = clock.now();
    const told = createHash('sha256')
      .update(JSON.stringify([about.uid, event.reason, event.message]))
      .digest('hex');
    const report: Report = { name: eventName(about.name, told.slice(0, 16)), about, event, instance, firstAt: now, lastAt: now, count: 1 };
    if (clock.monotonic() - (this.#announced.get(report.name) ?? Number.NEGATIVE_INFINITY) < KEPT_MS) return 'known';
    const outcome = await this.#write({ report, writtenAt: now, queued: false, created: false }).then(
      (): Announced => 'written',
      (error: unknown): Announced => {
        if (error instanceof ServerUnreachable) throw error;
        if (isConflict(error)) return 'known';
        log.warn('an event was refused', { object: objectName(about), reason: event.reason, error: messageOf(error) });
        return 'refused';
      },
    );
    this.#remember(report.name);
    return outcome;
  }

  #remember(name: string): void {
    // The newest is last, so that the oldest is forgotten first.
    this.#announced.delete(name);
    this.#announced.set(name, this.#options.clock.monotonic());
    const oldest = this.#announced.keys().next().value;
    if (this.#announced.size > MOST_ANNOUNCED && oldest !== undefined) this.#announced.delete(oldest);
  }

  whenIdle(): Promise<void> {
    return this.#lane.whenIdle();
  }

  stop(): void {
    this.#lane.stop();
  }

  #enqueue(told: Told): void {
    if (told.queued) return;
    told.queued = true;
    this.#queue.push(told);
    if (this.#queue.length > MOST) {
      const dropped = this.#queue.shift();
      if (dropped !== undefined) dropped.queued = false;
      this.#options.log.warn('an event was dropped', {
        object: dropped && objectName(dropped.report.about),
        reason: dropped?.report.event.reason,
      });
    }
    this.#lane.request();
  }

  async #drain(): Promise<void> {
    for (let told = this.#queue[0]; told !== undefined; told = this.#queue[0]) {
      try {
        await this.#write(told);
      } catch (error) {
        if (error instanceof ServerUnreachable) throw error;
        const { about, event } = told.report;
        this.#options.log.warn('an event was refused', { object: objectName(about), reason: event.reason, error: messageOf(error) });
      }
      told.queued = false;
      told.writtenAt = this.#options.clock.now();
      this.#queue = this.#queue.filter((other) => other !== told);
    }
  }

  async #write(told: Told): Promise<void> {
    const { connection } = this.#options;
    const { report } = told;
    const api = this.#apiFor(report.about);
    const path = api.path(eventNamespace(report.about));
    try {
      if (told.created) {
        await connection.send({
          method: 'PATCH',
          path: `${path}/${report.name}`,
          contentType: MERGE_PATCH,
          body: api.repetition(report),
        });
      } else await connection.send({ method: 'POST', path, body: api.body(report) });
      told.created = true;
    } catch (error) {
      if (!isNotFound(error) || api === coreEventsApi || (await this.#served())) throw error;
      this.#api = coreEventsApi;
      await this.#write(told);
    }
  }

  /** In older servers (e.g. 1.20) the newer API accepts no Events about cluster-scoped objects in `default`. */
  #apiFor({ namespace }: ObjectRef): EventApi {
    return namespace === '' ? coreEventsApi : this.#api;
  }

  /** Whether the server has the newer API at all; if so, the namespace was not found. */
  async #served(): Promise<boolean> {
    try {
      await this.#options.connection.send({ method: 'GET', path: '/apis/events.k8s.io/v1' });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}
