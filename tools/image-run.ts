import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ImageStore } from './image-builder.ts';

const DEADLINE_MS = 180_000;
const POLL_MS = 200;

export interface Ran {
  readonly status: number;
  readonly output: string;
}

export type Check = readonly [what: string, check: () => Promise<void>];

/** @throws Error with the text, unless it holds */
export const demand = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** Resolves when it holds. @throws Error when it does not within three minutes, or whatever `holds` throws */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    demand(performance.now() < deadline, `${what}: not within ${DEADLINE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Runs a command beside this process, in which servers may answer. Never throws for what the command says. */
export async function command(file: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status: Number(code ?? 1), output: `${out}${problems}` };
}

export const podman = (store: ImageStore, ...args: readonly string[]): Promise<Ran> => command('podman', store.podman(...args));

/** Options of `podman run` for a container in this network, on whose loopback simulators listen: limits that a machine with low ones can give, and no health checks, which
 *  systemd would have to start. */
export const HOST_NETWORK = ['--network', 'host', '--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096', '--no-healthcheck'];

/** Whether somebody listens on this port of loopback. */
export const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (open: boolean) => () => {
      socket.destroy();
      resolve(open);
    };
    socket.on('connect', settle(true)).on('error', settle(false));
  });

export const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** Does them one after another, and prints how each ended. Resolves with how many failed. */
export async function report(subject: string, checks: readonly Check[]): Promise<number> {
  let failed = 0;
  for (const [what, check] of checks) {
    try {
      await check();
      console.log(`ok      ${subject} ${what}`);
    } catch (error) {
      failed++;
      console.log(`FAILED  ${subject} ${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failed;
}
