import type { Address, ProviderID } from '../../machines/model/types.ts';
import { nodeName } from '../simulation/history.ts';
import type { Simulation } from '../simulation/run.ts';

/** How long an address was on no node that may hold it, virtual ms. */
export interface Outage {
  readonly from: number;
  readonly ms: number;
}

interface Look {
  readonly at: number;
  /** By address of somebody: the machines that may hold it. */
  readonly fit: ReadonlyMap<Address, ReadonlySet<string>>;
}

const MOST_NODES = 40;

/** Watches which machines may hold what others than the attacker have. */
export class Outages {
  readonly #simulation: Simulation;
  readonly #looks: Look[] = [];

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    simulation.looks.push(() => this.#look());
  }

  /** Of an address, from when it was first where it may be. */
  of(address: Address): readonly Outage[] {
    const { world } = this.#simulation;
    const held = world.provider.cloud.history(address);
    const end = world.clock.monotonic();
    const times = [...new Set([...this.#looks.map(({ at }) => at), ...held.map(({ at }) => at)])].sort((a, b) => a - b);
    const outages: { from: number; ms: number }[] = [];
    let [isServed, wasServed] = [false, false];
    for (const [each, from] of times.entries()) {
      const to = times[each + 1] ?? end;
      const fit = this.#looks.findLast(({ at }) => at <= from)?.fit.get(address);
      const holder = held.findLast(({ at }) => at <= from)?.providerID ?? null;
      const isFit = fit === undefined || (holder !== null && fit.has(holder));
      const last = outages.at(-1);
      if (!isFit && wasServed && to > from) {
        if (isServed || !last) outages.push({ from, ms: to - from });
        else last.ms += to - from;
      }
      isServed = isFit;
      wasServed ||= isFit && fit !== undefined;
    }
    return outages;
  }

  /** The machine that had it just before that time; null for none. */
  holderBefore(address: Address, at: number): ProviderID | null {
    return this.#simulation.world.provider.cloud.history(address).findLast((each) => each.at < at)?.providerID ?? null;
  }

  /** The machine on which it was put first in that time; null for none. */
  chosen(address: Address, from: number, to: number): ProviderID | null {
    const held = this.#simulation.world.provider.cloud.history(address);
    return held.find(({ at, providerID }) => providerID !== null && at > from && at <= to)?.providerID ?? null;
  }

  #look(): void {
    const { nodes, services, made, world } = this.#simulation;
    const names = Array.from({ length: MOST_NODES }, (_, each) => nodeName(each));
    const fit = new Map<Address, ReadonlySet<string>>();
    for (const victim of made.victims()) {
      const { service } = victim as { readonly service?: string };
      const isFit = (name: string): boolean =>
        service === undefined ? nodes.mayHold(name) : nodes.mayServe(name) && (services?.isOn(service, name) ?? false);
      for (const address of victim.addresses) fit.set(address, new Set(names.filter(isFit).map((name) => nodes.machineOf(name))));
    }
    this.#looks.push({ at: world.clock.monotonic(), fit });
  }
}
