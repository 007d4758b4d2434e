import { setTimeout as sleep } from 'node:timers/promises';
import { attack } from './attack.ts';
import { type Attempt, attemptOf } from './garbage.ts';
import type { Took } from './prober.ts';
import { startProbing } from './probing.ts';
import type { Attacked } from './world.ts';

/** What has gone wrong, with what was sent shortly before it, the newest last. */
interface Harm {
  readonly what: string;
  readonly after: readonly Attempt[];
}

export interface Report {
  readonly requests: number;
  readonly seconds: number;
  /** By listener and by what came back. */
  readonly answers: ReadonlyMap<string, number>;
  /** Bytes: after the first requests, and when all was quiet again. */
  readonly memory: { readonly before: number; readonly after: number };
  readonly probes: readonly Took[];
  readonly harm: Harm | null;
}

interface Plan {
  readonly seed: number;
  readonly requests: number;
  readonly minutes: number;
}

/** So many connections at once. */
const AT_ONCE = 24;
/** The first requests load what had not been needed so far: memory is compared with that after them. */
const WARM = 0.1;
/** What a harm may come from. */
const KEPT = 4 * AT_ONCE;
const QUIET_MS = 5_000;

/** How the operator was harmed; null when it was not. */
export function harmOf({ operator }: Attacked): string | null {
  if (!operator.isRunning()) return `the process ended: ${operator.noise.slice(-15).join('\n')}`;
  if (operator.noise.length > 0) return `it printed what is no log line: ${operator.noise.slice(-15).join('\n')}`;
  const error = operator.log.find(({ level }) => level === 'error');
  return error ? `it logged an error: ${JSON.stringify(error)}` : null;
}

export async function fuzz(attacked: Attacked, { seed, requests, minutes }: Plan): Promise<Report> {
  const startedAt = performance.now();
  const until = startedAt + minutes * 60_000;
  const answers = new Map<string, number>();
  const kept: Attempt[] = [];
  const state = { number: 0, before: 0, harm: null as string | null };
  const probing = await startProbing(attacked.urls.telemetry);
  const lane = async (): Promise<void> => {
    while (state.harm === null && state.number < requests && performance.now() < until) {
      const attempt = attemptOf(seed, state.number);
      state.number += 1;
      if (state.number === Math.min(requests, 50_000) * WARM) state.before = attacked.memory();
      kept.push(attempt);
      if (kept.length > KEPT) kept.shift();
      const answer = await attack(attacked.urls[attempt.to], attempt);
      const key = `${attempt.to} ${answer}`;
      answers.set(key, (answers.get(key) ?? 0) + 1);
      state.harm ??= harmOf(attacked);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  const probes = await probing.end();
  if (state.harm === null) await sleep(QUIET_MS);
  const harm = state.harm ?? harmOf(attacked);
  return {
    requests: state.number,
    seconds,
    answers,
    memory: { before: state.before, after: attacked.operator.isRunning() ? attacked.memory() : 0 },
    probes,
    harm: harm === null ? null : { what: harm, after: kept },
  };
}

type Harms = (attempts: readonly Attempt[]) => Promise<boolean>;

/** As little as harms a new operator in the same way; null when it was not harmed again. */
export async function shrunk(attempts: readonly Attempt[], harms: Harms): Promise<readonly Attempt[] | null> {
  if (!(await harms(attempts))) return null;
  const least = await withoutParts(attempts, harms);
  const [only, ...others] = least;
  if (only === undefined || others.length > 0) return least;
  const [first = '', ...lines] = only.pieces.join('').split('\r\n');
  const made = (kept: readonly string[]): Attempt => ({ ...only, pieces: [[first, ...kept].join('\r\n')] });
  return [made(await withoutParts(lines, (kept) => harms([made(kept)])))];
}

/** What is left when halves, then smaller parts, are taken out as long as it still harms. */
async function withoutParts<T>(all: readonly T[], harms: (left: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let least = all;
  for (let size = Math.ceil(least.length / 2); size >= 1; size = Math.floor(size / 2)) {
    let from = 0;
    while (from < least.length) {
      const without = least.toSpliced(from, size);
      if (await harms(without)) least = without;
      else from += size;
    }
  }
  return least;
}
