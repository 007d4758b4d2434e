import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';

type Fields = { readonly [field: string]: Json };

export const fieldsOf = (json: Json | undefined): Fields =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : {};

export const isAdopting = (marks: PoolObject['marks']): boolean => marks?.annotations['routedip.io/delete-adopted'] === 'true';

const classNameIn = ({ spec }: PoolObject): string => String(fieldsOf(spec).className ?? '');

/** What classes say of the addresses of their RoutedIPs, as they were seen last while they were valid. */
export class SeenClasses {
  /** By className; an issuer has none. */
  readonly #classes = new Map<string, PoolObject>();
  readonly #invalid = new Set<string>();
  /** The class that each RoutedIP names, by uid. */
  readonly #named = new Map<string, string>();
  /** RoutedIPs, by uid, that came to name a class while it was invalid: it has said nothing of them yet. */
  readonly #untold = new Map<string, string>();

  /** RoutedIPs, by uid, that have named another class before, and were not served by the present one yet: until then what it says deletes nothing. */
  readonly #coming = new Set<string>();

  put(policy: PoolObject): void {
    const name = classNameIn(policy);
    if (fieldsOf(policy.spec).perNodeIPLimit === 0) this.#invalid.add(name);
    else {
      this.#classes.set(name, policy);
      this.#invalid.delete(name);
      for (const [uid, className] of this.#untold) if (className === name) this.#untold.delete(uid);
    }
  }

  see(object: PoolObject): void {
    const { uid } = object.ref;
    const name = classNameIn(object);
    if (this.#isServed(object, name)) this.#coming.delete(uid);
    const former = this.#named.get(uid);
    if (former === name) return;
    if (former !== undefined) this.#coming.add(uid);
    this.#named.set(uid, name);
    this.#untold.delete(uid);
    if (this.#invalid.has(name)) this.#untold.set(uid, name);
  }

  #isServed({ status }: PoolObject, name: string): boolean {
    const { class: shown, error, state } = fieldsOf(status);
    return state === 'Stable' && error === undefined && fieldsOf(shown).name === this.#classes.get(name)?.ref.name;
  }

  /** As `mayDelete`, and the class has said so since the RoutedIP names it and is served by it. Before that, what another one said of it may go on. */
  mustDelete(object: PoolObject): boolean {
    const { uid } = object.ref;
    return this.mayDelete(object) && !this.#untold.has(uid) && !this.#coming.has(uid);
  }

  /** The address was made for it, as its status says, or as was seen of one that was deleted before that. */
  mayDelete(object: PoolObject, isMade = false): boolean {
    const found = this.#classes.get(classNameIn(object));
    const { routedIPReclaimPolicy, fromSecretsRef } = fieldsOf(found?.spec);
    // With the operator's credentials an issuer has nothing deleted that others made.
    const isTheirs = found?.ref.kind === 'RoutedIPIssuer' && fromSecretsRef === undefined;
    const isOurs = isMade || (isAdopting(object.marks) && !isTheirs) || fieldsOf(object.status).addressOrigin === 'Created';
    return routedIPReclaimPolicy === 'Delete' && isOurs;
  }
}
