import type { ActorRecord } from '../../actors/ports/records.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { nameOf } from './firewall-served.ts';
import type { World } from './world.ts';

/** Firewalls as they were told last. When all records are lost, a leader whose memory is whole goes on from that: what is claimed by then stands, and is not told again.
 *  One that rebuilds knows nothing of it. */
export class FirewallTold {
  readonly #world: World;
  /** As they were when the records were lost; those that were heard of since left out. */
  readonly #before = new Map<ActorId, ActorRecord>();
  #lostAt = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The records are about to be lost. */
  forget(): void {
    for (const [actor, record] of this.#all()) this.#before.set(actor, record);
    this.#lostAt = this.#world.log.length;
  }

  told(actor: ActorId): void {
    this.#before.delete(actor);
  }

  /** Others wait for a change of the firewall. */
  isAwaited(firewall: string, cell: ActorId): boolean {
    return this.#named(firewall).some(({ waiting }) => Object.keys(waiting).some((claimant) => cellOf(claimant) !== cell));
  }

  /** Ports and nodes that others claim. */
  claimedByOthers(firewall: string, cell: ActorId): readonly string[] {
    return this.#named(firewall)
      .flatMap(({ claims }) => Object.entries(claims))
      .filter(([claimant]) => !claimant.startsWith(`${cell}/`))
      .flatMap(([, { nodes, ports }]) => [...ports, ...nodes.map(({ providerID }) => providerID)]);
  }

  #named(firewall: string): readonly FirewallContext[] {
    const named = [...this.#all()].filter(([actor]) => nameOf(actor) === firewall);
    return named.map(([, { snapshot }]) => snapshot.context as unknown as FirewallContext);
  }

  #all(): ReadonlyMap<ActorId, ActorRecord> {
    const led = this.#world.log.slice(this.#lostAt).filter(({ message }) => message === 'leads');
    if (led.some(({ fields }) => (fields as { readonly begins: string }).begins === 'rebuild')) this.#before.clear();
    const seen = [...this.#world.invariants.records].filter(([, { chart }]) => chart === 'firewall');
    return new Map([...this.#before, ...seen]);
  }
}
