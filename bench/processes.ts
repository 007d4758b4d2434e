import { readFileSync } from 'node:fs';
import type { Figure } from './figures.ts';

/** Clock ticks a second of every Linux that Node.js runs on. */
const TICKS = 100;

/** CPU time that a process has used so far, user and system, ms. @throws Error where there is no /proc */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold anything, also spaces: fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
}

/** Resident memory now and at its highest, bytes. @throws Error where there is no /proc */
export function memoryOf(pid: number): { readonly resident: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** What the operator and its Redis take now. */
export const residents = ({ pid, redisPid }: { readonly pid: number; readonly redisPid: number }): readonly Figure[] => [
  { what: 'RSS of the operator at the end', value: memoryOf(pid).resident / 1e6, unit: 'MB' },
  { what: 'highest RSS of the operator', value: memoryOf(pid).peak / 1e6, unit: 'MB' },
  { what: 'RSS of Redis at the end', value: memoryOf(redisPid).resident / 1e6, unit: 'MB' },
];
