import { readFileSync } from 'node:fs';

/** Whether a process of that number runs. One that has ended and that its parent has not waited for yet does not. */
export const isRunning = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
