import { contains, located, type ParsedGroup } from '../../machines/vip/ip-group.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import { Fenced } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { VipWriter } from '../ports/vip.ts';
import { coalesced } from '../runtime/debounce.ts';
import { Looks } from '../runtime/work-queue.ts';
import type { GroupView } from './group-status.ts';
import { type LeaderFencePorts, leaderFence } from './leader-fence.ts';
import type { ObservedVips } from './object-cache.ts';

export interface RegroupingPorts extends LeaderFencePorts {
  readonly seen: Pick<ObservedVips, 'ips'>;
  readonly writer: Pick<VipWriter, 'regroup'>;
  readonly log: Log;
  /** Empty while this process does not lead. */
  readonly groups: () => readonly GroupView[];
}

/** Renaming a group deletes one and creates another: handled together within this time, ms. */
const COALESCE_MS = 500;
const WRITES_AT_ONCE = 8;

/** Relabels each IP whose named group no longer has its address, since that is gone, has shrunk or was recreated by another name, with the IPGroup that has it. Where none has
 *  it the label stays. Failed writes are retried on resync. */
export class Regrouping {
  readonly #ports: RegroupingPorts;
  readonly #writes = new Looks((name) => this.#write(name), WRITES_AT_ONCE);
  /** Some labels may be out of date. */
  readonly request: () => void;

  constructor(ports: RegroupingPorts) {
    this.#ports = ports;
    this.request = coalesced(ports.clock, COALESCE_MS, () => this.#requestAll());
  }

  #requestAll(): void {
    const groups = this.#groups();
    if (groups.length === 0) return;
    for (const ip of this.#ports.seen.ips.values()) if (homeOf(ip, groups) !== null) this.#writes.request(ip.name);
  }

  async #write(name: string): Promise<void> {
    const { seen, writer, log } = this.#ports;
    const ip = seen.ips.get(name);
    const home = ip ? homeOf(ip, this.#groups()) : null;
    if (!ip || home === null) return;
    try {
      await writer.regroup(
        ip,
        home,
        leaderFence(this.#ports, `IP ${name}`, () => this.#groups().length > 0),
      );
    } catch (error) {
      if (!(error instanceof Fenced))
        log.warn('an IP could not be given the label of its IPGroup yet', { object: `IP ${name}`, error: String(error) });
    }
  }

  /** Usable groups, by name. */
  #groups(): readonly ParsedGroup[] {
    const usable = this.#ports.groups().flatMap(({ object, group }) => (group.kind === 'Invalid' || object.deleting ? [] : [group]));
    return usable.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

/** The group whose label the IP needs; null when its label is right, or there is no such group. An IP of a VirtualIP has a label of another kind. */
function homeOf({ address, owner, legacy, group }: ReservedIP, groups: readonly ParsedGroup[]): string | null {
  if (owner === null || legacy) return null;
  const at = located(address);
  const homes = groups.filter((each) => contains(each, at));
  return homes.some(({ name }) => name === group) ? null : (homes[0]?.name ?? null);
}
