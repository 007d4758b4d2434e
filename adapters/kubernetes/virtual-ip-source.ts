import { isDeepStrictEqual } from 'node:util';
import type { LiveVirtualIP, VirtualIPListener, VirtualIPSource } from '../../actors/ports/migration.ts';
import type { VirtualIP } from '../../machines/virtual-ip.ts';
import { isForbidden, isNotFound } from './api-error.ts';
import { virtualIPIn } from './migration-objects.ts';
import { Reflector, type Surroundings } from './reflector.ts';
import { keyOf } from './trim.ts';

const QUERY = { path: '/apis/paas.org/v1/virtualips', labelSelector: '' };

/** VirtualIPs as seen through a watch. Where their kind is not installed it is looked for every few seconds, and nobody waits for that. */
export class KubernetesVirtualIPSource implements VirtualIPSource {
  readonly #reflector: Reflector<VirtualIP>;
  #listener: VirtualIPListener | null = null;
  #ready: () => void = () => undefined;

  constructor(world: Surroundings) {
    const trim = (object: unknown) => {
      // Each write has a version of its own: two that differ in nothing else are the same.
      const { version: _, ...vip }: LiveVirtualIP = virtualIPIn(object);
      return { key: keyOf(vip.ref.namespace, vip.ref.name), uid: vip.ref.uid, value: vip };
    };
    this.#reflector = new Reflector<VirtualIP>(
      world,
      { query: QUERY, trim, same: isDeepStrictEqual },
      {
        set: (vip) => this.#listener?.virtualIPObserved(vip),
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
  }

  start(listener: VirtualIPListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = resolve;
    this.#reflector.start();
    return promise;
  }

  resync(): void {
    for (const vip of this.#reflector.values()) this.#listener?.virtualIPObserved(vip);
    if (this.#reflector.synced) this.#listener?.virtualIPsSynced();
  }

  async close(): Promise<void> {
    this.#listener = null;
    this.#reflector.stop();
  }
}
