import type { Operator } from '../support/operator.ts';
import type { Took } from './prober.ts';

const percentile = (sorted: readonly number[], part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(1);

export const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** What the probes took, with what those of an idle process did beside it, as lines for people. */
export const probeLines = (probes: readonly Took[]): readonly string[] =>
  (['probe', 'control'] as const).map((who) => {
    const took = probes.flatMap((one) => one[who] ?? []).sort((a, b) => a - b);
    const [half, most, nearlyAll, all] = [0.5, 0.99, 0.999, 1].map((part) => percentile(took, part));
    return `${who.padEnd(8)}${took.length} of ${probes.length} answered, ms p50 ${half} p99 ${most} p99.9 ${nearlyAll} max ${all}`;
  });

/** Node ends a process for a rejection that nobody handles, and says so. */
const REJECTION = /unhandled|rejection/i;

/** How often the operator ended, and what it said of that, as a line for people. To be asked for before it is closed. */
export function endsLine({ isRunning, noise, log }: Pick<Operator, 'isRunning' | 'noise' | 'log'>): string {
  const rejections = noise.filter((line) => REJECTION.test(line)).length;
  const errors = log.filter(({ level }) => level === 'error' || level === 'fatal').length;
  return `exits ${isRunning() ? 0 : 1}, unhandled rejections ${rejections}, lines that are no log ${noise.length}, logged errors ${errors}`;
}
