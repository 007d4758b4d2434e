import type { Verdict } from '../../../actors/vip/allocator.ts';
import type { VipRequest } from '../../../actors/vip/wait-queue.ts';
import type { Address } from '../../../machines/model/types.ts';

/** A group with all its addresses written down. */
export interface Listed {
  readonly name: string;
  readonly family: 4 | 6;
  /** All of the segment, ascending. */
  readonly all: readonly string[];
  readonly excluded: readonly string[];
}

interface Asked {
  readonly request: VipRequest;
  offer: { address: string; group: string } | null;
  told: string | null;
}

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);

/** The allocator as one would write it who has all the time there is: everything is looked through again after each reading, in the words of the rules. */
export class Model {
  /** A group that is Invalid is known by its name only. */
  readonly groups = new Map<string, Listed | null>();
  readonly taken = new Map<string, { owner: string | null; group: string | null }>();
  readonly asked = new Map<string, Asked>();

  ask(request: VipRequest): void {
    const before = this.asked.get(request.key);
    const offer = before?.offer ?? null;
    const { address, family, group } = request;
    const isKept =
      offer &&
      (address ? offer.address === address : (family ?? familyOf(offer.address)) === familyOf(offer.address)) &&
      (group ?? offer.group) === offer.group;
    this.asked.set(request.key, { request, offer: isKept ? offer : null, told: before?.told ?? null });
  }

  read(): void {
    const byAge = this.#byAge();
    for (const one of byAge) {
      const taken = one.offer && this.taken.get(one.offer.address);
      if (taken && taken.owner !== one.request.key) one.offer = null;
    }
    for (const one of byAge) this.#adopt(one);
    for (const one of byAge) if (!one.offer) one.offer = this.#former(one.request);
    for (const one of byAge) if (!one.offer) one.offer = this.#any(one.request);
  }

  changed(): readonly string[] {
    const changed = this.#byAge().filter((one) => one.told !== JSON.stringify(this.verdict(one.request.key)));
    for (const one of changed) one.told = JSON.stringify(this.verdict(one.request.key));
    return changed.map(({ request }) => request.key);
  }

  verdict(key: string): Verdict | null {
    const one = this.asked.get(key);
    if (!one) return null;
    if (one.offer) return { kind: 'offered', address: one.offer.address as Address, group: one.offer.group };
    return { kind: 'refused', ...this.#refusal(one.request) };
  }

  figures(name: string) {
    const group = this.groups.get(name);
    if (!group) return null;
    const can = group.all.filter((address) => !group.excluded.includes(address));
    return {
      capacity: BigInt(can.length),
      allocated: BigInt(can.filter((address) => this.taken.has(address)).length),
      available: BigInt(can.filter((address) => this.isFree(address)).length),
    };
  }

  isFree(address: string): boolean {
    return !this.taken.has(address) && ![...this.asked.values()].some(({ offer }) => offer?.address === address);
  }

  /** Those that addresses are taken from, by name. */
  valid(): readonly Listed[] {
    return [...this.groups.values()].filter((group) => group !== null).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #byAge(): readonly Asked[] {
    return [...this.asked.values()].sort((a, b) => a.request.since - b.request.since || (a.request.key < b.request.key ? -1 : 1));
  }

  #adopt(one: Asked): void {
    const { key, preferred, address: wanted, family, group: pin } = one.request;
    const own = [...this.taken].filter(([, { owner }]) => owner === key).map(([address]) => address);
    const suited = own
      .filter((address) => (wanted ? address === wanted : family === null || familyOf(address) === family))
      .flatMap((address) => {
        const label = this.taken.get(address)?.group ?? null;
        const around = this.valid()
          .filter(({ all }) => all.includes(address))
          .map(({ name }) => name);
        if (pin !== null) return label === pin || around.includes(pin) ? [{ address, group: pin }] : [];
        const group = around.find((name) => name === label) ?? around[0] ?? label;
        return group === null ? [] : [{ address, group }];
      });
    if (suited.some(({ address }) => address === one.offer?.address)) return;
    if (one.offer && own.includes(one.offer.address)) one.offer = null;
    const listed = preferred.flatMap((address) => suited.filter((place) => place.address === address));
    const lowest = suited.sort((a, b) => order(a.address) - order(b.address))[0];
    one.offer = listed[0] ?? lowest ?? one.offer;
  }

  #former(request: VipRequest) {
    const { address: wanted, preferred } = request;
    if (wanted) return preferred.includes(wanted) ? this.#any(request) : null;
    for (const address of preferred) {
      const group = this.#open(request).find(({ all, excluded }) => all.includes(address) && !excluded.includes(address));
      if (group && this.isFree(address)) return { address, group: group.name };
    }
    return null;
  }

  #any(request: VipRequest) {
    const { address: wanted, group: pin } = request;
    if (wanted) {
      const home = this.valid().find(({ name, all }) => (pin === null || name === pin) && all.includes(wanted));
      return home && !home.excluded.includes(wanted) && this.isFree(wanted) ? { address: wanted, group: home.name } : null;
    }
    for (const { name, all, excluded } of this.#open(request)) {
      const address = all.find((one) => !excluded.includes(one) && this.isFree(one));
      if (address) return { address, group: name };
    }
    return null;
  }

  #open({ group, family }: VipRequest): readonly Listed[] {
    return this.valid().filter((one) => (group === null || one.name === group) && (family === null || one.family === family));
  }

  #refusal({ address, group: pin, family }: VipRequest) {
    if (address) return this.#refusalOfOne(address, pin);
    if (pin === null) return FULL;
    const pinned = this.groups.get(pin);
    if (!pinned) return failed(`${FULL.message}: ${pinned === null ? `IPGroup ${pin} is Invalid` : `there is no IPGroup ${pin}`}`);
    if (family === null || pinned.family === family) return FULL;
    return conflict(`${FULL.message}: IPGroup ${pin} is of IPv${pinned.family}, the Service of IPv${family}`);
  }

  #refusalOfOne(address: string, pin: string | null) {
    if (pin === null) return this.valid().some(({ all }) => all.includes(address)) ? TAKEN : NOT_FOUND;
    const pinned = this.groups.get(pin);
    if (!pinned) return NOT_FOUND;
    if (pinned.all.includes(address)) return TAKEN;
    return conflict(`the requested ip ${address} is not of IPGroup ${pin}, which the annotation ips.paas.org/ipgroup names`);
  }
}

const failed = (message: string) => ({ reason: 'AllocationFailed', message }) as const;
const conflict = (message: string) => ({ reason: 'ConflictingRequest', message }) as const;
const FULL = { reason: 'PoolExhausted', message: 'no IP could be allocated' } as const;
const NOT_FOUND = {
  reason: 'AllocationFailed',
  message: 'failed to allocate specific ip: IPGroup not found for the requested ip',
} as const;
const TAKEN = { reason: 'RequestedIPUnavailable', message: 'failed to allocate specific ip: the requested ip is not available' } as const;

/** Of the addresses that these tests use, which differ in their last part only. */
const order = (address: string): number =>
  familyOf(address) === 4 ? Number(address.split('.')[3]) : 1000 + Number.parseInt(`0${address.split('::')[1]}`, 16);
