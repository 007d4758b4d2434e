import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ImageStore } from './image-builder.ts';
import { command, demand, podman, type Ran, until } from './image-run.ts';

const ROOT = join(import.meta.dirname, '..');
const LAST_LINES = 40;
const HEALTH_INTERVAL_MS = 2_000;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Of podman, for all that is started here: networks in which containers know each other by name, nothing written outside of the folder, and limits that a machine
 *  with low ones can give. */
const SETTINGS = (work: string): string => `[network]
network_backend = "netavark"
network_config_dir = "${join(work, 'networks')}"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
events_logger = "file"
events_logfile_path = "${join(work, 'events.log')}"
`;

/** Podman, as docker-compose speaks with it. */
export interface Engine {
  readonly store: ImageStore;
  readonly socket: string;
  /** Ends all containers, and itself. */
  readonly close: () => Promise<void>;
}

/** Settings for every podman that this process starts from now on. */
export function settle(work: string): void {
  mkdirSync(work, { recursive: true });
  const settings = join(work, 'containers.conf');
  writeFileSync(settings, SETTINGS(work));
  process.env.CONTAINERS_CONF = settings;
}

export async function startEngine(store: ImageStore, work: string): Promise<Engine> {
  const socket = join(work, 'podman.sock');
  const engine = spawn('podman', store.podman('system', 'service', '--time', '0', `unix://${socket}`), { stdio: 'ignore' });
  const ended = once(engine, 'exit');
  const close = async () => {
    await podman(store, 'rm', '--all', '--force', '--time', '0');
    engine.kill('SIGTERM');
    await ended;
  };
  await until('podman listens', async () => existsSync(socket));
  return { store, socket, close };
}

/** Why a container cannot be in a network with a published port, or null when it can. */
export async function whyNoNetwork(store: ImageStore, image: string): Promise<string | null> {
  const made = await podman(store, 'network', 'create', 'tried');
  const how = ['--name', 'tried', '--network', 'tried', '--publish', '127.0.0.1:8081:8081'];
  const ran = made.status === 0 ? await podman(store, 'run', ...how, image, 'true') : made;
  await podman(store, 'rm', '--force', '--ignore', '--volumes', 'tried');
  await podman(store, 'network', 'rm', '--force', 'tried');
  return ran.status === 0 ? null : ran.output.trim().slice(-300);
}

/** A compose file of the project, between its `up` and its `down`. */
export class Project {
  /** All that `up` has printed. */
  said = '';
  readonly #engine: Engine;
  readonly #env: NodeJS.ProcessEnv;
  readonly #options: readonly string[];
  readonly #name: string;
  #up: Child | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** `env` is added to the environment in which docker-compose runs. */
  constructor(engine: Engine, file: string, work: string, env: Readonly<Record<string, string>> = {}) {
    this.#engine = engine;
    this.#env = { ...process.env, DOCKER_HOST: `unix://${engine.socket}`, ...env };
    const text = readFileSync(join(ROOT, file), 'utf8');
    const [line, name] = /^name: (\S+)\n/m.exec(text) ?? [];
    if (!line || !name) throw new Error(`${file} has no name`);
    const copy = join(work, file);
    writeFileSync(copy, text.replace(line, ''));
    this.#name = name;
    this.#options = ['--file', copy, '--project-directory', ROOT, '--project-name', name];
  }

  run(...args: readonly string[]): Promise<Ran> {
    return command('docker-compose', [...this.#options, ...args], this.#env);
  }

  /** Brings it up, and resolves when that has come which is waited for. @throws Error with its last words when one of its containers ends, or it does not come */
  async up(what: string, holds: () => Promise<boolean>): Promise<void> {
    const args = [...this.#options, 'up', '--no-build', '--no-color'];
    const up = spawn('docker-compose', args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#up = up;
    const keep = (data: Buffer): void => {
      this.said += data.toString();
    };
    up.stdout.on('data', keep);
    up.stderr.on('data', keep);
    try {
      await until(what, async () => {
        demand(!this.said.includes(' exited with code ') && up.exitCode === null, 'it ended');
        await this.#checkHealth();
        return holds();
      });
    } catch (error) {
      throw new Error(`${String(error)}\n${this.said.split('\n').slice(-LAST_LINES).join('\n')}`);
    }
  }

  /** Ctrl-C, and `down` with these options. @throws Error unless every container ended with 0, and when anything is left */
  async end(containers: number, ...options: readonly string[]): Promise<void> {
    const up = this.#up;
    if (!up) throw new Error('it was never brought up');
    const ended = once(up, 'exit');
    up.kill('SIGINT');
    await ended;
    const { store } = this.#engine;
    const { output } = await podman(store, 'ps', '--all', '--format', '{{.Names}} {{.Status}}');
    const lines = output.trim().split('\n');
    demand(lines.length === containers && lines.every((line) => / Exited \(0\) /.test(line)), `after Ctrl-C there are ${output}`);
    const down = await this.run('down', ...options);
    demand(down.status === 0, `down ended with ${down.status}:\n${down.output}`);
    for (const kind of [
      ['ps', '--all', '--quiet'],
      ['volume', 'ls', '--quiet'],
      ['network', 'ls', '--quiet', '--filter', `name=${this.#name}`],
    ]) {
      const left = await podman(store, ...kind);
      demand(left.status === 0 && left.output.trim() === '', `podman ${kind.join(' ')} finds ${left.output}`);
    }
  }

  /** What Docker does by itself, as often as the files say at most: it counts what fails. */
  async #checkHealth(): Promise<void> {
    if (performance.now() - this.#checkedAt < HEALTH_INTERVAL_MS) return;
    this.#checkedAt = performance.now();
    const { store } = this.#engine;
    const waiting = await podman(store, 'ps', '--quiet', '--filter', 'health=starting');
    for (const id of waiting.output.split('\n').filter(Boolean)) await podman(store, 'healthcheck', 'run', id);
  }
}
