import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Measured, Plan, Scenario } from './scenario.ts';

/** What a process of its own is to measure. */
interface Job {
  readonly scenario: string;
  readonly plan: Plan;
}

/** What it answers. Sent by structured clone, which unlike JSON knows NaN. */
export type Answer = { readonly measured: Measured } | { readonly error: string; readonly stack: string };

/** A scenario could not be measured; the stack is that of the process that tried. */
export class Unmeasured extends Error {
  constructor(message: string, stack?: string) {
    super(message);
    if (stack !== undefined) this.stack = stack;
  }
}

/** The job of a process that was started with these words. */
export const jobOf = (argv: readonly string[]): Job => JSON.parse(argv[2] ?? '') as Job;

/**
 * Measures in a process of its own, which has compiled and collected nothing for another measurement.
 * @throws Unmeasured
 */
export async function measureApart({ name, of }: Scenario, plan: Plan): Promise<Measured> {
  const job: Job = { scenario: name, plan };
  const child = fork(join(import.meta.dirname, 'one.ts'), [JSON.stringify(job)], {
    execArgv: of === 'modules' ? ['--import', join(import.meta.dirname, 'modules.ts')] : [],
    serialization: 'advanced',
  });
  const answers: Answer[] = [];
  child.on('message', (message) => void answers.push(message as Answer));
  const why = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(`its process ended with ${signal ?? code}`));
  });
  const [answer] = answers;
  if (answer === undefined) throw new Unmeasured(why);
  if ('error' in answer) throw new Unmeasured(answer.error, answer.stack);
  return answer.measured;
}
