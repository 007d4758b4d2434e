import type { VirtualIPContext } from '../../machines/migration/decisions.ts';
import { isOvertaken } from '../../machines/migration/phase.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { virtualIPEvents, virtualIPStatus } from '../../machines/status/virtual-ip.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import { Fenced } from '../ports/errors.ts';
import type { MigrationWriter } from '../ports/migration.ts';
import { type Log, type Observer, objectName, type Transition } from '../ports/observers.ts';
import { Looks } from '../runtime/work-queue.ts';
import { type LeaderFencePorts, leaderFence } from './leader-fence.ts';

export interface VirtualIPProjectorPorts extends LeaderFencePorts {
  readonly writer: MigrationWriter;
  readonly events: Pick<ClusterWriter, 'announce'>;
  readonly log: Log;
  /** Context of the VirtualIP's actor; null while this process does not lead, or knows nothing of it. */
  readonly contextOf: (key: ActorId) => VirtualIPContext | null;
}

const WRITES_AT_ONCE = 8;

/** Delays after failed writes, ms; the last one repeats. */
const AGAIN_MS: readonly number[] = [200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** Shows each VirtualIP in its status, and its migration in Events. After the save: the stage itself is written by the job that begins it. */
export class VirtualIPProjector implements Observer {
  readonly #ports: VirtualIPProjectorPorts;
  readonly #writes = new Looks((key) => this.#write(key), WRITES_AT_ONCE);
  readonly #failures = new Map<ActorId, { readonly count: number; readonly told: string | null }>();

  constructor(ports: VirtualIPProjectorPorts) {
    this.#ports = ports;
  }

  turnSaved({ transitions }: Parameters<Observer['turnSaved']>[0]): void {
    for (const transition of transitions) if (transition.chart === 'virtual-ip') this.#saved(transition);
  }

  /** Schedules showing its present state. */
  show(key: ActorId): void {
    this.#writes.request(key);
  }

  #saved({ actor, before, after }: Transition): void {
    const is = after && contextIn(after);
    if (!is?.ref) return;
    for (const event of virtualIPEvents(before && contextIn(before), is)) this.#ports.events.announce(is.ref, event).catch(() => undefined);
    this.show(actor);
  }

  async #write(key: ActorId): Promise<void> {
    const { writer, contextOf, clock, log } = this.#ports;
    const ref = contextOf(key)?.ref;
    if (!ref) {
      this.#failures.delete(key);
      return;
    }
    try {
      const live = await writer.virtualIP(ref);
      // Read again: a job may have progressed during the request.
      const context = contextOf(key);
      if (live === null || !context) return;
      const status = virtualIPStatus(context);
      const fence = leaderFence(this.#ports, key, () => contextOf(key) !== null);
      if (!isOvertaken(status.state, live)) await writer.report(live, status, fence);
      this.#failures.delete(key);
    } catch (error) {
      if (error instanceof Fenced) return;
      const { count, told } = this.#failures.get(key) ?? { count: 0, told: null };
      const text = count < 2 ? null : String(error);
      if (text !== told) log.warn('the status of a VirtualIP could not be written yet', { object: objectName(ref), error: text });
      this.#failures.set(key, { count: count + 1, told: text });
      clock.after(AGAIN_MS[Math.min(count, AGAIN_MS.length - 1)] ?? 0, () => this.show(key));
    }
  }
}

const contextIn = (record: NonNullable<Transition['after']>): VirtualIPContext => record.snapshot.context as unknown as VirtualIPContext;
