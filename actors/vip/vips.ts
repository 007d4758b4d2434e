import type { ClusterWriter } from '../ports/cluster.ts';
import type { VipSource } from '../ports/vip.ts';
import type { Clock, Observer } from '../ports.ts';
import { vipAnnouncer } from './announcer.ts';
import type { VipDesk } from './desk.ts';
import { GroupProjector } from './group-projector.ts';
import { vipListener } from './listener.ts';
import { ObservedVips } from './observed.ts';

export interface VipsPorts {
  /** Absent when no Services are served. */
  readonly source: VipSource | undefined;
  readonly writer: ClusterWriter;
  readonly clock: Clock;
  /** Of the term under which this process leads; null while it does not. */
  readonly desk: () => VipDesk | null;
}

/** Services with addresses of IPGroups, as one process sees and shows them, whether it leads or not. */
export class Vips {
  readonly seen = new ObservedVips();
  /** Tells people what became of the address of a Service. */
  readonly announcer: Observer;
  readonly #ports: VipsPorts;
  readonly #groups: GroupProjector;

  constructor(ports: VipsPorts) {
    this.#ports = ports;
    this.announcer = vipAnnouncer(ports.writer);
    this.#groups = new GroupProjector({ ...ports, groups: () => ports.desk()?.groups() ?? [] });
  }

  /** Resolves when all is told, or is known not to be there. */
  async start(): Promise<void> {
    const { source, desk } = this.#ports;
    await source?.start(vipListener(this.seen, desk, () => this.show()));
  }

  /** Tells everything again. */
  resync(): void {
    this.#ports.source?.resync();
    this.#ports.desk()?.resync();
  }

  /** Shows how the groups are. */
  show(): void {
    this.#groups.request();
  }

  async close(): Promise<void> {
    await this.#ports.source?.close();
  }
}
