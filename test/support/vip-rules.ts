import { isDeepStrictEqual } from 'node:util';
import type { MemoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import type { StoredService, VipChange } from '../../adapters/memory/vip-world.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { isOwnedBy, type ReservedIP, VIP_FINALIZER } from '../../machines/vip/objects.ts';

/** What must hold at every moment of IPs and the Services that have them, as the API server has both. */
export type VipRule =
  | 'an IP has one owner'
  | 'freed is what nobody lists'
  | 'freed is what is ours'
  | 'reserved is for a guarded Service'
  | 'reserved is what was asked for'
  | 'published is what is reserved'
  | 'an address is listed once';

export interface VipRulesOptions {
  readonly now: () => number;
  readonly cluster: () => MemoryVipCluster;
}

interface Listed {
  readonly address: Address;
  readonly byHand: boolean;
}

/** Watches the API server itself; `hands` is called around what people do. */
export class VipRules {
  readonly violations: { readonly rule: VipRule; readonly at: number; readonly text: string }[] = [];
  /** Requests to reserve may come after their deadline: what was so when they were made says nothing about then. */
  comesLate = false;
  /** So long after a Service asks for something else it may get what it asked for before, ms. */
  wishLastsMs = 120_000;
  /** IPs of VirtualIPs become those of Services here, and are freed with them. */
  migrates = false;
  readonly #options: VipRulesOptions;
  #byHand = false;
  /** By uid of the Service: what it lists, and who wrote that. */
  readonly #listed = new Map<string, Listed>();
  /** By uid of the Service: what it asked for, null for any, and until when. */
  readonly #wishes = new Map<string, Map<Address | null, number>>();
  /** Uids of Services whose finalizers somebody else took. */
  readonly #unguarded = new Set<string>();
  /** Addresses on whose IP somebody has put his hands: what was decided before may be done after. */
  readonly #touched = new Set<Address>();

  constructor(options: VipRulesOptions) {
    this.#options = options;
  }

  hands<T>(act: () => T): T {
    const before = this.#byHand;
    this.#byHand = true;
    try {
      return act();
    } finally {
      this.#byHand = before;
    }
  }

  readonly changed = (change: VipChange): void => {
    if (change.kind === 'IP') this.#ipChanged(change);
    else if (change.kind === 'Service') this.#serviceChanged(change);
  };

  #ipChanged({ before, after }: Extract<VipChange, { kind: 'IP' }>): void {
    const address = (after ?? before)?.address;
    if (this.#byHand) {
      if (address) this.#touched.add(address);
      return;
    }
    if (this.migrates && (before ?? after)?.legacy) return;
    // Which group it is said to be of is nobody's address.
    if (before && after && isDeepStrictEqual({ ...before, group: after.group }, after)) return;
    if (before && after) this.#note('an IP has one owner', `${before.name} was taken over`);
    else if (after) this.#reserved(after);
    else if (before) this.#freed(before);
  }

  #reserved(ip: ReservedIP): void {
    const service = this.#services().find(({ ref }) => isOwnedBy(ip, ref));
    if (this.comesLate) return;
    if (!service?.finalizers.includes(VIP_FINALIZER) && !this.#unguarded.has(ip.owner?.uid ?? ''))
      this.#note('reserved is for a guarded Service', `${ip.address} for ${ip.owner?.name}`);
    const since = this.#options.now() - this.wishLastsMs;
    const wishes = [...(this.#wishes.get(ip.owner?.uid ?? '') ?? [])].flatMap(([wish, until]) => (until >= since ? [wish] : []));
    if (!wishes.includes(null) && !wishes.includes(ip.address))
      this.#note('reserved is what was asked for', `${ip.address} for ${ip.owner?.name}, which asked for ${wishes}`);
  }

  #freed(ip: ReservedIP): void {
    if (ip.owner === null || ip.legacy) this.#note('freed is what is ours', ip.name);
    for (const { ref } of this.#services()) {
      const listed = this.#listed.get(ref.uid);
      if (listed?.address !== ip.address || this.#isBeyond(listed)) continue;
      this.#note('freed is what nobody lists', `${ip.address}, which ${ref.name} lists`);
    }
  }

  #serviceChanged({ before, after }: Extract<VipChange, { kind: 'Service' }>): void {
    if (!after) {
      if (before) this.#listed.delete(before.ref.uid);
      if (before && this.#byHand) this.#unguarded.add(before.ref.uid);
      return;
    }
    this.#noteWish(after);
    const { ref, ingress, finalizers } = after;
    if (this.#byHand && before?.finalizers.includes(VIP_FINALIZER) && !finalizers.includes(VIP_FINALIZER)) this.#unguarded.add(ref.uid);
    const is = textOf(ingress);
    if (is === textOf(before?.ingress ?? [])) return;
    const address = parseAddress(is);
    if (address === null) this.#listed.delete(ref.uid);
    else {
      if (!this.#byHand) this.#published(ref, address);
      this.#listed.set(ref.uid, { address, byHand: this.#byHand });
    }
  }

  #published(ref: ObjectRef, address: Address): void {
    const { cluster } = this.#options;
    const ip = cluster()
      .ips()
      .find((each) => each.address === address);
    if (this.#touched.has(address)) return;
    if (!ip || !isOwnedBy(ip, ref)) this.#note('published is what is reserved', `${address} for ${ref.name}`);
    for (const other of this.#services()) {
      const listed = this.#listed.get(other.ref.uid);
      if (other.ref.uid !== ref.uid && listed?.address === address && !this.#isBeyond(listed))
        this.#note('an address is listed once', `${address} by ${ref.name} and ${other.ref.name}`);
    }
  }

  #noteWish({ ref, requestedIP, loadBalancerIP }: StoredService): void {
    const asked = [requestedIP ?? '', loadBalancerIP].filter((text) => text !== '').map(parseAddress);
    const present: readonly (Address | null)[] = asked.length === 0 ? [null] : asked.filter((address) => address !== null);
    const wishes = this.#wishes.get(ref.uid) ?? new Map<Address | null, number>();
    this.#wishes.set(ref.uid, wishes);
    const now = this.#options.now();
    for (const [wish, until] of wishes) if (!present.includes(wish)) wishes.set(wish, Math.min(until, now));
    for (const wish of present) wishes.set(wish, Number.POSITIVE_INFINITY);
  }

  #services(): readonly StoredService[] {
    return this.#options.cluster().services();
  }

  /** Somebody else has written it, or has put his hands on the IP. */
  #isBeyond({ address, byHand }: Listed): boolean {
    return byHand || this.#touched.has(address);
  }

  #note(rule: VipRule, text: string): void {
    this.violations.push({ rule, at: this.#options.now(), text });
  }
}

const textOf = (ingress: StoredService['ingress']): string => ingress.map(({ ip }) => ip ?? '-').join(' ');
