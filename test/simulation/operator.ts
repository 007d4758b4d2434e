import type { KillPoint } from '../../actors/ports/observers.ts';
import { OUTCOMES, TIMERS } from '../../actors/runtime/queue-data.ts';
import type { StoreCheckpoint } from '../../adapters/memory/store.ts';
import type { OperatorProcess } from '../support/world.ts';
import type { Stage } from './domain.ts';

const MOST_REPEATS = 20;

/** The processes of the operator and what they keep their records in, and what happens to them. */
export class PlayedOperator {
  readonly #stage: Stage;
  /** Processes that are on their way out. */
  readonly #leaving = new Set<OperatorProcess>();
  #killAt: { readonly point: KillPoint; later: number } | null = null;
  #checkpoint: StoreCheckpoint | null = null;
  #repeats = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async start(): Promise<OperatorProcess> {
    const process = await this.#stage.world.start((point) => this.#isKilled(point));
    for (const tell of this.#stage.started) tell(process);
    return process;
  }

  /** Somebody is there to do the work. */
  async isThere(): Promise<void> {
    if (this.#stage.world.processes.length === 0) await this.start();
  }

  /** Nothing is in the way any more. Those that were on their way out are gone. */
  mend(): void {
    const { store, queues, cluster, processes } = this.#stage.world;
    this.#killAt = null;
    store.comeBack();
    queues.comeBack();
    cluster.mendWrites();
    for (const process of this.#leaving) process.kill();
    for (const { lease, store: own } of processes) {
      lease.mend();
      own.mend();
    }
  }

  // ---- processes

  /** The process that comes to this point next, or that comes there so many times later, ends there. */
  killAt(point: KillPoint, later: number): void {
    this.#killAt = { point, later };
  }

  killAll(): void {
    for (const process of this.#stage.world.processes) process.kill();
  }

  /** Nobody runs meanwhile, and then a process starts. */
  async whileDown(act: () => void): Promise<void> {
    this.killAll();
    act();
    await this.start();
  }

  /** As SIGTERM. */
  stop(process: OperatorProcess): void {
    this.#leaving.add(process);
    void process.supervisor.stop().then(() => process.kill());
  }

  /** As SIGSTOP. */
  freeze(process: OperatorProcess): void {
    this.#leaving.add(process);
    process.freeze();
    process.lease.cut();
  }

  /** The process comes to this point, and may end there. */
  reaches(process: OperatorProcess, point: KillPoint): void {
    if (!process.dead && this.#isKilled(point)) process.kill();
  }

  #isKilled(point: KillPoint): boolean {
    if (this.#killAt?.point !== point) return false;
    this.#killAt.later -= 1;
    if (this.#killAt.later >= 0) return false;
    this.#killAt = null;
    return true;
  }

  // ---- stores

  wipe(): void {
    const { store, queues, invariants } = this.#stage.world;
    store.wipe();
    queues.wipe();
    invariants.forget();
  }

  /** To what the store had at the last such step; the first one only marks the place. */
  goBack(): void {
    const { store, invariants } = this.#stage.world;
    if (this.#checkpoint) {
      store.restart(this.#checkpoint);
      invariants.forget();
    }
    this.#checkpoint = store.checkpoint();
  }

  /** Every outcome and timer that is kept comes once more, and late. */
  repeatJobs(): void {
    if (this.#repeats > MOST_REPEATS) return;
    const { queues } = this.#stage.world;
    for (const name of [OUTCOMES, TIMERS]) {
      for (const { id, title, data } of queues.jobs(name)) {
        this.#repeats += 1;
        queues
          .queue(name)
          .add([{ id: `${id}-again-${this.#repeats}`, title, data, delayMs: (this.#repeats * 700) % 5_000 }])
          .catch(() => undefined);
      }
    }
  }
}
