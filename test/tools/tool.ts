import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

/** The last test has ended: what tools have written goes. */
const HOME = mkdtempSync(join(tmpdir(), 'tools-home-'));
process.once('exit', () => rmSync(HOME, { recursive: true, force: true }));

interface Result {
  readonly stdout: string;
  /** Both streams: tools disagree on where complaints go. */
  readonly output: string;
  readonly code: number | null;
}

const MOST_OUTPUT = 64 * 1024 * 1024;
const DEADLINE_MS = 60_000;

const pathOf = (name: string): string => {
  const folder = process.env.CHECK_TOOLS;
  if (!folder) throw new Error('CHECK_TOOLS is not set: npm run test:tools sets it');
  return join(folder, name);
};
const options = () => ({ encoding: 'utf8', env: { PATH: process.env.PATH, HOME }, maxBuffer: MOST_OUTPUT, timeout: DEADLINE_MS }) as const;

/** Runs a tool of CHECK_TOOLS to its end, with a home folder of its own: neither settings nor discovery of another server are read.
 *  @throws Error when it cannot be started or takes a minute */
export const runTool = (name: string, args: readonly string[], input = ''): Result => {
  const { stdout, stderr, status, error } = spawnSync(pathOf(name), args, { ...options(), input });
  if (error) throw error;
  return { stdout, output: stdout + stderr, code: status };
};

/** The standard output of a tool. @throws Error with everything it said when it fails */
export const outputOf = (name: string, args: readonly string[], input = ''): string => {
  const { stdout, output, code } = runTool(name, args, input);
  if (code !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${code}:\n${output}`);
  return stdout;
};

/** The same of a tool that asks this process something meanwhile. */
export const outputMeanwhile = async (name: string, args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(pathOf(name), args, options())).stdout;

/** A folder for the files of one test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tools-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};
