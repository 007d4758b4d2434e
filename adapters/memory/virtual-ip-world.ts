import type { LiveIP, LiveService, LiveVirtualIP, VirtualIPListener } from '../../actors/ports/migration.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import type { VirtualIP, VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import { type StoredService, serviceKey, type VipWorld } from './vip-world.ts';

/** The legacy kinds around VirtualIPs, shared by the processes. */
export interface VirtualIPWorld {
  readonly vips: Map<string, VirtualIP>;
  readonly mappings: Map<string, unknown>;
  /** By uid of the IP: the GroupSegmentMapping that it was taken from. */
  readonly gsms: Map<string, string>;
  /** By uid of a copy: the uid of the VirtualIP that owns it. Kubernetes deletes objects whose owner is gone. */
  readonly owners: Map<string, string>;
  collectGarbage(): void;
  /** VirtualIPs deleted while the CRDs were not installed: a relist shows that they are gone. */
  readonly missed: ObjectRef[];
  readonly watches: Set<{ hear(tell: (listener: VirtualIPListener) => void): void; tellAll(): void }>;
  /** Whether the CRDs are installed. */
  served: boolean;
  /** Stores a VirtualIP like the API server, and reports it. */
  put(vip: VirtualIP): void;
  /** The resourceVersion of a live object: a new one after each write. */
  versionOf(object: object): string;
  liveVirtualIP(vip: VirtualIP): LiveVirtualIP;
  liveService(service: StoredService): LiveService;
  liveIP(ip: ReservedIP): LiveIP;
  find(ref: ObjectRef): VirtualIP | null;
}

export const NO_STATUS: VirtualIPStatus = { state: '', message: '', ip: '', service: '', keepalivedGroup: '', gsm: '', clonedService: '' };

const COLLECTS_AFTER_MS = 1_000;

export const virtualIPWorld = (world: VipWorld): VirtualIPWorld => {
  const versions = new WeakMap<object, string>();
  let written = 0;
  const tellAll = (tell: (listener: VirtualIPListener) => void): void => {
    if (self.served) for (const watch of self.watches) watch.hear(tell);
  };
  world.touched.add((place) => tellAll((listener) => listener.serviceTouched(place)));
  const self: VirtualIPWorld = {
    vips: new Map(),
    mappings: new Map(),
    gsms: new Map(),
    owners: new Map(),
    collectGarbage: () =>
      void world.options.clock.after(COLLECTS_AFTER_MS, () => {
        const there = new Set([...self.vips.values()].map(({ ref }) => ref.uid));
        for (const service of [...world.services.values()]) {
          const owner = self.owners.get(service.ref.uid);
          if (owner !== undefined && !there.has(owner)) world.putService({ ...service, deleting: true });
        }
      }),
    missed: [],
    watches: new Set(),
    served: true,
    put: (vip) => {
      const key = serviceKey(vip.ref);
      const isGone = vip.deleting && vip.finalizers.length === 0;
      if (isGone) self.vips.delete(key);
      else self.vips.set(key, vip);
      if (isGone && !self.served) self.missed.push(vip.ref);
      world.options.changed?.({ kind: 'VirtualIP', after: isGone ? null : vip });
      if (isGone) self.collectGarbage();
      tellAll((listener) => (isGone ? listener.virtualIPGone(vip.ref) : listener.virtualIPObserved(vip)));
    },
    versionOf: (object) => {
      const known = versions.get(object);
      if (known !== undefined) return known;
      written += 1;
      versions.set(object, String(written));
      return String(written);
    },
    liveVirtualIP: (vip) => ({ ...vip, version: self.versionOf(vip) }),
    liveService: (service) => {
      const { ref, ingress, type, loadBalancerIP, more } = service;
      const { labels = {}, annotations = {}, owners = [], spec = {} } = more ?? {};
      const asked = loadBalancerIP === '' ? {} : { loadBalancerIP };
      const { namespace, name, uid } = ref;
      return {
        namespace,
        name,
        uid,
        labels,
        annotations,
        owners,
        spec: { ...spec, type, ...asked },
        ingress,
        version: self.versionOf(service),
      };
    },
    liveIP: (ip) => ({ ...ip, gsm: (ip.legacy && self.gsms.get(ip.uid)) || '', version: self.versionOf(ip) }),
    find: (ref) => {
      const vip = self.vips.get(serviceKey(ref));
      return self.served && vip?.ref.uid === ref.uid ? vip : null;
    },
  };
  return self;
};
