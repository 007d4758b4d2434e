import { readFileSync } from 'node:fs';
import { connectionOf, rawClient } from '../../simulator/kubernetes/client.ts';
import type { Target } from './target.ts';
import { listedBy, type ServiceObject } from './vip-objects.ts';

interface Told {
  readonly type: string;
  readonly object: unknown;
}

interface VirtualIPObject {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly state?: string; readonly message?: string };
}

interface Exposed extends ServiceObject {
  readonly spec: ServiceObject['spec'] & { readonly externalIPs?: readonly string[] };
}

/** A VirtualIP, its Service and its copy, followed event by event. */
export class MigrationWatch {
  /** Each `status.state: status.message`, whenever it was another one. */
  readonly shown: string[] = [];
  /** By name, of every moment since: the Services that serve the address. Empty when nobody does. */
  readonly serving: string[] = [];
  readonly #services = new Map<string, string>();
  readonly #raw: ReturnType<typeof rawClient>;
  readonly #address: string;
  readonly #name: string;

  constructor(target: Target, name: string, address: string) {
    this.#raw = rawClient(connectionOf(readFileSync(target.adminKubeconfig, 'utf8')));
    this.#name = name;
    this.#address = address;
  }

  async start(): Promise<void> {
    await this.#raw.stream('/apis/paas.org/v1/virtualips?watch=true', (line) => this.#virtualIP(JSON.parse(line) as Told));
    await this.#raw.stream('/api/v1/services?watch=true', (line) => this.#service(JSON.parse(line) as Told));
  }

  close(): void {
    this.#raw.close();
  }

  #virtualIP({ type, object }: Told): void {
    const { metadata, status = {} } = object as VirtualIPObject;
    if (metadata.name !== this.#name || type === 'DELETED') return;
    const line = `${status.state}: ${status.message}`;
    if (this.shown.at(-1) !== line) this.shown.push(line);
  }

  #service({ type, object }: Told): void {
    const service = object as Exposed;
    const by = service.spec?.externalIPs?.includes(this.#address) || listedBy(service) === this.#address;
    if (type !== 'DELETED' && by) this.#services.set(service.metadata.name, service.spec.type);
    else this.#services.delete(service.metadata.name);
    const now = [...this.#services.keys()].sort().join();
    if (this.serving.at(-1) !== now) this.serving.push(now);
  }
}
