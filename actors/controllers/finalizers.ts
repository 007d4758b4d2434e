import { actorOf, isRoutedIP, objectOf } from '../../machines/model/actor-id.ts';
import { type ActorId, FINALIZER } from '../../machines/model/types.ts';
import type { ClusterWriter, PoolObject } from '../ports/cluster.ts';
import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import { Looks } from '../runtime/work-queue.ts';

const AGAIN_MS = 1000;
/** Thousands of concurrent writes would each exceed the request timeout. */
const WRITES_AT_ONCE = 16;

interface GuardPorts {
  readonly writer: ClusterWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly isLeading: () => boolean;
}

/** Adds our finalizer to every RoutedIP before anything is done for it, so that it cannot disappear before that is undone. */
export class Guards {
  readonly #ports: GuardPorts;
  readonly #wanted = new Map<ActorId, PoolObject>();
  readonly #writes = new Looks((id) => this.#guard(id), WRITES_AT_ONCE);

  constructor(ports: GuardPorts) {
    this.#ports = ports;
  }

  /** Call with every observed object; other kinds are ignored. */
  see(object: PoolObject): void {
    const id = actorOf(object.ref);
    if (!isRoutedIP(id) || object.deleting || !this.#ports.isLeading()) return;
    if (object.marks?.finalizers.includes(FINALIZER) || this.#wanted.get(id)?.ref.uid === object.ref.uid) return;
    this.#wanted.set(id, object);
    this.#writes.request(id);
  }

  async #guard(id: ActorId): Promise<void> {
    const object = this.#wanted.get(id);
    try {
      if (object && this.#ports.isLeading()) await this.#ports.writer.guard(object.ref);
      // Another object may have taken its name meanwhile.
      if (this.#wanted.get(id) === object) this.#wanted.delete(id);
    } catch (error) {
      this.#ports.log.warn('a RoutedIP could not be guarded yet; nothing is done for it before', {
        object: objectOf(id),
        error: String(error),
      });
      this.#ports.clock.after(AGAIN_MS, () => this.#writes.request(id));
    }
  }
}
