import type { ActorRecord } from '../../actors/ports/records.ts';
import type { Held } from '../../machines/firewall/claims.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { FirewallKnown } from './firewall-known.ts';
import { nameOf } from './firewall-served.ts';
import type { World } from './world.ts';

/** By RoutedIP and firewall: everything that was ever claimed for it, as far as whoever leads can know. For what was claimed by others only it does not answer. */
export class FirewallClaimed {
  readonly #world: World;
  readonly #known: FirewallKnown;
  /** By item: the last term under which it was claimed. */
  readonly #claimed = new Map<string, Map<string, number>>();
  #readTo = 0;

  constructor(world: World, known: FirewallKnown) {
    this.#world = world;
    this.#known = known;
  }

  note(firewall: ActorId, { snapshot, term }: ActorRecord): void {
    const { claims, waiting } = snapshot.context as unknown as FirewallContext;
    for (const [claimant, held] of Object.entries(claims)) {
      const key = `${cellOf(claimant)} ${nameOf(firewall)}`;
      const claimed = this.#claimed.get(key) ?? new Map<string, number>();
      this.#claimed.set(key, claimed);
      for (const item of itemsOf(held)) claimed.set(item, term);
    }
    const cells = new Set([...Object.keys(claims), ...Object.keys(waiting)].map(cellOf));
    this.#leave(nameOf(firewall), cells, Object.values(claims).flatMap(itemsOf));
  }

  /** What one that is done with the firewall left to others is theirs. */
  #leave(firewall: string, cells: ReadonlySet<ActorId>, needed: readonly string[]): void {
    for (const [key, claimed] of this.#claimed) {
      const [cell = '', name] = key.split(' ');
      if (name === firewall && !cells.has(cell)) for (const item of needed) claimed.delete(item);
    }
  }

  /** One that was rebuilt knows what its status says: the rest a firewall closes by itself, as its own record tells, and keeps no RoutedIP for that. */
  noteRebuild(): void {
    const { log } = this.#world;
    const led = log
      .slice(this.#readTo)
      .flatMap(({ message, fields }) => (message === 'leads' ? [fields as { readonly term: number; readonly begins: string }] : []));
    this.#readTo = log.length;
    const term = led.findLast(({ begins }) => begins === 'rebuild')?.term;
    if (term === undefined) return;
    for (const [key, claimed] of this.#claimed) {
      const [cell = '', firewall = ''] = key.split(' ');
      const shown = this.#known.shownIn(firewall, cell);
      for (const [item, claimedIn] of claimed) if (claimedIn < term && !shown.includes(item)) claimed.delete(item);
    }
  }

  by(cell: ActorId, firewall: string): ReadonlySet<string> {
    return new Set(this.#claimed.get(`${cell} ${firewall}`)?.keys());
  }

  forget(cell: ActorId): void {
    for (const key of [...this.#claimed.keys()]) if (key.startsWith(`${cell} `)) this.#claimed.delete(key);
  }
}

const itemsOf = ({ nodes, ports }: Held): readonly string[] => [...ports, ...nodes.map(({ providerID }) => providerID)];
