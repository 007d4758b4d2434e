import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { Address } from '../../machines/model/types.ts';
import type { World } from './world.ts';

/** What must hold at every moment of addresses that the operator makes itself. */
export type CreationRule = 'listed before it is used' | 'no creation while one is in doubt';

/** An address that the operator had made. */
interface Made {
  readonly at: number;
  readonly address: Address;
}

const IN_DOUBT: readonly string[] = ['hung', 'lost', 'sent', 'Unavailable'];

/** Looks at every address that is made, and at every assign that reaches the provider. */
export class CreationRules {
  readonly violations: { readonly rule: CreationRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #made: Made[] = [];
  /** All that appeared, whoever made it. */
  readonly #appeared: Made[] = [];
  /** Addresses that stood in a spec once, or in the status of a RoutedIP. */
  readonly #listed = new Set<Address>();
  /** Addresses that a person has put on a machine. */
  readonly #taken = new Set<Address>();
  readonly #specs: () => Iterable<readonly Address[]>;

  /** `specs`: the addresses that each object lists now, or has got by its status. */
  constructor(world: World, specs: () => Iterable<readonly Address[]>) {
    this.#world = world;
    this.#specs = specs;
    const { cloud } = world.provider;
    const { addAddress, assign, create } = cloud;
    cloud.addAddress = (address, region, holder) => {
      this.#appeared.push({ at: world.clock.monotonic(), address });
      addAddress.call(cloud, address, region, holder);
    };
    cloud.create = (region) => {
      const address = create.call(cloud, region);
      this.#made.push({ at: world.clock.monotonic(), address });
      return address;
    };
    cloud.assign = (address, node) => {
      this.#checkUse(address);
      return assign.call(cloud, address, node);
    };
  }

  /** In the order in which they were made. */
  get made(): readonly Address[] {
    return this.#made.map(({ address }) => address);
  }

  /** To be called before a person changes or deletes an object: what stands in its spec has stood there. */
  noteSpecs(): void {
    for (const addresses of this.#specs()) for (const address of addresses) this.#listed.add(address);
  }

  /** A person puts it on a machine: he knows of it, and nobody else takes it for what was made for him. */
  takes(address: Address): void {
    this.#taken.add(address);
  }

  /** Addresses that were made and are there, that no spec ever listed, and that no person has taken or was told of. */
  unknown(): readonly Address[] {
    this.noteSpecs();
    const { cluster, provider } = this.#world;
    const there = new Set(provider.cloud.addresses().map(({ address }) => address));
    const told = cluster.announced.map(({ event }) => event.message).join('\n');
    const isKnown = (address: Address): boolean => this.#listed.has(address) || this.#taken.has(address) || names(told, address);
    return this.made.filter((address) => there.has(address) && !isKnown(address));
  }

  /** Looks at the whole log of calls: to be asked once, at the end. */
  checkCalls(): void {
    const creations = this.#world.provider.writes().filter(({ verb }) => verb === 'createRoutedIP');
    for (const [index, call] of creations.entries()) {
      const former = creations[index - 1];
      if (!former || !IN_DOUBT.includes(former.result) || this.#isTold(former, call)) continue;
      this.#note('no creation while one is in doubt', `a creation at ${former.at} (${former.result}), and another one at ${call.at}`);
    }
  }

  /** A list was read meanwhile that tells what became of the call: one that shows what it made, or what nobody can tell from it, or one that came too late for
   *  it to make anything. What a person made since the list that the call was based on was asked for, however long the call had to wait after that and whatever else was
   *  listed meanwhile, cannot be told from what the call made. */
  #isTold(former: LoggedCall, next: LoggedCall): boolean {
    const { callDeadlineMs } = this.#world.settings;
    const { calls } = this.#world.provider;
    const basedOn =
      calls.findLast(
        ({ verb, purpose, result, at }) => verb === 'listRoutedIPs' && purpose === 'intend' && result === 'ok' && at < former.at,
      )?.at ?? former.at;
    const made = this.#appeared.find(({ at }) => at >= basedOn && at <= Math.min(next.at, former.at + callDeadlineMs));
    const tells = (at: number): boolean => (made ? at >= made.at : this.#world.elapsed(former.at, at) >= callDeadlineMs);
    return calls.some(
      ({ verb, result, at }) => verb === 'listRoutedIPs' && result === 'ok' && at >= former.at && at <= next.at && tells(at),
    );
  }

  #checkUse(address: Address): void {
    if (!this.made.includes(address)) return;
    this.noteSpecs();
    if (!this.#listed.has(address)) this.#note('listed before it is used', `${address} was assigned before it stood in a spec`);
  }

  #note(rule: CreationRule, text: string): void {
    this.violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}

/** Whether a text names the address, and not only a longer one. */
const names = (text: string, address: Address): boolean => text.split(/[^0-9.]+/).some((word) => word.replace(/\.$/, '') === address);
