import { isDeepStrictEqual } from 'node:util';
import { Overtaken, ProviderError, VirtualIPNotFound } from '../../actors/ports/errors.ts';
import type { Hold, LiveService, MigrationWriter, VirtualIPListener, VirtualIPSource } from '../../actors/ports/migration.ts';
import type { Probe } from '../../actors/ports/observers.ts';
import { ipNameOf } from '../../machines/vip/objects.ts';
import { CLONE_FINALIZER, IP_FINALIZER, MIGRATING_ANNOTATION, type VirtualIP } from '../../machines/vip/virtualip.ts';
import { late } from './late.ts';
import { type Finding, vipCalls } from './vip-calls.ts';
import { ORDINARY_SERVICE, type StoredService, serviceKey, type VipWorld, withIngress } from './vip-world.ts';
import type { VirtualIPWorld } from './virtual-ip-world.ts';

/** VirtualIPs as one process sees and writes them. */
export interface ProcessVirtualIPs {
  readonly source: VirtualIPSource;
  readonly writer: MigrationWriter;
  /** The process dies: it receives nothing more, and its calls never settle; requests already sent still arrive. */
  end(): void;
}

const FINALIZERS: Readonly<Record<Hold, string>> = { ip: IP_FINALIZER, clone: CLONE_FINALIZER };

const changed = (what: string): Overtaken => new Overtaken(`${what} was changed meanwhile`);

export const processVirtualIPs = (world: VipWorld, legacy: VirtualIPWorld, probe: Probe = () => undefined): ProcessVirtualIPs => {
  const calls = vipCalls(world, probe);
  const { vips, versionOf } = legacy;

  /** A write based on the version of the Service that was read; `null` where there is nothing to do. */
  const ofService = (read: LiveService, write: (service: StoredService) => (() => void) | null, gone?: 'done'): Finding<void> => {
    const service = world.services.get(serviceKey(read));
    if (service === undefined && gone) return { answer: undefined };
    if (service === undefined) throw new ProviderError('NotFound', `Service "${read.name}" not found`);
    if (service.ref.uid !== read.uid || versionOf(service) !== read.version) throw changed(`Service "${read.name}"`);
    const act = write(service);
    return act ? { on: service, act } : { answer: undefined };
  };
  const annotated = (service: StoredService, name: string | null): StoredService => {
    const { [MIGRATING_ANNOTATION]: _, ...others } = service.more?.annotations ?? {};
    return { ...service, more: { ...service.more, annotations: name === null ? others : { ...others, [MIGRATING_ANNOTATION]: name } } };
  };
  const ofVirtualIP = (
    read: { readonly ref: VirtualIP['ref']; readonly version?: string },
    write: (vip: VirtualIP) => (() => void) | null,
  ): Finding<void> => {
    const vip = legacy.find(read.ref);
    if (vip === null) throw new VirtualIPNotFound(read.ref.name);
    if (read.version !== undefined && versionOf(vip) !== read.version) throw changed(`VirtualIP "${read.ref.name}"`);
    const act = write(vip);
    return act ? { on: vip, act } : { answer: undefined };
  };

  const writer: MigrationWriter = {
    virtualIP: (ref) =>
      calls.read('virtualIP', serviceKey(ref), () => {
        const vip = legacy.find(ref);
        return vip && legacy.liveVirtualIP(vip);
      }),
    service: (place) =>
      calls.read('service', serviceKey(place), () => {
        const service = world.services.get(serviceKey(place));
        return service === undefined ? null : legacy.liveService(service);
      }),
    ip: (address) =>
      calls.read('ip', address, () => {
        const ip = world.ips.get(ipNameOf(address));
        return ip === undefined ? null : legacy.liveIP(ip);
      }),
    ips: () => calls.read('ips', 'all', () => [...world.ips.values()].map(legacy.liveIP)),
    virtualIPs: () => calls.read('virtualIPs', 'all', () => (legacy.served ? [...vips.values()] : null)),
    groups: () => calls.read('groups', 'all', () => [...world.groups.values()].map(({ ref, spec }) => ({ name: ref.name, spec }))),
    mappings: () =>
      calls.read('mappings', 'all', () => (legacy.served ? [...legacy.mappings].map(([name, spec]) => ({ name, spec })) : [])),

    hold: async (read, hold, fence) => {
      const name = FINALIZERS[hold];
      if (read.finalizers.includes(name)) return read;
      if (read.deleting) throw new ProviderError('Conflict', `VirtualIP "${read.ref.name}" is being deleted`);
      await calls.write('hold', `${hold} of ${serviceKey(read.ref)}`, fence, () =>
        ofVirtualIP(read, (vip) => () => legacy.put({ ...vip, finalizers: [...vip.finalizers, name] })),
      );
      const held = legacy.find(read.ref);
      if (held === null) throw new VirtualIPNotFound(read.ref.name);
      return legacy.liveVirtualIP(held);
    },
    letGo: (ref, hold, fence) =>
      calls.write('letGo', `${hold} of ${serviceKey(ref)}`, fence, () =>
        ofVirtualIP({ ref }, (vip) => {
          if (!vip.finalizers.includes(FINALIZERS[hold])) return null;
          return () => legacy.put({ ...vip, finalizers: vip.finalizers.filter((each) => each !== FINALIZERS[hold]) });
        }),
      ),
    report: (read, status, fence) =>
      calls.write('report', serviceKey(read.ref), fence, () =>
        ofVirtualIP(read, (vip) => {
          const next = { ...vip.status, ...status };
          return isDeepStrictEqual(next, vip.status) ? null : () => legacy.put({ ...vip, status: next });
        }),
      ),

    reserve: (address, gsm, vip, fence) =>
      calls.write('reserve', `${address} for ${serviceKey(vip)}`, fence, () => {
        const name = ipNameOf(address);
        if (world.ips.has(name)) throw new ProviderError('Conflict', `IP "${name}" already exists`);
        const act = (): void => {
          const ip = {
            name,
            uid: world.uid(),
            address,
            owner: { namespace: vip.namespace, name: vip.name, uid: null },
            group: null,
            legacy: true,
          };
          legacy.gsms.set(ip.uid, gsm);
          world.putIP(ip);
        };
        return { on: null, act };
      }),
    reassociate: (read, group, { namespace, name }, fence) =>
      calls.write('reassociate', `${read.name} to ${namespace}/${name}`, fence, () => {
        const ip = world.ips.get(read.name);
        if (ip === undefined || versionOf(ip) !== read.version) throw changed(`IP "${read.name}"`);
        const wanted = { ...ip, owner: { namespace, name, uid: null }, group, legacy: false };
        if (isDeepStrictEqual(wanted, ip)) return { answer: undefined };
        return { on: ip, act: () => world.putIP(wanted) };
      }),
    free: (read, fence) =>
      calls.write('free', read.name, fence, () => {
        const ip = world.ips.get(read.name);
        if (ip === undefined) return { answer: undefined };
        if (versionOf(ip) !== read.version) throw changed(`IP "${read.name}"`);
        return { on: ip, act: () => world.dropIP(read.name) };
      }),

    createClone: ({ namespace, name, labels, annotations, owner, spec }, fence) =>
      calls.write('createClone', `${namespace}/${name}`, fence, () => {
        if (world.services.has(serviceKey({ namespace, name }))) throw new ProviderError('Conflict', `Service "${name}" already exists`);
        const act = (): void => {
          const ref = { kind: 'Service', namespace, name, uid: world.uid() };
          const more = { labels, annotations, owners: [{ kind: owner.kind, name: owner.name }], spec };
          const fresh = { createdAt: world.options.clock.now(), deleting: false, finalizers: [], ingress: [] };
          legacy.owners.set(ref.uid, owner.uid);
          world.putService({ ...ORDINARY_SERVICE, ...fresh, type: 'ClusterIP', ref, more });
          legacy.collectGarbage();
        };
        return { on: null, act };
      }),
    syncClone: (read, { labels, annotations, spec }, fence) =>
      calls.write('syncClone', serviceKey(read), fence, () =>
        ofService(read, (service) => {
          const named = Object.entries({ ...service.more?.spec, ...spec }).filter(([, value]) => value !== null);
          const more = { ...service.more, labels, annotations, spec: Object.fromEntries(named) };
          return isDeepStrictEqual(more, service.more) ? null : () => world.putService({ ...service, more });
        }),
      ),
    deleteClone: (read, fence) =>
      calls.write('deleteClone', serviceKey(read), fence, () =>
        ofService(read, (service) => () => world.putService({ ...service, deleting: true }), 'done'),
      ),

    mark: (read, name, fence) =>
      calls.write('mark', serviceKey(read), fence, () =>
        (read.annotations[MIGRATING_ANNOTATION] ?? null) === name
          ? { answer: undefined }
          : ofService(read, (service) => () => world.putService(annotated(service, name))),
      ),
    convert: (read, address, fence) =>
      calls.write('convert', serviceKey(read), fence, () =>
        read.spec.type === 'LoadBalancer' && read.spec.loadBalancerIP === address
          ? { answer: undefined }
          : ofService(read, (service) => () => world.putService({ ...service, type: 'LoadBalancer', loadBalancerIP: address })),
      ),
    setIngress: async (read, address, fence) => {
      const ingress = [{ ip: address }];
      if (isDeepStrictEqual(read.ingress, ingress)) return read;
      await calls.write('setIngress', serviceKey(read), fence, () =>
        ofService(read, (service) => () => world.putService(withIngress(service, ingress), 'status')),
      );
      const service = world.services.get(serviceKey(read));
      if (service === undefined) throw new ProviderError('NotFound', `Service "${read.name}" not found`);
      return legacy.liveService(service);
    },
    settle: (read, pinned, fence) =>
      calls.write('settle', serviceKey(read), fence, () => {
        const asks = !pinned && read.spec.loadBalancerIP !== undefined;
        if (read.annotations[MIGRATING_ANNOTATION] === undefined && !asks) return { answer: undefined };
        return ofService(read, (service) => () => world.putService({ ...annotated(service, null), ...(asks && { loadBalancerIP: '' }) }));
      }),
  };

  const { hear, listen } = late<VirtualIPListener>(world.options);
  const tellAll = (): void => {
    if (!legacy.served) return;
    for (const vip of vips.values()) hear((told) => told.virtualIPObserved(vip));
    hear((told) => told.virtualIPsSynced());
  };
  const watch = { hear, tellAll };
  const close = (): void => {
    listen(null);
    legacy.watches.delete(watch);
  };
  const source: VirtualIPSource = {
    start: (told) => {
      listen(told);
      legacy.watches.add(watch);
      tellAll();
      return new Promise((resolve) => (legacy.served ? hear(() => resolve()) : resolve()));
    },
    resync: tellAll,
    close: async () => close(),
  };
  return {
    source,
    writer,
    end: () => {
      close();
      calls.end();
    },
  };
};
