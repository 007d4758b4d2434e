import type { FirewallContext } from '../../machines/firewall.ts';
import { nameOf } from './firewall-served.ts';
import type { World } from './world.ts';

/** What was added to firewalls by a process that was without the store: until it is back with that, its memory says so, and statuses as far as they could be written. */
export class FirewallMemory {
  readonly #world: World;
  /** By firewall. */
  readonly #added = new Map<string, Set<string>>();
  /** Whoever decided last was without the store. */
  #isFleeting = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** A term begins. One that goes on from that memory knows all, and has it stored when it is back; answers what one that rebuilds need not know, unless a status says it. */
  begin(term: number): ReadonlyMap<string, ReadonlySet<string>> {
    const { log, processes } = this.#world;
    this.#isFleeting = processes.some(({ store }) => store.isFleeting?.());
    const led = log.findLast(({ message }) => message === 'leads')?.fields as
      | { readonly term: number; readonly begins: string }
      | undefined;
    const isRebuilt = led?.term === term && led.begins === 'rebuild';
    const lost = new Map(isRebuilt ? this.#added : []);
    if (isRebuilt || !this.#isFleeting) this.#added.clear();
    return lost;
  }

  /** What is added was decided by whoever decided last. What the store says is known to everybody. */
  adds(firewall: string, items: readonly string[]): void {
    if (!this.#isFleeting) return;
    const stored = this.#storedOf(firewall);
    this.#added.set(firewall, new Set([...(this.#added.get(firewall) ?? []), ...items.filter((item) => !stored.includes(item))]));
  }

  #storedOf(firewall: string): readonly string[] {
    const cells = [...this.#world.store.checkpoint().data.cells.values()];
    return cells.flatMap(({ records }) =>
      Object.entries(records).flatMap(([actor, { chart, snapshot }]) => {
        if (chart !== 'firewall' || nameOf(actor) !== firewall) return [];
        const { owned } = snapshot.context as unknown as FirewallContext;
        return [...owned.ports, ...owned.nodes];
      }),
    );
  }
}
