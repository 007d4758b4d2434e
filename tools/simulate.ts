// Plays many histories of a world in which everything happens, and says which of them broke a rule:
//
//   npm run simulate -- [--histories N] [--seed S] [--workers K] [--domains pools,routedips] [--hostile] [--out FILE]
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './root.mjs';
import { Run } from './simulate-run.ts';

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
  --hostile        somebody who may edit everything in a namespace of his own attacks all others, for whom all has to be as it is without him
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
  readonly isHostile: boolean;
  readonly out: string | null;
}

const HANGS_AFTER_MS = 60_000;
const TELLS_EVERY_MS = 10_000;

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > 2 ** 31 - 1)
    throw new UsageError(`--${name} ${text}: a whole number from ${least} on`);
  return value;
}

/** Hours may pass until something is written to it. */
function outOf(file: string): string {
  if (!existsSync(file)) return file;
  try {
    if (Array.isArray(JSON.parse(readFileSync(file, 'utf8')))) return file;
  } catch (error) {
    throw new UsageError(`--out ${file}: ${(error as Error).message}`);
  }
  throw new UsageError(`--out ${file}: no JSON array`);
}

function parse(argv: readonly string[]): Args | null {
  const values = (() => {
    const text = { type: 'string' } as const;
    const options = {
      histories: text,
      seed: text,
      first: text,
      workers: text,
      domains: text,
      hostile: { type: 'boolean' },
      out: text,
      help: { type: 'boolean' },
    } as const;
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
    isHostile: values.hostile ?? false,
    out: values.out === undefined ? null : outOf(values.out),
  };
}

async function simulate(args: Args): Promise<number> {
  console.log(`seed ${args.seed}, ${args.workers} workers, about ${args.topics.join(', ')}${args.isHostile ? ', with an attacker' : ''}`);
  const run = new Run({ ...args, worker: WORKER, hangsAfterMs: HANGS_AFTER_MS, print: (line) => console.log(line) });
  const { isTTY } = process.stdout;
  const telling = setInterval(
    () => (isTTY ? process.stdout.write(`\r${run.progress()}`) : console.log(run.progress())),
    isTTY ? 1_000 : TELLS_EVERY_MS,
  );
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
