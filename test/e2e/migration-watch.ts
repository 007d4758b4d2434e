import type { Target } from './target.ts';
import { listedBy, type ServiceObject } from './vip-objects.ts';
import { openWatches, type Told, type Watches } from './watches.ts';

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
  readonly #watches: Watches;
  readonly #address: string;
  readonly #name: string;

  constructor(target: Target, name: string, address: string) {
    this.#watches = openWatches(target, (why) => this.shown.push(`the watch is lost: ${why}`));
    this.#name = name;
    this.#address = address;
  }

  async start(): Promise<void> {
    await this.#watches.follow('/apis/paas.org/v1/virtualips', (told) => this.#virtualIP(told));
    await this.#watches.follow('/api/v1/services', (told) => this.#service(told));
  }

  close(): void {
    this.#watches.close();
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
