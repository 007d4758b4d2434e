import { ProviderError } from '../../actors/ports/errors.ts';
import type { JobMessage, JobRequest } from '../../actors/ports/job-driver.ts';
import type { MemoryCloud } from '../../adapters/memory/cloud.ts';
import type { JobPlatform } from '../../adapters/memory/job-driver.ts';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import type { SimulationWorld } from './world.ts';

/** How often a template looks whether its platform has done what it asked for, virtual ms. */
const LOOKS_EVERY_MS = 50;

/** The account behind the API, as the template of a class uses it: the rules that look at it look at what Jobs do, too. */
export class CloudPlatform implements JobPlatform {
  readonly #world: SimulationWorld;
  /** By uid of a RoutedIP. */
  readonly #owners = new Map<string, Address>();
  readonly #made = new Set<Address>();

  constructor(world: SimulationWorld) {
    this.#world = world;
  }

  /** A Job made it. */
  isMade(address: Address): boolean {
    return this.#made.has(address);
  }

  carryOut(request: JobRequest): JobMessage | null | Promise<JobMessage | null> {
    const { ROUTEDIP_ADDRESS: named = '', ROUTEDIP_UID: uid = '', ROUTEDIP_REGION: region = '' } = request.env;
    const address = named as Address;
    switch (request.action) {
      case 'create':
        return { address: this.#create(uid, region) };
      case 'find':
        if (named !== '') return this.#find(address);
        return { address: this.#ofOwner(uid) };
      case 'assign':
        return this.#assign(address, request.env.ROUTEDIP_NODE_PROVIDER_ID as ProviderID);
      case 'delete':
        this.#cloud.delete(address);
        return { address };
      default:
        throw new ProviderError('Invalid', `this template knows no ${request.action}`);
    }
  }

  get #cloud(): MemoryCloud {
    return this.#world.provider.cloud;
  }

  #isThere(address: Address): boolean {
    return this.#cloud.addresses().some((each) => each.address === address);
  }

  #create(uid: string, region: string): Address {
    const create = (): Address => this.#cloud.create(region);
    const address = this.#world.routedRules?.madeFor(uid, create) ?? create();
    this.#owners.set(uid, address);
    this.#made.add(address);
    return address;
  }

  #ofOwner(uid: string): string {
    const own = this.#owners.get(uid);
    return own && this.#isThere(own) ? own : '';
  }

  #find(address: Address): JobMessage | null {
    return this.#isThere(address) ? { address, providerID: this.#cloud.find(address).providerID ?? '' } : null;
  }

  async #assign(address: Address, node: ProviderID): Promise<JobMessage | null> {
    if (!this.#isThere(address)) return null;
    const action = this.#cloud.assign(address, node);
    while (action && this.#cloud.actionState(action) === 'running')
      await new Promise<void>((resolve) => void this.#world.clock.after(LOOKS_EVERY_MS, resolve));
    const there = this.#find(address);
    if (there?.providerID !== node) throw new ProviderError('Unavailable', `assign ${address}: it did not come to ${node}`);
    return there;
  }
}
