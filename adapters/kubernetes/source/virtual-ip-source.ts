import { isDeepStrictEqual } from 'node:util';
import type { LiveVirtualIP, Place, VirtualIPListener, VirtualIPSource } from '../../../actors/ports/migration.ts';
import { KIND } from '../../../crds/generated/virtualip.ts';
import type { VirtualIP } from '../../../machines/vip/virtualip.ts';
import { kindOf } from '../cache/kinds.ts';
import { Reflector, type Surroundings } from '../cache/reflector.ts';
import { keyOf, metaOf } from '../cache/trim.ts';
import { isForbidden, isNotFound } from '../client/api-error.ts';
import { virtualIPIn } from '../client/migration-objects.ts';

const SERVICES = { path: '/api/v1/services', labelSelector: '' };

/** A Service, reduced to identity and version: the migration of its VirtualIP reads the rest. */
interface Touched extends Place {
  readonly version: string;
}

const trimVirtualIP = (object: unknown) => {
  // The version changes with every write; objects that differ only in it are equal.
  const { version: _, ...vip }: LiveVirtualIP = virtualIPIn(object);
  return { key: keyOf(vip.ref.namespace, vip.ref.name), uid: vip.ref.uid, value: vip };
};

const trimTouched = (object: unknown) => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { namespace, name, uid, resourceVersion: version } = meta;
  return { key: keyOf(namespace, name), uid, value: { namespace, name, version } };
};

/** VirtualIPs as seen through a watch. Where their kind is not installed the watch is retried every few seconds, without delaying startup. Once there are
 *  VirtualIPs, all Services of any type are watched: the Service that a VirtualIP exposes may change in any way. */
export class KubernetesVirtualIPSource implements VirtualIPSource {
  readonly #vips: Reflector<VirtualIP>;
  readonly #services: Reflector<Touched>;
  #listener: VirtualIPListener | null = null;
  #ready: () => void = () => undefined;
  #watchesServices = false;

  constructor(world: Surroundings) {
    this.#vips = new Reflector<VirtualIP>(
      world,
      { query: kindOf(KIND).collection, trim: trimVirtualIP, same: isDeepStrictEqual },
      {
        set: (vip) => {
          this.#watchServices();
          this.#listener?.virtualIPObserved(vip);
        },
        gone: ({ ref }) => this.#listener?.virtualIPGone(ref),
        synced: () => {
          this.#listener?.virtualIPsSynced();
          this.#ready();
        },
        troubled: (error) => {
          if (isNotFound(error) || isForbidden(error)) this.#ready();
        },
      },
    );
    const touched = (place: Place): void => this.#listener?.serviceTouched(place);
    const same = (before: Touched, after: Touched): boolean => before.version === after.version;
    this.#services = new Reflector<Touched>(
      world,
      { query: SERVICES, trim: trimTouched, same },
      { set: touched, gone: touched, synced: () => undefined, troubled: () => undefined },
    );
  }

  start(listener: VirtualIPListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = resolve;
    this.#vips.start();
    return promise;
  }

  resync(): void {
    for (const vip of this.#vips.values()) this.#listener?.virtualIPObserved(vip);
    if (this.#vips.synced) this.#listener?.virtualIPsSynced();
  }

  async close(): Promise<void> {
    this.#listener = null;
    this.#vips.stop();
    this.#services.stop();
  }

  #watchServices(): void {
    if (this.#watchesServices) return;
    this.#watchesServices = true;
    this.#services.start();
  }
}
