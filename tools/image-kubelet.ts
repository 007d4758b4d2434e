import type { KubeClient } from '../simulator/kubernetes/client.ts';
import type { ImageStore } from './image-builder.ts';
import type { Probe, ShippedContainer } from './image-pod.ts';
import { answers, demand, HOST_NETWORK, listens, podman, type Ran } from './image-run.ts';

export interface Surroundings {
  readonly store: ImageStore;
  /** Where Secrets are read. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Names of Services, all of which lead to loopback. */
  readonly hosts: readonly string[];
}

interface Given {
  /** Beside those of the manifest. */
  readonly env?: Readonly<Record<string, string>>;
  /** As `podman run --volume` takes them. */
  readonly volumes?: readonly string[];
}

/** A container of a Pod, as a kubelet has it run. */
export class PodContainer {
  readonly name: string;
  readonly #around: Surroundings;
  readonly #container: ShippedContainer;
  readonly #given: Given;

  constructor(around: Surroundings, name: string, container: ShippedContainer, given: Given) {
    this.name = name;
    this.#around = around;
    this.#container = container;
    this.#given = given;
  }

  /** Runs it to its end. */
  async run(...more: readonly string[]): Promise<Ran> {
    return this.#podman('run', '--rm', ...(await this.#options()), this.#container.image, ...this.#container.args, ...more);
  }

  /** Starts it; what is left of a former one goes, but for its disk. @throws Error that names a Secret which is not there, and when it cannot be started */
  async start(): Promise<void> {
    const options = await this.#options();
    await this.#podman('rm', '--force', '--ignore', '--time', '0', this.name);
    const started = await this.#podman('run', '--detach', '--name', this.name, ...options, this.#container.image, ...this.#container.args);
    demand(started.status === 0, `podman run ended with ${started.status}:\n${started.output}`);
  }

  /** Whether the probe passes now. One that is not there never does. */
  async passes(probe: Probe | null): Promise<boolean> {
    if (probe?.exec) return (await this.exec(probe.exec.command)).status === 0;
    if (probe?.httpGet) return answers(`http://127.0.0.1:${this.#port(probe.httpGet.port)}${probe.httpGet.path}`);
    return probe?.tcpSocket !== undefined && (await listens(this.#port(probe.tcpSocket.port)));
  }

  exec(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return this.#podman('exec', ...variables(env), this.name, ...command);
  }

  /** Ends it as a crash does. Resolves once it has ended. */
  async kill(): Promise<void> {
    await this.#podman('kill', '--signal', 'KILL', this.name);
    await this.#podman('wait', this.name);
  }

  /** Asks it to end, within its own time. Resolves with its exit code. */
  async stop(): Promise<string> {
    await this.#podman('stop', '--time', String(this.#container.graceSeconds), this.name);
    return (await this.#podman('wait', this.name)).output.trim();
  }

  async logs(): Promise<string> {
    return (await this.#podman('logs', this.name)).output;
  }

  /** What its environment has under this name, '' for an optional Secret that is not there. @throws Error for another Secret that is not there */
  async variable(name: string): Promise<string> {
    const value = this.#container.env.get(name) ?? '';
    if (typeof value === 'string') return value;
    const { client, namespace } = this.#around;
    const secret = await client.get({ apiVersion: 'v1', kind: 'Secret', namespace, name: value.name }).catch(() => null);
    const { data = {} } = (secret ?? {}) as { readonly data?: Readonly<Record<string, string>> };
    const found = data[value.key];
    demand(found !== undefined || value.optional === true, `there is no ${value.key} in the Secret ${value.name}`);
    return Buffer.from(found ?? '', 'base64').toString();
  }

  async #options(): Promise<readonly string[]> {
    const env: Record<string, string> = { ...this.#given.env };
    for (const name of this.#container.env.keys()) {
      const value = await this.variable(name);
      if (value !== '') env[name] = value;
    }
    return [
      ...HOST_NETWORK,
      ...this.#around.hosts.flatMap((host) => ['--add-host', `${host}:127.0.0.1`]),
      ...(this.#given.volumes ?? []).flatMap((volume) => ['--volume', volume]),
      ...variables(env),
      ...this.#container.options,
    ];
  }

  #port(name: string): number {
    const port = this.#container.ports.get(name);
    if (port === undefined) throw new Error(`${this.name} has no port ${name}`);
    return port;
  }

  #podman(...args: readonly string[]): Promise<Ran> {
    return podman(this.#around.store, ...args);
  }
}

const variables = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
