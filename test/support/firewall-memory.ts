import type { ActorRecord } from '../../actors/ports.ts';
import type { FirewallContext } from '../../machines/firewall.ts';
import type { FirewallOwned } from '../../machines/jobs.ts';
import { ownedRules } from '../../machines/rebuild-routed-ip.ts';
import { nameOf } from './firewall-served.ts';
import type { World } from './world.ts';

/** What was added to firewalls by a process that was without the store: until it is back with that, its memory says so, and statuses as far as they could be written. */
export class FirewallMemory {
  readonly #world: World;
  readonly #statuses: () => Iterable<unknown>;
  /** When all records were lost last, virtual ms. */
  #emptiedAt = Number.NEGATIVE_INFINITY;
  /** By firewall. */
  #added = new Map<string, Set<string>>();
  /** What others had added when the present term began, as long as it is not known how it begins. */
  #former = new Map<string, Set<string>>();
  /** Whoever decided last was without the store. */
  #isFleeting = false;
  /** Somebody who has the store leads beside it by now, as happens only after the Lease was deleted: nobody goes on from that memory, or hears of what it adds from here on. */
  #isOvertaken = false;
  #readTo = 0;

  /** `statuses`: of the RoutedIPs that are there. */
  constructor(world: World, statuses: () => Iterable<unknown>) {
    this.#world = world;
    this.#statuses = statuses;
  }

  /** All records are lost. */
  empty(): void {
    this.#emptiedAt = this.#world.clock.monotonic();
  }

  /** What statuses say that the operator added. */
  shownIn(firewall: string): readonly string[] {
    const rules = [...this.#statuses()].flatMap(ownedRules).filter((each) => nameOf(each.firewall) === firewall);
    return rules.flatMap(({ owned }) => itemsOf(owned));
  }

  /** What the operator takes for its own: as turns have told, as stands in the store, and as statuses say. */
  ownIn(firewall: string): ReadonlySet<string> {
    const seen = [...this.#world.invariants.records].flatMap(([actor, { chart, snapshot }]) =>
      chart === 'firewall' && nameOf(actor) === firewall ? itemsOf((snapshot.context as unknown as FirewallContext).owned) : [],
    );
    return new Set([...seen, ...(this.#stored().get(firewall) ?? []), ...this.shownIn(firewall)]);
  }

  /** What was sent to add something before all records were lost may arrive when nobody knows of it any more. */
  knowsCall(firewall: string): boolean {
    const writes = this.#world.provider.writes();
    const sent = writes.findLast(({ verb, args }) => verb.startsWith('addRoutedIPFirewall') && args[0] === firewall);
    return sent === undefined || sent.at > this.#emptiedAt;
  }

  /** Something is decided under a new term. */
  begin(): void {
    this.#isFleeting = this.#isAway();
    this.#isOvertaken = false;
    this.#former = merged(this.#former, this.#added);
    this.#added = new Map();
  }

  /** A term that goes on from that memory knows all, and has it stored when it is back; answers what one that rebuilds need not know, unless a status says it. */
  lost(): ReadonlyMap<string, ReadonlySet<string>> {
    const { log } = this.#world;
    const led = log.slice(this.#readTo).findLast(({ message }) => message === 'leads');
    this.#readTo = log.length;
    if (this.#looksOvertaken()) {
      const lost = merged(this.#former, this.#added);
      [this.#former, this.#added] = [new Map(), new Map()];
      return lost;
    }
    if (!led) return new Map();
    // What the store holds is found there again, and taken over when it is back.
    const lost = (led.fields as { readonly begins: string }).begins === 'rebuild' ? this.#former : new Map<string, Set<string>>();
    if (lost.size === 0 && this.#isFleeting) this.#added = merged(this.#former, this.#added);
    this.#former = new Map();
    return lost;
  }

  /** What is added was decided by whoever decided last. What the store says is known to everybody. */
  adds(firewall: string, items: readonly string[]): void {
    if (!this.#isFleeting) return;
    const stored = this.#stored().get(firewall) ?? new Set();
    this.#added.set(firewall, new Set([...(this.#added.get(firewall) ?? []), ...items.filter((item) => !stored.has(item))]));
  }

  #looksOvertaken(): boolean {
    this.#isOvertaken ||=
      this.#isAway() && this.#world.processes.some(({ supervisor, store }) => supervisor.leading && !store.isFleeting?.());
    return this.#isOvertaken;
  }

  #isAway(): boolean {
    return this.#world.processes.some(({ store }) => store.isFleeting?.());
  }

  /** What the store says that the operator added, by firewall. */
  #stored(): Map<string, Set<string>> {
    const added = new Map<string, Set<string>>();
    for (const { records } of this.#world.store.checkpoint().data.cells.values())
      for (const [actor, { json }] of records) {
        const { chart, snapshot }: ActorRecord = JSON.parse(json);
        if (chart !== 'firewall') continue;
        const { owned } = snapshot.context as unknown as FirewallContext;
        added.set(nameOf(actor), new Set([...(added.get(nameOf(actor)) ?? []), ...itemsOf(owned)]));
      }
    return added;
  }
}

const itemsOf = ({ ports, nodes }: FirewallOwned): readonly string[] => [...ports, ...nodes];

const merged = (one: ReadonlyMap<string, ReadonlySet<string>>, other: ReadonlyMap<string, ReadonlySet<string>>): Map<string, Set<string>> =>
  new Map(
    [...new Set([...one.keys(), ...other.keys()])].map((key) => [key, new Set([...(one.get(key) ?? []), ...(other.get(key) ?? [])])]),
  );
