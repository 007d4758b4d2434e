import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { LedRoutedIPs } from './led-routed-ips.ts';

type Fields = { readonly [field: string]: Json };

export const fieldsOf = (json: Json | undefined): Fields =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : {};

export const isAdopting = (marks: PoolObject['marks']): boolean => marks?.annotations['routedip.io/delete-adopted'] === 'true';

const classNameIn = ({ spec }: PoolObject): string => String(fieldsOf(spec).className ?? '');

/** What classes say of the addresses of their RoutedIPs, as they were seen last while they were valid. */
export class SeenClasses {
  readonly #led: Pick<LedRoutedIPs, 'servedBy'>;
  /** By className; an issuer has none. */
  readonly #classes = new Map<string, PoolObject>();
  /** Those that are invalid or gone. */
  readonly #unusable = new Set<string>();
  /** The class that each RoutedIP names, by uid. */
  readonly #named = new Map<string, string>();
  /** RoutedIPs, by uid, that came to name a class while it could not be used, or that nobody had served by it before: it has said nothing of them yet. */
  readonly #untold = new Map<string, string>();

  constructor(led: Pick<LedRoutedIPs, 'servedBy'>) {
    this.#led = led;
  }

  put(policy: PoolObject): void {
    const name = classNameIn(policy);
    if (fieldsOf(policy.spec).perNodeIPLimit === 0) this.#leave(name);
    else {
      this.#classes.set(name, policy);
      this.#unusable.delete(name);
      for (const [uid, className] of this.#untold) if (className === name) this.#untold.delete(uid);
    }
  }

  remove({ kind, name }: ObjectRef): void {
    this.#leave(kind === 'ClusterRoutedIPClass' ? name : '');
  }

  #leave(name: string): void {
    this.#unusable.add(name);
    for (const [uid, className] of this.#named) if (className === name && this.#led.servedBy(uid) !== name) this.#untold.set(uid, name);
  }

  see(object: PoolObject): void {
    const { uid } = object.ref;
    const name = classNameIn(object);
    if (this.#named.get(uid) === name) return;
    this.#named.set(uid, name);
    this.#untold.delete(uid);
    if (this.#unusable.has(name)) this.#untold.set(uid, name);
  }

  /** As `mayDelete`, and the class has said so since the RoutedIP names it. Before that, what another one said of it may go on. */
  mustDelete(object: PoolObject): boolean {
    return this.mayDelete(object) && !this.#untold.has(object.ref.uid);
  }

  /** The address was made for it, as its status says, or as was seen of one that was deleted before that. */
  mayDelete(object: PoolObject, isMade = false): boolean {
    const isOurs = isMade || isAdopting(object.marks) || fieldsOf(object.status).addressOrigin === 'Created';
    const policy = fieldsOf(this.#classes.get(classNameIn(object))?.spec);
    return policy.routedIPReclaimPolicy === 'Delete' && isOurs;
  }
}
