import type { Json } from '../../../actors/ports/records.ts';
import type { MemoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { asOwner, type VipService } from '../../../machines/vip/objects.ts';
import { JobsWorld, type JobsWorldOptions, OLD, YOUNG } from '../kubernetes-jobs/world.ts';

/** RoutedIPs of a class whose Jobs assign addresses of the IPGroup `edge`, which has 192.0.2.1 and 192.0.2.2 to give; and Services. */
export class GroupWorld extends JobsWorld {
  readonly #refs = new Map<string, ObjectRef>();

  constructor({ vips = {}, ...options }: JobsWorldOptions = {}) {
    super({ ...options, vips: { routedIP: (place) => this.#asOwner(place.namespace, place.name), ...vips } });
    this.jobs.platform.takesAny = true;
    this.setNode(OLD, YOUNG);
  }

  get k8s(): MemoryVipCluster {
    if (!this.vips) throw new Error('no IPGroups are served here');
    return this.vips;
  }

  group(excludedIPs: readonly string[] = ['192.0.2.0', '192.0.2.3'], segment = '192.0.2.0/30', name = 'edge'): void {
    this.k8s.setGroup(name, { segment, excludedIPs });
  }

  groupClass(change: { readonly [field: string]: Json } = {}): ObjectRef {
    return this.jobClass({ ipGroup: 'edge', routedIPFirewallName: '', perNodeIPLimit: 10, routedIPReclaimPolicy: 'Delete', ...change });
  }

  /** A RoutedIP for a Service of its name that is on both nodes. */
  wants(name: string, change: { readonly [field: string]: Json } = {}): ObjectRef {
    this.setWeb(name, ['old', 'young']);
    const ref = this.setRoutedIP(name, change);
    this.#refs.set(name, ref);
    return ref;
  }

  /** The user deletes it: it goes when all is undone. */
  deleted(ref: ObjectRef): Promise<number> {
    this.cluster.markDeleting(ref);
    return this.clock.runUntil(() => this.cluster.pool(ref) === null, 60_000);
  }

  /** Somebody takes the finalizer off a RoutedIP that is deleted while nobody runs, and the records with it. */
  async forceAway(ref: ObjectRef): Promise<void> {
    for (const process of this.processes) process.kill();
    this.store.wipe();
    this.cluster.removePool(ref);
    await this.operator();
  }

  addressOf(ref: ObjectRef): string {
    const { routedIP = '' } = this.statusOf(ref);
    return String(routedIP);
  }

  /** Address → who has it, of all IPs that stand. */
  reserved(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.k8s.ips().map(({ address, owner, reclaim }) => [address, `${reclaim ? 'RoutedIP ' : ''}${owner?.namespace}/${owner?.name}`]),
    );
  }

  told({ uid }: ObjectRef): readonly string[] {
    const projected = this.cluster.projections.filter(({ ref }) => ref.uid === uid).flatMap(({ events }) => events);
    const announced = this.cluster.announced.filter(({ about }) => about.uid === uid).map(({ event }) => event);
    return [...projected, ...announced].map(({ reason, message }) => `${reason}: ${message}`);
  }

  #asOwner(namespace: string, name: string): VipService | null {
    const ref = this.#refs.get(name);
    const pool = ref && namespace === 'web' ? this.cluster.pool(ref) : null;
    return pool && asOwner(pool);
  }
}
