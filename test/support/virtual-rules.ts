import type { MemoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import type { StoredService, VipChange } from '../../adapters/memory/vip-world.ts';
import { STATES } from '../../machines/migration/phase.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import { cloneName, type VirtualIP } from '../../machines/vip/virtualip.ts';

/** What must hold at every moment of VirtualIPs, their copies and the Services that they are migrated to, as the API server has all of them. */
export type VirtualRule =
  /** No two copies have one address, and no Service lists that of a copy of another one. */
  | 'an address is served for one'
  /** What a copy serves is served by it or by the Service, without a gap, until somebody else interferes. */
  | 'who serves goes on serving'
  | 'what serves is reserved'
  | 'an address goes from a VirtualIP to its Service alone'
  | 'a stage is followed by no earlier one'
  | 'said to be migrated when it is';

export interface VirtualRulesOptions {
  readonly now: () => number;
  readonly cluster: () => MemoryVipCluster;
}

/** So long after somebody has interfered what was under way may still take effect, ms. */
const SETTLED_MS = 120_000;

const ORDER: readonly string[] = [
  STATES.preparing,
  STATES.reassociating,
  STATES.cleaningUp,
  STATES.converting,
  STATES.assigning,
  STATES.migrated,
];
/** From here on nobody can take the migration back. */
const BEGUN = 1;

/** Looks after every change of the cluster; `hands` is called around what people do. */
export class VirtualRules {
  readonly violations: { readonly rule: VirtualRule; readonly at: number; readonly text: string }[] = [];
  readonly #options: VirtualRulesOptions;
  #byHand = false;
  #disturbedAt = Number.NEGATIVE_INFINITY;
  /** By uid of the VirtualIP: the address by which its copy has served. */
  readonly #served = new Map<string, string>();
  /** By uid of the VirtualIP: its state, as its place in `ORDER`. */
  readonly #stages = new Map<string, number>();

  constructor(options: VirtualRulesOptions) {
    this.#options = options;
  }

  /** What somebody else does, and what then follows from that, breaks no rule. `interferes`: he puts his hands on what serves. */
  hands<T>(interferes: boolean, act: () => T): T {
    if (interferes) this.#disturbed();
    this.#byHand = true;
    try {
      return act();
    } finally {
      this.#byHand = false;
    }
  }

  readonly changed = (change: VipChange): void => {
    if (change.kind === 'IP' && change.before && change.after && !this.#byHand) this.#checkOwner(change.before, change.after);
    if (change.kind === 'VirtualIP' && change.after) this.#checkStage(change.after);
    this.#look();
  };

  #disturbed(): void {
    this.#disturbedAt = this.#options.now();
    this.#served.clear();
  }

  get #isQuiet(): boolean {
    return this.#options.now() - this.#disturbedAt > SETTLED_MS;
  }

  #checkOwner(before: ReservedIP, after: ReservedIP): void {
    if (before.legacy === after.legacy && before.owner?.name === after.owner?.name) return;
    const vip = this.#vips().find(({ ref }) => before.legacy && ref.name === before.owner?.name);
    if (!vip || after.legacy || vip.status.service !== after.owner?.name)
      this.#note(
        'an address goes from a VirtualIP to its Service alone',
        `${before.address} of ${before.owner?.name} is ${after.owner?.name}’s`,
      );
  }

  #checkStage(vip: VirtualIP): void {
    const { ref, status } = vip;
    const stage = ORDER.indexOf(status.state);
    const former = this.#stages.get(ref.uid) ?? -1;
    this.#stages.set(ref.uid, stage);
    if (former >= BEGUN && stage < former)
      this.#note('a stage is followed by no earlier one', `${ref.name} says ${status.state} after ${ORDER[former]}`);
    if (status.state !== STATES.migrated || former === stage || !this.#isQuiet) return;
    const service = this.#service(status.service);
    const isListed = service?.ingress.some(({ ip }) => ip === status.ip);
    if (!isListed || this.#externals(vip).length > 0)
      this.#note('said to be migrated when it is', `${ref.name}: ${service?.ref.name} lists ${service?.ingress.map(({ ip }) => ip)}`);
  }

  #look(): void {
    const vips = this.#vips();
    this.#checkOnce(vips);
    for (const uid of this.#served.keys()) if (!vips.some(({ ref }) => ref.uid === uid)) this.#served.delete(uid);
    for (const vip of vips) this.#checkServing(vip);
  }

  #checkOnce(vips: readonly VirtualIP[]): void {
    const all = vips.flatMap((vip) => this.#externals(vip).map((address) => ({ vip, address })));
    for (const { vip, address } of all) {
      const other = all.find((each) => each.vip !== vip && each.address === address);
      if (other) this.#note('an address is served for one', `${address} by the copies of ${vip.ref.name} and ${other.vip.ref.name}`);
      if (!this.#isQuiet) continue;
      const lists = this.#cluster
        .services()
        .find(({ ref, ingress }) => ingress.some(({ ip }) => ip === address) && ref.name !== vip.status.service);
      if (lists) this.#note('an address is served for one', `${address} by the copy of ${vip.ref.name} and ${lists.ref.name}`);
    }
  }

  #checkServing(vip: VirtualIP): void {
    const { ref, status, deleting } = vip;
    const externals = this.#externals(vip);
    const served = this.#served.get(ref.uid);
    if (deleting || !this.#isQuiet) this.#served.delete(ref.uid);
    else if (served !== undefined) {
      const service = this.#service(status.service);
      if (!externals.includes(served) && !service?.ingress.some(({ ip }) => ip === served)) {
        this.#note('who serves goes on serving', `nobody serves ${served} of ${ref.name}`);
        this.#served.delete(ref.uid);
      }
      const ip = this.#cluster.ips().find(({ address }) => address === served);
      if (ip?.owner?.name !== (ip?.legacy ? ref.name : status.service))
        this.#note('what serves is reserved', `${served} of ${ref.name} is ${ip?.owner?.name ?? 'nobody'}’s`);
    } else if (externals[0] !== undefined && status.state !== STATES.migrated) this.#served.set(ref.uid, externals[0]);
  }

  /** The addresses by which its copy serves. */
  #externals({ ref, status }: VirtualIP): readonly string[] {
    const found = this.#service(status.clonedService || cloneName(ref))?.more?.spec?.externalIPs;
    return Array.isArray(found) ? found.map(String) : [];
  }

  #service(name: string): StoredService | null {
    return this.#cluster.service('default', name);
  }

  #vips(): readonly VirtualIP[] {
    return this.#cluster.virtualIPs.all();
  }

  get #cluster(): MemoryVipCluster {
    return this.#options.cluster();
  }

  #note(rule: VirtualRule, text: string): void {
    this.violations.push({ rule, at: this.#options.now(), text });
  }
}
