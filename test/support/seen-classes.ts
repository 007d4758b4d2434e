import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';
import type { Address } from '../../machines/types.ts';
import type { OperatorProcess } from './world.ts';

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
  /** RoutedIPs that are deleted, by uid: the address that each had got by then, and whether its class has said since that this stays. */
  readonly #deleted = new Map<string, { readonly address: Json | undefined; mayStay: boolean }>();

  put(policy: PoolObject): void {
    const name = classNameIn(policy);
    if (fieldsOf(policy.spec).perNodeIPLimit === 0) this.#invalid.add(name);
    else {
      this.#classes.set(name, policy);
      this.#invalid.delete(name);
      for (const [uid, className] of this.#untold) if (className === name) this.#untold.delete(uid);
    }
    for (const uid of this.#deleted.keys()) this.#heed(uid);
  }

  see(object: PoolObject): void {
    const { uid } = object.ref;
    this.#name(object);
    if (object.deleting && !this.#deleted.has(uid)) this.#deleted.set(uid, { address: fieldsOf(object.status).routedIP, mayStay: false });
    this.#heed(uid);
  }

  #name(object: PoolObject): void {
    const { uid } = object.ref;
    const name = classNameIn(object);
    if (this.#named.get(uid) === name) return;
    this.#named.set(uid, name);
    this.#untold.delete(uid);
    if (this.#invalid.has(name)) this.#untold.set(uid, name);
  }

  #heed(uid: string): void {
    const deleted = this.#deleted.get(uid);
    if (deleted && this.#saysRetain(uid)) deleted.mayStay = true;
  }

  #saysRetain(uid: string): boolean {
    const policy = this.#classes.get(this.#named.get(uid) ?? '');
    return policy !== undefined && fieldsOf(policy.spec).routedIPReclaimPolicy !== 'Delete';
  }

  /** The class says by now that the address stays which the object had got when it was deleted, and each of the processes knows it. */
  keeps({ ref: { uid } }: PoolObject, address: Address, processes: readonly Pick<OperatorProcess, 'cluster'>[]): boolean {
    const isKept = this.#deleted.get(uid)?.address === address && this.#saysRetain(uid);
    return isKept && processes.every(({ cluster: { watch } }) => watch.sees('policies') && watch.sees('objects'));
  }

  /** The class has said so at some time since. */
  mayStay({ ref: { uid } }: PoolObject): boolean {
    return this.#deleted.get(uid)?.mayStay === true;
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
