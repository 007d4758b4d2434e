import { parentPort, workerData } from 'node:worker_threads';
import { hostileOfSeed } from '../hostile/histories.ts';
import { brokenByAttack } from '../hostile/twin.ts';
import { faultsOf } from './figures.ts';
import { historyOfSeed, seedOf, type Topic } from './generate.ts';
import type { History } from './history.ts';
import { shrink } from './shrink.ts';

/** Which histories a worker plays: from the first number on each so many-th. */
interface Task {
  readonly seed: number;
  readonly from: number;
  readonly step: number;
  readonly count: number;
  readonly topics: readonly Topic[];
  /** Somebody attacks in each of them. */
  readonly isHostile?: boolean;
}

/** `begins`: a history begins to be played, or a smaller one in its place. */
type Told =
  | { readonly kind: 'begins'; readonly number: number; readonly history: History }
  | { readonly kind: 'played'; readonly number: number; readonly steps: number; readonly faults: number }
  | { readonly kind: 'broken'; readonly number: number; readonly broken: readonly string[]; readonly history: History };

const TRIES = 600;
/** How long one is made smaller, ms. */
const SHRINKS_MS = 90_000;

const tell = (what: Told): void => parentPort?.postMessage(what);

async function play(number: number, history: History): Promise<readonly string[]> {
  tell({ kind: 'begins', number, history });
  try {
    return await brokenByAttack(history);
  } catch (error) {
    return [`threw: ${error instanceof Error ? error.stack : String(error)}`];
  }
}

async function run({ seed, from, step, count, topics, isHostile }: Task): Promise<void> {
  const draw = isHostile ? hostileOfSeed : historyOfSeed;
  for (let number = from; number < count; number += step) {
    const history = draw(seedOf(seed, number), topics);
    const broken = await play(number, history);
    tell({ kind: 'played', number, steps: history.steps.length, faults: faultsOf(history) });
    if (broken.length === 0) continue;
    const until = performance.now() + SHRINKS_MS;
    const small = await shrink(history, broken, (each) => play(number, each), { tries: TRIES, isOver: () => performance.now() > until });
    const still = await play(number, small);
    tell({ kind: 'broken', number, broken: still.length > 0 ? still : broken, history: still.length > 0 ? small : history });
  }
}

await run(workerData as Task);
