import { isKnown, NOTHING_AROUND, type VirtualIPContext, type VirtualIPObserved } from '../../machines/migration/decisions.ts';
import { cloneOfVirtualIP } from '../../machines/migration/observe.ts';
import { isVirtualIP } from '../../machines/model/actor-id.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { virtualIPStatus } from '../../machines/status/virtual-ip.ts';
import { ipNameOf, type ReservedIP } from '../../machines/vip/objects.ts';
import { CLONE_FINALIZER, IP_FINALIZER, type VirtualIP, type VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import type { MigrationWriter, Place } from '../ports/migration.ts';
import { type Log, objectName } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import { Looks } from '../runtime/work-queue.ts';
import type { ObservedVips } from './object-cache.ts';
import { lookAround } from './observe-migration.ts';

export interface VirtualIPDeskPorts {
  readonly seen: ObservedVips;
  readonly reader: Pick<MigrationWriter, 'service'>;
  readonly cells: Pick<Cells, 'all' | 'begin' | 'isOpen' | 'tell' | 'recordsOf'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The VirtualIP's status differs from the desired one. */
  readonly differs: (key: ActorId) => void;
}

/** Concurrent looks: each is two requests. */
const LOOKS_AT_ONCE = 8;

/** Delay after a failed look, ms. */
const AGAIN_MS = 5_000;

/** Sends the actors of VirtualIPs, for one term of leadership, the objects and what surrounds them. */
export class VirtualIPDesk {
  readonly #ports: VirtualIPDeskPorts;
  readonly #looks = new Looks((key) => this.#look(key), LOOKS_AT_ONCE);
  /** Uids of VirtualIPs for which nothing is left to do, while they are still observed. */
  readonly #ended = new Map<ActorId, string>();

  constructor(ports: VirtualIPDeskPorts) {
    this.#ports = ports;
  }

  /** All VirtualIPs and what surrounds them are known: from now on their actors are notified. May be called again. */
  open(): void {
    if (!this.#isOpen) return;
    for (const key of this.#ports.cells.all.keys()) if (isVirtualIP(key)) this.changed(key);
    this.resync();
  }

  /** Looks at all again. One that still exists after its end was not found when it was released: its kind was not served. */
  resync(): void {
    this.#ended.clear();
    this.#lookAt(() => true);
  }

  /** The VirtualIP has changed, or is gone. */
  changed(key: ActorId): void {
    if (!this.#isOpen) return;
    const vip = this.#ports.seen.virtualIPs.get(key);
    if (vip?.ref.uid !== this.#ended.get(key)) this.#ended.delete(key);
    if (vip) this.#looks.request(key);
    else if (this.#ports.cells.all.has(key)) this.#tell(key, { type: 'VIRTUAL_IP_OBSERVED', vip: null, around: NOTHING_AROUND });
  }

  /** Something of the Service has changed. */
  serviceTouched({ namespace, name }: Place): void {
    this.#lookAt((vip) => {
      const names = [vip.service, vip.status.service, cloneOfVirtualIP(vip)];
      return vip.ref.namespace === namespace && names.includes(name);
    });
  }

  ipChanged(ip: ReservedIP): void {
    this.#lookAt((vip) => parseAddress(vip.status.ip) === ip.address);
  }

  /** The actor has ended: nothing is left of it. It may still be observed for a moment, and another one may get its name. */
  ended(key: ActorId, uid: string | null): void {
    const vip = this.#ports.seen.virtualIPs.get(key);
    if (vip?.ref.uid === uid) this.#ended.set(key, vip.ref.uid);
    this.changed(key);
  }

  /** Context of its record; null before the first look. */
  contextOf(key: ActorId): VirtualIPContext | null {
    const context = this.#ports.cells.recordsOf(key)?.get(key)?.snapshot.context as unknown as VirtualIPContext | undefined;
    return context?.ref ? context : null;
  }

  get #isOpen(): boolean {
    const { seen, cells } = this.#ports;
    return seen.synced && seen.virtualIPsSynced && cells.isOpen;
  }

  #lookAt(concerns: (vip: VirtualIP) => boolean): void {
    if (!this.#isOpen) return;
    for (const [key, vip] of this.#ports.seen.virtualIPs) if (concerns(vip)) this.#looks.request(key);
  }

  /** Only the present state is sent: a VirtualIP requested meanwhile is read once more. */
  async #look(key: ActorId): Promise<void> {
    const { seen, reader, clock, log } = this.#ports;
    const vip = seen.virtualIPs.get(key);
    if (!vip || !this.#isOpen || this.#isPast(key, vip)) return;
    try {
      const groups = [...seen.groups.values()].map(({ ref, spec }) => ({ name: ref.name, spec }));
      const address = parseAddress(vip.status.ip);
      const ip = (address && seen.ips.get(ipNameOf(address))) ?? null;
      const around = await lookAround(reader, vip, { ip, groups });
      if (this.#isOpen && seen.virtualIPs.get(key) === vip) this.#tell(key, { type: 'VIRTUAL_IP_OBSERVED', vip, around });
    } catch (error) {
      log.warn('a VirtualIP could not be looked at', {
        object: objectName(vip.ref),
        error: error instanceof Error ? error.message : String(error),
      });
      clock.after(AGAIN_MS, () => this.changed(key));
    }
  }

  /** Nothing is left to do for it: it only waits for others to release it. */
  #isPast(key: ActorId, { ref, deleting, finalizers }: VirtualIP): boolean {
    if (this.#ports.cells.all.has(key)) return false;
    const isBare = !finalizers.includes(IP_FINALIZER) && !finalizers.includes(CLONE_FINALIZER);
    return this.#ended.get(key) === ref.uid || (deleting && isBare);
  }

  #tell(key: ActorId, fact: Omit<VirtualIPObserved, 'at'>): void {
    const { cells, differs } = this.#ports;
    if (!cells.all.has(key)) cells.begin('virtual-ip', key, { id: key });
    const context = this.contextOf(key);
    if (context === null || !isKnown(context, { ...fact, at: 0 })) cells.tell(key, fact);
    if (context && fact.vip && !isSameStatus(virtualIPStatus(context), fact.vip.status)) differs(key);
  }
}

const isSameStatus = (one: VirtualIPStatus, other: VirtualIPStatus): boolean =>
  Object.entries(one).every(([member, text]) => other[member as keyof VirtualIPStatus] === text);
