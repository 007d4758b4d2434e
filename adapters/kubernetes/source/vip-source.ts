import { isDeepStrictEqual } from 'node:util';
import type { VipListener, VipSource } from '../../../actors/ports/vip.ts';
import * as ips from '../../../crds/generated/ip.ts';
import * as ipGroups from '../../../crds/generated/ipgroup.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { IPGroupObject, ReservedIP } from '../../../machines/vip/objects.ts';
import { type CacheState, cacheStates } from '../cache/cache-state.ts';
import { kindOf } from '../cache/kinds.ts';
import { Reflector, type ReflectorListener, type Subject, type Surroundings } from '../cache/reflector.ts';
import { keyOf, type SeenObject, trimObject } from '../cache/trim.ts';
import { type SeenVipService, type ServedClass, trimReservedIP, trimVipService } from '../cache/trim-vip.ts';
import { isForbidden, isNotFound, messageOf, ServerUnreachable } from '../client/api-error.ts';

export interface VipSourceOptions extends Surroundings, ServedClass {
  /** Whether the server serves IPGroups and IPs. Called when that becomes known and on every change. */
  served?(served: boolean): void;
}

/** One kind of object with the state of its watch. */
interface Watched {
  readonly kind: string;
  readonly reflector: Pick<Reflector<unknown>, 'synced' | 'trouble' | 'heardAt' | 'start' | 'stop' | 'renew'>;
  /** The server's last refusal; a later outage does not clear it. Null when it serves the kind, or has not responded yet. */
  refused: Error | null;
}

interface WatchedOf<T> extends Watched {
  readonly reflector: Reflector<T>;
}

const SERVICES = { path: '/api/v1/services', labelSelector: '' };

const isKnown = ({ reflector }: Watched): boolean => reflector.synced;
const isAbsent = ({ refused }: Watched): boolean => isNotFound(refused);

const groupOf = ({ object: { ref, generation, deleting, spec, status } }: SeenObject): IPGroupObject => ({
  ref,
  generation,
  deleting,
  spec,
  status,
});

/** The operator writes the status itself: a change of the status alone is ignored. */
const sameGroup = ({ object: before }: SeenObject, { object: after }: SeenObject): boolean =>
  before.generation === after.generation && before.deleting === after.deleting && isDeepStrictEqual(before.spec, after.spec);

/** Services, IPGroups and IPs as seen through watches. Services are watched only once the other kinds are known to be served, so not in clusters that do not
 *  use them. */
export class KubernetesVipSource implements VipSource {
  readonly #options: VipSourceOptions;
  readonly #groups: WatchedOf<SeenObject>;
  readonly #ips: WatchedOf<ReservedIP>;
  readonly #services: WatchedOf<SeenVipService>;
  #listener: VipListener | null = null;
  #ready: (() => void) | null = null;
  #watchesServices = false;
  #synced = false;
  #served: boolean | null = null;

  constructor(options: VipSourceOptions) {
    this.#options = options;
    const { collection: groups } = kindOf(ipGroups.KIND);
    this.#groups = this.#watch<SeenObject>(
      ipGroups.KIND,
      { query: groups, trim: (object) => trimObject(ipGroups.KIND, object), same: sameGroup },
      {
        set: (seen) => this.#tell((listener) => listener.groupObserved(groupOf(seen))),
        gone: ({ object }) => this.#tell((listener) => listener.groupGone(object.ref)),
      },
    );
    this.#ips = this.#watch<ReservedIP>(
      ips.KIND,
      { query: kindOf(ips.KIND).collection, trim: trimReservedIP, same: isDeepStrictEqual },
      {
        set: (ip) => this.#tell((listener) => listener.ipObserved(ip)),
        gone: (ip) => this.#tell((listener) => listener.ipGone(ip)),
      },
    );
    const trim = (object: unknown) => trimVipService(object, options);
    this.#services = this.#watch<SeenVipService>(
      'Service',
      { query: SERVICES, trim, same: isDeepStrictEqual },
      {
        set: (seen, before) => this.#serviceSet(seen, before),
        gone: (seen) => this.#serviceSet({ service: null }, seen),
      },
    );
  }

  /** Resolves as the port says, and also when listing something is forbidden: `missing` and the log name it, and it is retried. */
  start(listener: VipListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    this.#groups.reflector.start();
    this.#ips.reflector.start();
    return new Promise((resolve) => {
      this.#ready = resolve;
    });
  }

  resync(): void {
    for (const seen of this.#groups.reflector.values()) this.#tell((listener) => listener.groupObserved(groupOf(seen)));
    for (const ip of this.#ips.reflector.values()) this.#tell((listener) => listener.ipObserved(ip));
    for (const seen of this.#services.reflector.values()) this.#serviceSet(seen, null);
    if (this.#synced) this.#tell((listener) => listener.vipsSynced());
  }

  renew(): void {
    for (const { reflector } of this.#begun) reflector.renew();
  }

  async close(): Promise<void> {
    this.#listener = null;
    for (const { reflector } of this.#all) reflector.stop();
  }

  /** An IPGroup as last seen, for the status writer; null when it does not exist, or the name belongs to an object with another uid. */
  object({ kind, name, uid }: ObjectRef): SeenObject | null {
    const seen = kind === ipGroups.KIND ? this.#groups.reflector.get(keyOf('', name)) : null;
    return seen?.object.ref.uid === uid ? seen : null;
  }

  /** At least one IPGroup exists. */
  get hasGroups(): boolean {
    return this.#groups.reflector.values().length > 0;
  }

  /** State of the caches by kind of object; without kinds that are not served, or not watched yet. */
  caches(): readonly CacheState[] {
    return cacheStates(this.#begun.filter((one) => !isAbsent(one)));
  }

  /** Human-readable reasons why something is not yet known; empty when everything is synced, or the kinds are not served. */
  missing(): readonly string[] {
    if (this.#kinds.some(isAbsent)) return [];
    const unknown = this.#begun.filter((one) => !isKnown(one)).map(({ reflector }) => reflector.trouble);
    return [...new Set(unknown.map((trouble) => (trouble === null ? 'a first list is not complete' : messageOf(trouble))))];
  }

  get #kinds(): readonly Watched[] {
    return [this.#groups, this.#ips];
  }

  get #all(): readonly Watched[] {
    return [...this.#kinds, this.#services];
  }

  get #begun(): readonly Watched[] {
    return this.#watchesServices ? this.#all : this.#kinds;
  }

  #watch<T>(kind: string, subject: Subject<T>, told: Pick<ReflectorListener<T>, 'set' | 'gone'>): WatchedOf<T> {
    const reflector = new Reflector<T>(this.#options, subject, {
      ...told,
      synced: () => {
        watched.refused = null;
        this.#review();
      },
      troubled: (error) => {
        if (!(error instanceof ServerUnreachable)) watched.refused = error;
        this.#review();
      },
    });
    const watched: WatchedOf<T> = { kind, reflector, refused: null };
    return watched;
  }

  #serviceSet({ service }: SeenVipService, before: SeenVipService | null): void {
    if (service !== null) this.#tell((listener) => listener.serviceObserved(service));
    else if (before?.service) {
      const { ref } = before.service;
      this.#tell((listener) => listener.serviceGone(ref));
    }
  }

  /** Takes the next steps that the current sync state allows. */
  #review(): void {
    if (this.#listener === null) return;
    if (!this.#watchesServices && this.#kinds.every(isKnown)) {
      this.#watchesServices = true;
      this.#services.reflector.start();
    }
    this.#tellServed();
    if (!this.#synced && this.#all.every(isKnown)) {
      this.#synced = true;
      this.#tell((listener) => listener.vipsSynced());
    }
    // Startup does not wait for kinds that this cluster does not serve or that listing is forbidden for; the latter is logged.
    if (this.#begun.every((one) => isKnown(one) || isAbsent(one) || isForbidden(one.refused))) this.#ready?.();
  }

  #tellServed(): void {
    const works = ({ reflector }: Watched): boolean => reflector.synced && reflector.trouble === null;
    const served = this.#kinds.some(isAbsent) ? false : this.#kinds.every(works) ? true : this.#served;
    if (served === null || served === this.#served) return;
    this.#served = served;
    this.#options.served?.(served);
  }

  #tell(say: (listener: VipListener) => void): void {
    if (this.#listener !== null) say(this.#listener);
  }
}
