import type { ActorRecord } from '../../actors/ports/records.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { isFirewall } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { ownedRules } from '../../machines/status/restore-routedip.ts';
import { nameOf } from './firewall-served.ts';
import type { OperatorProcess, World } from './world.ts';

/** What tells whoever leads next what the operator has added to firewalls: the records in the store, and statuses, which name it before it is added while there is no store. */
export class FirewallKnown {
  readonly #world: World;
  readonly #statuses: () => Iterable<readonly [ActorId, unknown]>;
  /** When some of that was lost last, virtual ms. */
  #lostAt = Number.NEGATIVE_INFINITY;

  /** `statuses`: of the RoutedIPs that are there. */
  constructor(world: World, statuses: () => Iterable<readonly [ActorId, unknown]>) {
    this.#world = world;
    this.#statuses = statuses;
  }

  /** All records are lost, or the status of a RoutedIP that somebody let go at once. */
  lose(): void {
    this.#lostAt = this.#world.clock.monotonic();
  }

  /** `by`: in the status of that one alone. */
  shownIn(firewall: string, by: ActorId | null = null): readonly string[] {
    const statuses = [...this.#statuses()].flatMap(([cell, status]) => (by === null || cell === by ? [status] : []));
    const rules = statuses.flatMap(ownedRules).filter((each) => nameOf(each.firewall) === firewall);
    return rules.flatMap(({ owned }) => [...owned.ports, ...owned.nodes]);
  }

  storedIn(firewall: string): readonly string[] {
    const cells = [...this.#world.store.checkpoint().data.cells].filter(([cell]) => isFirewall(cell) && nameOf(cell) === firewall);
    return cells.flatMap(([, cell]) => [...cell.records.values()].map(({ json }): ActorRecord => JSON.parse(json))).flatMap(ownedIn);
  }

  /** The operator takes it for its own: nobody could tell that somebody else has added it. */
  isOwn(firewall: string, item: string): boolean {
    return [this.shownIn(firewall), this.storedIn(firewall), this.#rememberedIn(firewall)].some((items) => items.includes(item));
  }

  /** Whoever leads without the store, and began so, knows what he remembers and what statuses say. What only the store tells goes once that is back. */
  isKnownNow(firewall: string, item: string): boolean {
    if (!this.#leader?.store.isFleeting?.()) return true;
    return this.#rememberedIn(firewall).includes(item) || this.shownIn(firewall).includes(item);
  }

  /** One leads with the store beside one that leads without it, as happens only after the Lease was deleted: each hears nothing of what the other adds, and writes statuses
   *  over those of the other. */
  isLedTwice(): boolean {
    const leading = this.#world.processes.filter(({ supervisor }) => supervisor.leading);
    return new Set(leading.map(({ store }) => store.isFleeting?.() ?? false)).size > 1;
  }

  /** What was sent to add something before that may arrive when nobody knows of it any more. */
  knowsCall(firewall: string): boolean {
    const writes = this.#world.provider.writes();
    const sent = writes.findLast(({ verb, args }) => verb.startsWith('addRoutedIPFirewall') && args[0] === firewall);
    return sent === undefined || sent.at > this.#lostAt;
  }

  get #leader(): OperatorProcess | undefined {
    return this.#world.processes.find(({ supervisor }) => supervisor.leading);
  }

  /** By whoever leads. */
  #rememberedIn(firewall: string): readonly string[] {
    const cells = [...(this.#leader?.supervisor.records() ?? [])].filter(([cell]) => isFirewall(cell) && nameOf(cell) === firewall);
    return cells.flatMap(([, records]) => [...records.values()]).flatMap(ownedIn);
  }
}

function ownedIn({ snapshot }: ActorRecord): readonly string[] {
  const { owned } = snapshot.context as unknown as FirewallContext;
  return [...owned.ports, ...owned.nodes];
}
