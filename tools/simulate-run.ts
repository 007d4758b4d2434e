import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

export interface RunArgs {
  readonly histories: number;
  readonly seed: number;
  /** The number of the first history. */
  readonly first: number;
  readonly workers: number;
  readonly topics: readonly string[];
  /** Somebody attacks in each of them. */
  readonly isHostile?: boolean;
  /** A file to which what is found is appended; null for none. */
  readonly out: string | null;
  /** The file of the workers. */
  readonly worker: string;
  /** A history that takes longer than this hangs, ms. */
  readonly hangsAfterMs: number;
  readonly print: (line: string) => void;
}

/** A history that broke something, or did not end. */
interface Found {
  readonly number: number;
  readonly broken: readonly string[];
  readonly history: unknown;
}

type Told =
  | { readonly kind: 'begins'; readonly number: number; readonly history: unknown }
  | { readonly kind: 'played'; readonly number: number; readonly steps: number; readonly faults: number }
  | ({ readonly kind: 'broken' } & Found);

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
const most = (numbers: readonly number[]): number => numbers.reduce((top, each) => Math.max(top, each), 0);

/** Plays all histories in threads, and notes what they come to. */
export class Run {
  readonly found: Found[] = [];
  readonly #args: RunArgs;
  readonly #steps: number[] = [];
  readonly #faults: number[] = [];
  readonly #workers = new Set<Worker>();
  readonly #startedAt = performance.now();
  #isOver = false;

  constructor(args: RunArgs) {
    this.#args = args;
  }

  async play(): Promise<void> {
    const { workers, first } = this.#args;
    await Promise.all(Array.from({ length: workers }, (_, index) => this.#work(first + index)));
  }

  /** Nothing more is played. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }

  progress(): string {
    const { histories, seed } = this.#args;
    const played = this.#steps.length;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    return `seed ${seed}: ${played} of ${histories} histories, ${this.found.length} broken, ${(played / seconds).toFixed(1)} a second`;
  }

  figures(): string {
    const of = (numbers: readonly number[]): string => `${middle(numbers)} (at most ${most(numbers)})`;
    return `${of(this.#steps)} steps and ${of(this.#faults)} faults in the middle one`;
  }

  /** From that number on; another worker goes on when one had to be ended. */
  async #work(from: number): Promise<void> {
    for (let next = from; !this.#isOver && next < this.#args.first + this.#args.histories; ) {
      const { seed, workers: step, topics, isHostile, first, histories } = this.#args;
      next = await this.#playFrom({ seed, step, topics, isHostile, from: next, count: first + histories });
    }
  }

  /** Answers the number with which to go on. */
  #playFrom(task: {
    readonly from: number;
    readonly step: number;
    readonly count: number;
    readonly seed: number;
    readonly topics: readonly string[];
    readonly isHostile: boolean | undefined;
  }): Promise<number> {
    const worker = new Worker(this.#args.worker, { workerData: task, execArgv: [] });
    this.#workers.add(worker);
    let now: { readonly number: number; readonly history: unknown; readonly since: number } | null = null;
    return new Promise((resolve, reject) => {
      const ends = (next: number): void => {
        clearInterval(watch);
        this.#workers.delete(worker);
        resolve(next);
      };
      const watch = setInterval(
        () => {
          if (!now || performance.now() - now.since < this.#args.hangsAfterMs) return;
          this.#note({
            number: now.number,
            history: now.history,
            broken: [`hangs: it goes on for more than ${this.#args.hangsAfterMs / 1000} s`],
          });
          void worker.terminate();
          ends(now.number + task.step);
        },
        Math.min(1_000, this.#args.hangsAfterMs),
      );
      worker.on('message', (told: Told) => {
        if (told.kind === 'begins') now = { number: told.number, history: told.history, since: performance.now() };
        else if (told.kind === 'broken') this.#note(told);
        else {
          this.#steps.push(told.steps);
          this.#faults.push(told.faults);
        }
      });
      // What is thrown where nobody waits for it, or takes all memory, ends the thread and not the run.
      let thrown: Error | null = null;
      worker.on('error', (error) => {
        thrown = error;
      });
      // An error may overtake messages; before the exit all have come.
      worker.on('exit', () => {
        if (!thrown) return ends(task.count);
        if (!now) {
          clearInterval(watch);
          // Without a history it is the worker that cannot begin.
          return reject(thrown);
        }
        this.#note({ number: now.number, history: now.history, broken: [`ends its thread: ${thrown.stack ?? thrown.message}`] });
        ends(now.number + task.step);
      });
    });
  }

  #note({ number, broken, history }: Found): void {
    const { seed, out } = this.#args;
    this.found.push({ number, broken, history });
    const entry = { name: broken[0] ?? '', history };
    this.#args.print(
      `\nhistory ${number} of seed ${seed} (${this.#args.isHostile ? '--hostile ' : ''}--seed ${seed} --first ${number} --histories 1):\n  ${broken.slice(0, 3).join('\n  ')}`,
    );
    this.#args.print(JSON.stringify(entry));
    if (out === null) return;
    const before = existsSync(out) ? (JSON.parse(readFileSync(out, 'utf8')) as readonly unknown[]) : [];
    writeFileSync(out, `${JSON.stringify([...before, entry], null, 1)}\n`);
  }
}
