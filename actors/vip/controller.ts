import type { ActorId, Address } from '../../machines/model/types.ts';
import { gives, located, parseGroup } from '../../machines/vip/ip-group.ts';
import { ipNameOf, type ReservedIP } from '../../machines/vip/objects.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import type { Leadership } from '../ports/leadership.ts';
import type { LegacyKinds } from '../ports/migration.ts';
import type { Namespaces } from '../ports/namespaces.ts';
import type { Log, Observer } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import type { VipSource, VipWriter } from '../ports/vip.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import type { Watched } from '../status/watchdog-log.ts';
import { VipAnnouncer } from './events.ts';
import type { GroupFigures } from './group-index.ts';
import { Regrouping } from './group-labels.ts';
import { GroupProjector } from './group-status.ts';
import { vipListener, virtualIPListener } from './listener.ts';
import { VirtualIPDesk } from './migration-controller.ts';
import { VirtualIPProjector } from './migration-status.ts';
import { ObservedVips } from './object-cache.ts';
import type { RoutedIPOf } from './routedip-allocation.ts';
import { VipDesk } from './service-allocation.ts';
import { UnshownWrites } from './stale-watch.ts';

/** Access to the kinds that get addresses. */
export interface VipKinds {
  readonly source: VipSource;
  readonly writer: VipWriter;
  /** Absent when VirtualIPs are not handled. */
  readonly virtualIPs?: LegacyKinds;
  /** Whether jobs for them may be taken yet; absent for always. Once true it stays so. */
  readonly mayAct?: () => boolean;
}

export interface VipsPorts {
  /** Undefined when no Services are served. */
  readonly kinds: VipKinds | undefined;
  readonly writer: ClusterWriter;
  readonly leadership: Pick<Leadership, 'lease'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Absent where their labels are not watched. */
  readonly namespaces?: Namespaces;
  /** Allocation for the term under which this process leads; null while it does not. */
  readonly desk: () => VipDesk | null;
}

/** Services with IPGroup addresses, and the VirtualIPs migrated to such, as one process observes and shows them, whether it leads or not. */
export class Vips {
  /** Report what happened to the address of a Service, and of a VirtualIP. */
  readonly observers: readonly Observer[];
  readonly #announcer: VipAnnouncer;
  readonly #unshown: UnshownWrites | null;
  readonly #ports: VipsPorts;
  readonly #seen = new ObservedVips();
  readonly #groups: GroupProjector;
  readonly #labels: Regrouping | null;
  readonly #projector: VirtualIPProjector | null;

  constructor(ports: VipsPorts) {
    this.#ports = ports;
    const { kinds, writer: events, desk } = ports;
    const groups = () => desk()?.groups() ?? [];
    this.#groups = new GroupProjector({ ...ports, groups, contended: () => desk()?.contended() ?? new Map() });
    this.#labels = kinds ? new Regrouping({ ...ports, seen: this.#seen, writer: kinds.writer, groups }) : null;
    const virtualIPs = kinds?.virtualIPs;
    const contextOf = (key: string) => desk()?.virtualIPs?.contextOf(key) ?? null;
    this.#projector = virtualIPs ? new VirtualIPProjector({ ...ports, writer: virtualIPs.writer, events, contextOf }) : null;
    this.#announcer = new VipAnnouncer(events, this.#groups.request);
    this.#unshown = kinds ? new UnshownWrites({ ...ports, seen: this.#seen, source: kinds.source }) : null;
    this.observers = [this.#announcer, this.#unshown, this.#projector].filter((observer) => observer !== null);
  }

  /** Resolves when the initial lists are complete, or their kinds are known to be absent. */
  async start(): Promise<void> {
    const { kinds, desk } = this.#ports;
    await Promise.all([
      kinds?.source.start(vipListener(this.#seen, desk, { groupsChanged: () => this.show(), usageChanged: this.#groups.request })),
      kinds?.virtualIPs?.source.start(virtualIPListener(this.#seen, desk)),
    ]);
  }

  /** What chooses and reports addresses for one term. */
  deskFor(cells: Cells, routedIP: RoutedIPOf): VipDesk {
    const { kinds, clock, log, namespaces } = this.#ports;
    const seen = this.#seen;
    const reader = kinds?.virtualIPs?.writer;
    const differs = (key: string): void => this.#projector?.show(key);
    const virtualIPs = reader ? new VirtualIPDesk({ seen, reader, cells, clock, log, differs }) : null;
    return new VipDesk({ seen, cells, virtualIPs, routedIP, announcer: this.#announcer, namespaces });
  }

  /** Sends everything again. */
  resync(): void {
    this.#ports.kinds?.source.resync();
    this.#ports.kinds?.virtualIPs?.source.resync();
    this.#ports.desk()?.resync();
    this.#labels?.request();
  }

  /** The Services that request an address of a group, or have one to give back, and the VirtualIPs. */
  *watched(): Iterable<readonly [ActorId, Watched]> {
    const isServed = this.#seen.groups.size > 0;
    for (const [id, { ref, deleting, wanting, guarded }] of this.#seen.services)
      if ((isServed && wanting) || guarded) yield [id, { ref, generation: null, deleting }];
    for (const [id, { ref }] of this.#seen.virtualIPs) yield [id, { ref, generation: null, deleting: false }];
  }

  /** Address counts of each usable group; none while this process does not lead. */
  figures(): readonly ({ readonly name: string } & GroupFigures)[] {
    const groups = this.#ports.desk()?.groups() ?? [];
    return groups.flatMap(({ object, figures }) => (figures ? [{ name: object.ref.name, ...figures }] : []));
  }

  /** Display name of the object for which an address is reserved, or of the IPGroup that may give it, as observed now; null for neither. */
  claimants(): (address: Address) => string | null {
    const groups = [...this.#seen.groups.values()]
      .map(({ ref, spec }) => parseGroup(ref.name, spec))
      .filter((group) => group.kind === 'Valid');
    return (address) => {
      const ip = this.#seen.ips.get(ipNameOf(address));
      if (ip) return ip.owner ? `${ownerKind(ip)} ${ip.owner.namespace}/${ip.owner.name}` : `IP ${ip.name}`;
      const at = located(address);
      const group = groups.find((each) => gives(each, at));
      return group ? `IPGroup ${group.name}` : null;
    };
  }

  isReserved(address: Address): boolean {
    return this.#seen.ips.has(ipNameOf(address));
  }

  /** Updates the status of groups, and the group label of each IP. */
  show(): void {
    this.#groups.request();
    this.#labels?.request();
  }

  async close(): Promise<void> {
    this.#unshown?.close();
    await this.#ports.kinds?.source.close();
    await this.#ports.kinds?.virtualIPs?.source.close();
  }
}

const ownerKind = ({ reclaim, legacy }: ReservedIP): string => (reclaim ? 'RoutedIP' : legacy ? 'VirtualIP' : 'Service');
