import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Probe } from '../../actors/ports/observers.ts';
import type { VipSource, VipWriter } from '../../actors/ports/vip.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { ipNameOf, isHeldBy, isKeptFor, isOwnedBy, type ReservedIP, VIP_FINALIZER } from '../../machines/vip/objects.ts';
import { vipCalls } from './vip-calls.ts';
import { vipWatch } from './vip-watch.ts';
import { type StoredService, serviceKey, type VipWorld, withContended, withIngress } from './vip-world.ts';

/** The cluster as one process sees and writes it. */
export interface ProcessVips extends VipSource, VipWriter {
  /** Its watches stop reporting: changes are reported after `resumeWatches`, in order. */
  holdWatches(): void;
  resumeWatches(): void;
  /** The same, until they are renewed. */
  stickWatches(): void;
  /** The process dies: it receives nothing more, and its calls never settle; requests already sent still arrive. */
  end(): void;
}

const sameIP = (one: ReservedIP, other: ReservedIP): boolean =>
  one.uid === other.uid && one.legacy === other.legacy && one.reclaim === other.reclaim && isDeepStrictEqual(one.owner, other.owner);

export const processVips = (world: VipWorld, probe: Probe = () => undefined): ProcessVips => {
  const watch = vipWatch(world);
  const calls = vipCalls(world, probe);
  const find = (ref: ObjectRef): StoredService | null => {
    const service = world.services.get(serviceKey(ref));
    return service?.ref.uid === ref.uid ? service : null;
  };
  const required = (ref: ObjectRef): StoredService => {
    const service = find(ref);
    if (service === null) throw new ProviderError('NotFound', `Service ${serviceKey(ref)} is gone`);
    return service;
  };
  const put = (on: StoredService, service: StoredService, subresource?: 'status') => ({
    on,
    act: () => world.putService(service, subresource),
  });
  const change = (service: StoredService, changed: Partial<StoredService>) => put(service, { ...service, ...changed });
  return {
    start: watch.open,
    resync: watch.tellAll,
    close: async () => watch.close(),
    holdWatches: watch.hold,
    resumeWatches: watch.resume,
    stickWatches: watch.stick,
    renew: watch.renew,
    end: () => {
      watch.close();
      calls.end();
    },
    guard: (ref, fence) =>
      calls.write('guard', serviceKey(ref), fence, () => {
        const service = required(ref);
        if (service.finalizers.includes(VIP_FINALIZER)) return { answer: undefined };
        if (service.deleting) throw new ProviderError('Conflict', `Service ${serviceKey(ref)} is being deleted`);
        return change(service, { finalizers: [...service.finalizers, VIP_FINALIZER] });
      }),
    reserve: (address, group, ref, fence) =>
      calls.write('reserve', `${address} for ${serviceKey(ref)}`, fence, () => {
        if (!world.served) throw new ProviderError('Unavailable', 'IPs are not served');
        const name = ipNameOf(address);
        const present = world.ips.get(name);
        if (present !== undefined && isOwnedBy(present, ref)) return { answer: present };
        if (present !== undefined) throw new ProviderError('Conflict', `IP ${name} is not of Service ${serviceKey(ref)}`);
        const { namespace, name: service, uid } = ref;
        return {
          on: null,
          act: () => {
            const ip = { name, uid: world.uid(), address, owner: { namespace, name: service, uid }, group, legacy: false };
            world.putIP(ip);
            return ip;
          },
        };
      }),
    publish: (ref, address, fence) =>
      calls.write('publish', `${address ?? 'none'} for ${serviceKey(ref)}`, fence, () => {
        const service = required(ref);
        const ingress = address === null ? [] : [{ ip: address }];
        if (isDeepStrictEqual(service.ingress, ingress)) return { answer: false };
        if (address !== null && service.deleting) throw new ProviderError('Conflict', `Service ${serviceKey(ref)} is being deleted`);
        if (address !== null && service.type !== 'LoadBalancer')
          throw new ProviderError('Conflict', `Service ${serviceKey(ref)} is of type ${service.type}`);
        const { act, on } = put(service, withIngress(service, ingress), 'status');
        return {
          on,
          act: () => {
            act();
            return true;
          },
        };
      }),
    contend: (ref, message, fence) =>
      calls.write('contend', serviceKey(ref), fence, () => {
        const service = required(ref);
        if ((service.contended ?? null) === message) return { answer: undefined };
        return put(service, withContended(service, message), 'status');
      }),
    free: (ip, fence) =>
      calls.write('free', ip.name, fence, () => {
        const present = world.ips.get(ip.name);
        if (ip.owner === null || present === undefined || !sameIP(present, ip)) return { answer: undefined };
        return { on: present, act: () => world.dropIP(ip.name) };
      }),
    regroup: (ip, group, fence) =>
      calls.write('regroup', ip.name, fence, () => {
        const present = world.ips.get(ip.name);
        if (present === undefined || present.group === group || !sameIP(present, ip)) return { answer: undefined };
        return { on: present, act: () => world.putIP({ ...present, group }) };
      }),
    unguard: (ref, fence) =>
      calls.write('unguard', serviceKey(ref), fence, () => {
        const service = find(ref);
        if (!service?.finalizers.includes(VIP_FINALIZER)) return { answer: undefined };
        return change(service, { finalizers: service.finalizers.filter((each) => each !== VIP_FINALIZER) });
      }),
    held: (ref) =>
      calls.read('held', serviceKey(ref), () =>
        [...world.ips.values()].filter((ip) => isHeldBy(ip, ref)).sort((a, b) => (a.name < b.name ? -1 : 1)),
      ),
    hold: ({ address, group }, ref, reclaim, fence) =>
      calls.write('hold', `${address} for ${serviceKey(ref)}`, fence, () => {
        if (!world.served) throw new ProviderError('Unavailable', 'IPs are not served');
        const name = ipNameOf(address);
        const present = world.ips.get(name);
        if (present !== undefined && isHeldBy(present, ref)) return { answer: present };
        if (present !== undefined && !isKeptFor(present, ref))
          throw new ProviderError('Conflict', `IP ${name} is not of RoutedIP ${serviceKey(ref)}`);
        const { namespace, name: owner, uid } = ref;
        return {
          on: present ?? null,
          act: () => {
            const ip = {
              name,
              uid: present?.uid ?? world.uid(),
              address,
              owner: { namespace, name: owner, uid },
              group,
              legacy: false,
              reclaim,
            };
            world.putIP(ip);
            return ip;
          },
        };
      }),
    keep: (ip, fence) =>
      calls.write('keep', ip.name, fence, () => {
        const present = world.ips.get(ip.name);
        if (present === undefined || ip.reclaim === 'Retain' || !sameIP(present, ip)) return { answer: undefined };
        return { on: present, act: () => world.putIP({ ...present, reclaim: 'Retain' }) };
      }),
    look: (place) =>
      calls.read('look', serviceKey(place), () => {
        if (place.kind === 'RoutedIP') return world.options.routedIP?.(place) ?? null;
        const service = world.services.get(serviceKey(place));
        return service === undefined ? null : world.view(service);
      }),
  };
};
