// Plays many histories of a world in which everything happens, and says which of them broke a rule:
//
//   npm run simulate -- [--histories N] [--seed S] [--workers K] [--domains pools,routedips] [--out FILE]
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ROOT } from './root.mjs';

const WORKER = join(ROOT, 'test/simulation/worker.ts');
/** What each word of `--domains` stands for. */
const DOMAINS = { pools: 'pools', names: 'names', routedips: 'routed', services: 'vips', virtualips: 'virtualIPs' } as const;

const HELP = `Usage: npm run simulate -- [OPTIONS]

Plays histories drawn from a seed: pools, names, RoutedIPs, Services and VirtualIPs, to which everything happens that may. All has to be right in the end, and no
rule may be broken meanwhile. A history that breaks one is made smaller and printed as an entry of test/simulation/known.json.

  --histories N    how many (default 1000)
  --seed S         from 0 to 2147483647 (default: one is drawn, and printed); a history depends on S and its number alone
  --first N        number of the first history (default 0)
  --workers K      threads (default: one for each processor)
  --domains WORDS  ${Object.keys(DOMAINS).join(',')}, or some of them: what histories are about (default all)
  --out FILE       appends what broke a rule to this file, a JSON array as known.json is one
  --help           this text

Ends with 0 when nothing was broken, 1 when something was, 2 when it was asked for what cannot be. Ctrl-C ends it with what was found so far.`;

class UsageError extends Error {}

interface Args {
  readonly histories: number;
  readonly seed: number;
  readonly first: number;
  readonly workers: number;
  readonly topics: readonly string[];
  readonly out: string | null;
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

/** A history that takes longer than this hangs, ms. */
const HANGS_AFTER_MS = 60_000;
const TELLS_EVERY_MS = 10_000;

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > 2 ** 31 - 1) throw new UsageError(`--${name} ${text}: a whole number from ${least} on`);
  return value;
}

function parse(argv: readonly string[]): Args | null {
  const values = (() => {
    const text = { type: 'string' } as const;
    const options = { histories: text, seed: text, first: text, workers: text, domains: text, out: text, help: { type: 'boolean' } } as const;
    try {
      return parseArgs({ args: [...argv], options, allowPositionals: false }).values;
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  })();
  if (values.help) return null;
  const words = (values.domains ?? Object.keys(DOMAINS).join()).split(',');
  const topics = words.map((word) => {
    if (!Object.hasOwn(DOMAINS, word)) throw new UsageError(`--domains ${word}: there are ${Object.keys(DOMAINS).join(', ')}`);
    return DOMAINS[word as keyof typeof DOMAINS];
  });
  return {
    histories: wholeNumber('histories', values.histories ?? '1000', 1),
    seed: values.seed === undefined ? randomInt(2 ** 31 - 1) : wholeNumber('seed', values.seed, 0),
    first: wholeNumber('first', values.first ?? '0', 0),
    workers: wholeNumber('workers', values.workers ?? `${availableParallelism()}`, 1),
    topics: [...new Set(topics)],
    out: values.out ?? null,
  };
}

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
const most = (numbers: readonly number[]): number => numbers.reduce((top, each) => Math.max(top, each), 0);

/** Plays all histories in threads, and notes what they come to. */
class Run {
  readonly found: Found[] = [];
  readonly #args: Args;
  readonly #steps: number[] = [];
  readonly #faults: number[] = [];
  readonly #workers = new Set<Worker>();
  readonly #startedAt = performance.now();
  #isOver = false;

  constructor(args: Args) {
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
      const { seed, workers: step, topics, first, histories } = this.#args;
      next = await this.#playFrom({ seed, step, topics, from: next, count: first + histories });
    }
  }

  /** Answers the number with which to go on. */
  #playFrom(task: { readonly from: number; readonly step: number; readonly count: number; readonly seed: number; readonly topics: readonly string[] }): Promise<number> {
    const worker = new Worker(WORKER, { workerData: task, execArgv: [] });
    this.#workers.add(worker);
    let now: { readonly number: number; readonly history: unknown; readonly since: number } | null = null;
    return new Promise((resolve, reject) => {
      const ends = (next: number): void => {
        clearInterval(watch);
        this.#workers.delete(worker);
        resolve(next);
      };
      const watch = setInterval(() => {
        if (!now || performance.now() - now.since < HANGS_AFTER_MS) return;
        this.#note({ number: now.number, history: now.history, broken: [`hangs: it goes on for more than ${HANGS_AFTER_MS / 1000} s`] });
        void worker.terminate();
        ends(now.number + task.step);
      }, 1_000);
      worker.on('message', (told: Told) => {
        if (told.kind === 'begins') now = { number: told.number, history: told.history, since: performance.now() };
        else if (told.kind === 'broken') this.#note(told);
        else {
          this.#steps.push(told.steps);
          this.#faults.push(told.faults);
        }
      });
      worker.on('error', (error) => {
        clearInterval(watch);
        reject(error);
      });
      worker.on('exit', () => ends(task.count));
    });
  }

  #note({ number, broken, history }: Found): void {
    const { seed, out } = this.#args;
    this.found.push({ number, broken, history });
    const entry = { name: broken[0] ?? '', history };
    console.log(`\nhistory ${number} of seed ${seed} (--seed ${seed} --first ${number} --histories 1):\n  ${broken.slice(0, 3).join('\n  ')}`);
    console.log(JSON.stringify(entry));
    if (out === null) return;
    const before = existsSync(out) ? (JSON.parse(readFileSync(out, 'utf8')) as readonly unknown[]) : [];
    writeFileSync(out, `${JSON.stringify([...before, entry], null, 1)}\n`);
  }
}

async function simulate(args: Args): Promise<number> {
  console.log(`seed ${args.seed}, ${args.workers} workers, about ${args.topics.join(', ')}`);
  const run = new Run(args);
  const { isTTY } = process.stdout;
  const telling = setInterval(() => (isTTY ? process.stdout.write(`\r${run.progress()}`) : console.log(run.progress())), isTTY ? 1_000 : TELLS_EVERY_MS);
  const ends = (): void => void run.end();
  process.once('SIGINT', ends);
  process.once('SIGTERM', ends);
  try {
    await run.play();
  } finally {
    clearInterval(telling);
  }
  console.log(`${isTTY ? '\r' : ''}${run.progress()}; ${run.figures()}`);
  return run.found.length > 0 ? 1 : 0;
}

async function main(argv: readonly string[]): Promise<number> {
  try {
    const args = parse(argv);
    if (args !== null) return await simulate(args);
    console.log(HELP);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`simulate: ${error.message}\nTry --help.`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
