import type { VipWorld } from '../actors/vip-world.ts';
import { isOfProcess, isOfStore, PlayedOperator } from './played-operator.ts';
import type { VipTrouble } from './vip-steps.ts';

const KINDS: readonly string[] = ['fault', 'hold', 'tell', 'jump', 'loseReply'];

export const isTrouble = <T extends { readonly kind: string }>(what: T): what is T & VipTrouble =>
  KINDS.includes(what.kind) || isOfProcess(what) || isOfStore(what);

/** The operator in a world with Services, and what happens to it. */
export class VipTroubles {
  readonly #world: VipWorld;
  readonly #operator: PlayedOperator;

  constructor(world: VipWorld) {
    this.#world = world;
    this.#operator = new PlayedOperator(world, () => world.start());
  }

  async act(what: VipTrouble): Promise<void> {
    if (what.kind === 'fault') this.#world.k8s.faults.next(what.verb, what.fault, what.times);
    else if (what.kind === 'jump') this.#world.jump(what.ms);
    else if (what.kind === 'loseReply') this.#world.store.loseReplies(1);
    else if (what.kind === 'hold') this.#hold();
    else if (what.kind === 'tell') this.#tell();
    else if (isOfProcess(what)) await this.#operator.ofProcess(what);
    else if (isOfStore(what)) this.#operator.ofStore(what);
  }

  /** Nothing is in the way any more, and a process is there. */
  async mend(): Promise<void> {
    this.#world.k8s.faults.clear();
    this.#operator.mend();
    this.#tell();
    await this.#world.clock.advance(1_000);
    await this.#operator.isThere();
  }

  #hold(): void {
    const leader = this.#world.processes.find(({ supervisor }) => supervisor.leading);
    if (leader) this.#world.vipsOf(leader).holdWatches();
  }

  #tell(): void {
    for (const process of this.#world.processes) this.#world.vipsOf(process).resumeWatches();
  }
}
