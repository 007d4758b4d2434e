import type { Fence } from '../../actors/ports/fence.ts';
import type { VipListener, VipSource, VipWriter } from '../../actors/ports/vip.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { IPGroupObject, ReservedIP, VipService } from '../../machines/vip/objects.ts';

export interface ServiceSpec {
  readonly type?: string;
  readonly loadBalancerIP?: string;
  readonly requestedIP?: string;
  readonly pinnedGroup?: string;
}

/** A cluster as a test and the operator have it. */
export interface VipHarness {
  /** Whether a Service that leaves type LoadBalancer loses its ingress. */
  readonly wipesIngress: boolean;
  readonly writer: VipWriter;
  /** A source of its own, which ends with the test. */
  source(): VipSource;
  createService(name: string, spec?: ServiceSpec): Promise<ObjectRef>;
  setType(ref: ObjectRef, type: string): Promise<void>;
  setIngress(ref: ObjectRef, ingress: VipService['ingress']): Promise<void>;
  /** Asks for the deletion: it goes once nothing holds it. */
  deleteService(ref: ObjectRef): Promise<void>;
  /** Finalizers of others are put beside ours, or all are taken off. */
  setFinalizers(ref: ObjectRef, finalizers: readonly string[]): Promise<void>;
  finalizers(ref: ObjectRef): Promise<readonly string[]>;
  setGroup(name: string, spec: { readonly segment: string; readonly excludedIPs: readonly string[] }): Promise<void>;
  removeGroup(name: string): Promise<void>;
  /** As the allocator of before, or an administrator, left it: without the uid of its owner. */
  createIP(name: string, owner: string, label?: 'ipgroup' | 'gsm'): Promise<void>;
  removeIP(name: string): Promise<void>;
  /** Name → owner, of the IPs that there are. */
  ips(): Promise<Readonly<Record<string, string>>>;
}

/** A fence that counts, and refuses from when it is closed. */
export class TestFence implements Fence {
  reads = 0;
  asserted = 0;
  closed: Error | null = null;

  async read(): Promise<void> {
    this.reads += 1;
  }

  assertFresh(): void {
    if (this.closed !== null) throw this.closed;
    this.asserted += 1;
  }
}

/** Keeps what a source tells. */
export class VipRecorder implements VipListener {
  readonly services = new Map<string, VipService>();
  readonly groups = new Map<string, IPGroupObject>();
  readonly ips = new Map<Address, ReservedIP>();
  readonly told: string[] = [];
  synced = 0;

  serviceObserved(service: VipService): void {
    this.told.push(`service ${service.ref.name}`);
    this.services.set(service.ref.name, service);
  }

  serviceGone(ref: ObjectRef): void {
    this.told.push(`service gone ${ref.name} ${ref.uid}`);
    this.services.delete(ref.name);
  }

  groupObserved(group: IPGroupObject): void {
    this.told.push(`group ${group.ref.name}`);
    this.groups.set(group.ref.name, group);
  }

  groupGone(ref: ObjectRef): void {
    this.told.push(`group gone ${ref.name}`);
    this.groups.delete(ref.name);
  }

  ipObserved(ip: ReservedIP): void {
    this.told.push(`ip ${ip.name}`);
    this.ips.set(ip.address, ip);
  }

  ipGone(ip: ReservedIP): void {
    this.told.push(`ip gone ${ip.name}`);
    this.ips.delete(ip.address);
  }

  vipsSynced(): void {
    this.told.push('synced');
    this.synced += 1;
  }
}
