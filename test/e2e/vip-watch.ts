import type { Target } from './target.ts';
import { listedBy, type ServiceObject } from './vip-objects.ts';
import { openWatches, type Told, type Watches } from './watches.ts';

interface IPObject {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
}

/** All Services of type LoadBalancer and all IPs of a cluster, followed event by event. Whatever must never be so is noted when it is. */
export class VipWatch {
  /** What was seen that must not be: an address that two Services list, an IP that passes from one owner to another. */
  readonly violations: string[] = [];
  /** Service → address. */
  readonly listed = new Map<string, string>();
  /** Address → Service that lists it. */
  readonly #holders = new Map<string, string>();
  /** Address → owner of the IP. */
  readonly reserved = new Map<string, string>();
  readonly services = new Map<string, ServiceObject>();
  readonly #watches: Watches;
  #onListed: () => void = () => undefined;

  constructor(target: Pick<Target, 'adminKubeconfig'>) {
    this.#watches = openWatches(target, (why) => this.violations.push(`the watch is lost: ${why}`));
  }

  async start(): Promise<void> {
    await this.#watches.follow('/api/v1/services', (told) => this.#service(told));
    await this.#watches.follow('/apis/paas.org/v1/ips', (told) => this.#ip(told));
  }

  /** How things stand, as was told and as the server has it, for whoever reads why a scenario failed. */
  async standing(): Promise<string> {
    const services = (await this.#watches.list('/api/v1/services')) as readonly ServiceObject[];
    const balanced = services.filter(({ spec }) => spec?.type === 'LoadBalancer');
    const names = (which: readonly ServiceObject[]): string =>
      `${which.length} (${which.slice(0, 5).map(({ metadata }) => metadata.name)})`;
    return [
      `told: ${this.services.size} Services, ${this.listed.size} with an address, ${this.reserved.size} IPs`,
      `there: ${balanced.length} Services, without an address ${names(balanced.filter((one) => listedBy(one) === ''))}`,
      `being deleted ${names(balanced.filter(({ metadata }) => metadata.deletionTimestamp !== undefined))}`,
      `${(await this.#watches.list('/apis/paas.org/v1/ips')).length} IPs`,
    ].join(', ');
  }

  close(): void {
    this.#watches.close();
  }

  /** Resolves in the very event with which so many Services list an address. */
  whenListed(count: number): Promise<number> {
    return new Promise((resolve) => {
      this.#onListed = () => {
        if (this.listed.size >= count) resolve(this.listed.size);
      };
    });
  }

  /** Those that list none, in the order in which they are to be served: the oldest first, of one age by name. */
  waiting(): readonly string[] {
    const age = (name: string) => `${this.services.get(name)?.metadata.creationTimestamp} ${name}`;
    const all = [...this.services.keys()].filter((name) => !this.listed.has(name));
    return all.sort((a, b) => (age(a) < age(b) ? -1 : 1));
  }

  #service({ type, object }: Told): void {
    const service = object as ServiceObject;
    const { name } = service.metadata;
    if (service.spec?.type !== 'LoadBalancer') return;
    const before = this.listed.get(name);
    if (before !== undefined && this.#holders.get(before) === name) this.#holders.delete(before);
    this.listed.delete(name);
    if (type === 'DELETED') return void this.services.delete(name);
    this.services.set(name, service);
    const address = listedBy(service);
    if (address === '') return;
    const other = this.#holders.get(address);
    if (other !== undefined) this.violations.push(`${name} lists ${address} while ${other} does`);
    this.listed.set(name, address);
    this.#holders.set(address, name);
    this.#onListed();
  }

  #ip({ type, object }: Told): void {
    const { name, annotations = {} } = (object as IPObject).metadata;
    const owner = annotations['virtualips.paas.il/owner'] ?? 'nobody';
    const before = this.reserved.get(name);
    if (type === 'DELETED') return void this.reserved.delete(name);
    if (before !== undefined && before !== owner) this.violations.push(`IP ${name} of ${before} became one of ${owner}`);
    this.reserved.set(name, owner);
  }
}
