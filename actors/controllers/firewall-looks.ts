import type { FirewallContext } from '../../machines/firewall/context.ts';
import { isUnused } from '../../machines/firewall/decisions.ts';
import { isWatched } from '../../machines/firewall/drift.ts';
import { firewallOf, isFirewall } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import type { Log } from '../ports/observers.ts';
import type { ActorRecord } from '../ports/records.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import { firewallBegin } from '../runtime/shared-state.ts';
import { isHalted } from './annotations.ts';
import { firewallNews, versionsOf } from './drift.ts';
import type { ObservedPools } from './pool-cache.ts';
import { claimantsOf } from './record-view.ts';

export interface FirewallLooksPorts {
  readonly cells: Cells;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly log: Log;
}

/** Checks firewalls along with the lists of addresses. */
export class FirewallLooks {
  readonly #ports: FirewallLooksPorts;

  constructor(ports: FirewallLooksPorts) {
    this.#ports = ports;
  }

  /** Sends the firewalls of a provider what they lack: by one list call, when anything is needed in any. Firewalls that Jobs drive cannot be listed. */
  async look(name: string): Promise<void> {
    const { cells, providers, log } = this.#ports;
    const provider = providers.all[name]?.provider ?? null;
    const firewalls = this.#firewallsOf(name);
    if (!provider?.capabilities.firewalls || provider.jobs?.firewalls || firewalls.length === 0) return;
    const versions = versionsOf(firewalls.map(([id]) => cells.recordsOf(id)));
    try {
      const names = firewalls.map(([id]) => firewallOf(id).name).sort();
      const listed = await provider.listRoutedIPFirewalls(names, { purpose: 'verify' });
      for (const { to, found } of firewallNews(this.#firewallsOf(name), listed, versions))
        cells.tell(to, { type: 'FIREWALL_OBSERVED', found });
    } catch (error) {
      log.info('the firewalls of a provider could not be read; the next verification makes up for it', {
        provider: name,
        error: String(error),
      });
    }
  }

  /** Nothing is claimed in it or ours, and no status says otherwise: a new cell would begin with what that says. */
  isUnused(id: ActorId): boolean {
    const { cells, pools } = this.#ports;
    const context = isFirewall(id) ? cells.recordsOf(id)?.get(id)?.snapshot.context : undefined;
    if (!context || !isUnused(context as unknown as FirewallContext)) return false;
    const { claims = {}, owned } = firewallBegin(id, pools.all, (cell) => cells.recordsOf(cell));
    return Object.keys(claims).length + (owned?.ports.length ?? 0) + (owned?.nodes.length ?? 0) === 0;
  }

  /** Firewalls in which something is open, except those whose claimants are all paused: nothing is put back for them. */
  #firewallsOf(name: string): readonly (readonly [ActorId, ActorRecord])[] {
    const { cells } = this.#ports;
    return [...cells.all.keys()]
      .filter((id) => isFirewall(id) && firewallOf(id).provider === name)
      .flatMap((id) => {
        const record = cells.recordsOf(id)?.get(id);
        if (!record || !isWatched(record.snapshot.context as unknown as FirewallContext)) return [];
        return claimantsOf(record).every((cell) => this.#isHalted(cell)) ? [] : [[id, record] as const];
      });
  }

  #isHalted(cell: ActorId): boolean {
    const object = this.#ports.pools.all.get(cell);
    return object !== undefined && isHalted(object);
  }
}
