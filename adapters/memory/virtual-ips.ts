import type { Probe } from '../../actors/ports/observers.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import type { VirtualIP, VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import { serviceKey, type VipWorld } from './vip-world.ts';
import { type ProcessVirtualIPs, processVirtualIPs } from './virtual-ip-process.ts';
import { NO_STATUS, virtualIPWorld } from './virtual-ip-world.ts';

/** VirtualIPs and GroupSegmentMappings in memory: simulates only the API server. Names are in the namespace `default`. */
export interface MemoryVirtualIPs {
  /** VirtualIPs as one process sees and writes them. */
  process(options?: { readonly probe?: Probe }): ProcessVirtualIPs;
  /** Creates or changes one. */
  set(vip: {
    readonly name: string;
    readonly service: string;
    readonly ip?: string;
    readonly finalizers?: readonly string[];
    readonly status?: Partial<VirtualIPStatus>;
  }): ObjectRef;
  /** Its user requests the migration, or withdraws the request. */
  annotate(name: string, asked?: boolean): void;
  /** Requests the deletion: it disappears once it has no finalizer. */
  remove(name: string): void;
  find(name: string): VirtualIP | null;
  all(): readonly VirtualIP[];
  setMapping(name: string, spec: unknown): void;
  /** Installs or removes the CRDs. */
  serve(served: boolean): void;
}

export const memoryVirtualIPs = (world: VipWorld): MemoryVirtualIPs => {
  const legacy = virtualIPWorld(world);
  const namespace = 'default';
  const find = (name: string): VirtualIP | null => legacy.vips.get(serviceKey({ namespace, name })) ?? null;
  const change = (name: string, changed: Partial<VirtualIP>): void => {
    const vip = find(name);
    if (vip === null) throw new Error(`there is no VirtualIP ${name}`);
    legacy.put({ ...vip, ...changed });
  };
  return {
    process: ({ probe } = {}) => processVirtualIPs(world, legacy, probe),
    set: ({ name, service, ip = '', finalizers, status }) => {
      const before = find(name);
      const ref = before?.ref ?? { kind: 'VirtualIP', namespace, name, uid: world.uid() };
      const fresh = { ref, deleting: false, asked: false, finalizers: [], status: NO_STATUS };
      const base = before ?? fresh;
      legacy.put({ ...base, service, ip, finalizers: finalizers ?? base.finalizers, status: { ...base.status, ...status } });
      return ref;
    },
    annotate: (name, asked = true) => change(name, { asked }),
    remove: (name) => change(name, { deleting: true }),
    find,
    all: () => [...legacy.vips.values()],
    setMapping: (name, spec) => void legacy.mappings.set(name, spec),
    serve: (served) => {
      legacy.served = served;
      if (!served) return;
      const missed = legacy.missed.splice(0);
      for (const watch of legacy.watches) {
        for (const ref of missed) watch.hear((told) => told.virtualIPGone(ref));
        watch.tellAll();
      }
    },
  };
};
