import { OUTCOMES, TIMERS } from '../../actors/worker.ts';
import type { StoreCheckpoint } from '../../adapters/memory/store.ts';
import type { OperatorProcess, World } from '../support/world.ts';

const ACTS = ['start', 'kill', 'killAll', 'stop', 'freeze', 'deleteLease', 'cutLease', 'mendLease'] as const;
const OF_STORE = [
  'storeDown',
  'storeUp',
  'queuesDown',
  'queuesUp',
  'failWrites',
  'mendWrites',
  'repeatJobs',
  'wipeQueues',
  'wipe',
  'wipeAtRest',
  'goBack',
] as const;

export interface OfProcess {
  readonly kind: (typeof ACTS)[number];
}
export type OfStore = { readonly kind: (typeof OF_STORE)[number] } | { readonly kind: 'loseReplies'; readonly times: number };

interface Named {
  readonly kind: string;
}
export const isOfProcess = <T extends Named>(what: T): what is T & OfProcess => (ACTS as readonly string[]).includes(what.kind);
export const isOfStore = <T extends Named>(what: T): what is T & OfStore =>
  what.kind === 'loseReplies' || (OF_STORE as readonly string[]).includes(what.kind);

/** The processes of the operator and what they keep their records in, and what happens to them. */
export class PlayedOperator {
  readonly #world: World;
  readonly #start: () => Promise<OperatorProcess>;
  /** Processes that are on their way out. */
  readonly #leaving = new Set<OperatorProcess>();
  #checkpoint: StoreCheckpoint | null = null;
  #repeats = 0;

  constructor(world: World, start: () => Promise<OperatorProcess>) {
    this.#world = world;
    this.#start = start;
  }

  async ofProcess({ kind }: OfProcess): Promise<void> {
    const world = this.#world;
    const [first] = world.processes;
    if (kind === 'start' && world.processes.length < 3) await this.#start();
    else if (kind === 'kill') first?.kill();
    else if (kind === 'killAll') for (const process of world.processes) process.kill();
    else if (kind === 'stop' && first) {
      this.#leaving.add(first);
      void first.supervisor.stop().then(() => first.kill());
    } else if (kind === 'freeze' && first) {
      this.#leaving.add(first);
      first.freeze();
      first.lease.cut();
    }
    if (kind === 'deleteLease') world.lease.delete();
    else if (kind === 'cutLease') first?.lease.cut();
    else if (kind === 'mendLease') first?.lease.mend();
  }

  ofStore(what: OfStore): void {
    const { store, queues, cluster } = this.#world;
    const acts: Readonly<Record<OfStore['kind'], () => void>> = {
      storeDown: store.goDown,
      storeUp: store.comeBack,
      queuesDown: queues.goDown,
      queuesUp: queues.comeBack,
      failWrites: () => cluster.failWrites(),
      mendWrites: () => cluster.mendWrites(),
      loseReplies: () => store.loseReplies(what.kind === 'loseReplies' ? what.times : 1),
      repeatJobs: () => this.#repeatJobs(),
      wipeQueues: queues.wipe,
      wipe: () => this.#wipe(),
      wipeAtRest: () => {
        for (const process of this.#world.processes) process.kill();
        this.#wipe();
      },
      goBack: () => this.#goBack(),
    };
    acts[what.kind]();
  }

  /** Nothing is in the way any more. Those that were on their way out are gone. */
  mend(): void {
    const { store, queues, cluster } = this.#world;
    store.comeBack();
    queues.comeBack();
    cluster.mendWrites();
    for (const process of this.#leaving) process.kill();
    for (const { lease } of this.#world.processes) lease.mend();
  }

  /** Somebody is there to do the work. */
  async isThere(): Promise<void> {
    if (this.#world.processes.length === 0) await this.#start();
  }

  #wipe(): void {
    this.#world.store.wipe();
    this.#world.queues.wipe();
    this.#world.invariants.forget();
  }

  /** To what the store had at the last such step; the first one only marks the place. */
  #goBack(): void {
    const { store, invariants } = this.#world;
    if (this.#checkpoint) {
      store.restart(this.#checkpoint);
      invariants.forget();
    }
    this.#checkpoint = store.checkpoint();
  }

  /** Every outcome and timer that is kept comes once more, and late. */
  #repeatJobs(): void {
    if (this.#repeats > 20) return;
    for (const name of [OUTCOMES, TIMERS]) {
      for (const { id, title, data } of this.#world.queues.jobs(name)) {
        this.#repeats += 1;
        this.#world.queues
          .queue(name)
          .add([{ id: `${id}-again-${this.#repeats}`, title, data, delayMs: (this.#repeats * 700) % 5_000 }])
          .catch(() => undefined);
      }
    }
  }
}
