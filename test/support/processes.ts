import { readFileSync } from 'node:fs';

/** The kernel's letter for what a process does (R runs, S sleeps, T is stopped, Z has ended); null when there is none of that number. */
const stateOf = (pid: number): string | null => {
  try {
    return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
};

/** Whether a process of that number runs. One that has ended and that its parent has not waited for yet does not. */
export const isRunning = (pid: number): boolean => ![null, 'Z'].includes(stateOf(pid));

/** Whether a SIGSTOP has reached the process: the kernel delivers it some time after it was sent. */
export const isStopped = (pid: number): boolean => stateOf(pid) === 'T';
