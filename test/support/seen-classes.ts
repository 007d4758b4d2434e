import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports/records.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { LedRoutedIPs } from './led-routed-ips.ts';
import type { OperatorProcess } from './world.ts';

type Fields = { readonly [field: string]: Json };

export const fieldsOf = (json: Json | undefined): Fields =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : {};

export const isAdopting = (marks: PoolObject['marks']): boolean => marks?.annotations['routedip.io/delete-adopted'] === 'true';

/** Of a class there is one; an issuer is of its namespace. */
type Source = string;
export const sourceKey = (kind: string, namespace: string, name: string): Source =>
  kind === 'RoutedIPIssuer' ? `${kind} ${namespace}/${name}` : kind;

function sourceNamedIn({ ref, spec }: PoolObject): Source {
  const { className, issuerRef } = fieldsOf(spec);
  return className ? 'ClusterRoutedIPClass' : sourceKey('RoutedIPIssuer', ref.namespace, String(fieldsOf(issuerRef).name));
}

/** What a class and issuers say of the addresses of their RoutedIPs, as they were seen last while they were valid. */
export class SeenClasses {
  readonly #led: Pick<LedRoutedIPs, 'servedBy'>;
  /** Whether issuers of that namespace may use the operator's credentials. */
  readonly #isOpen: (namespace: string) => boolean;
  readonly #seen = new Map<Source, PoolObject>();
  /** Those that are invalid or gone. */
  readonly #unusable = new Set<Source>();
  /** What each RoutedIP names, by uid. */
  readonly #named = new Map<string, Source>();
  /** RoutedIPs, by uid, that came to name what could not be used, or what nobody had served them by before: it has said nothing of them yet. With what they had been served by;
   *  null for nothing. */
  readonly #untold = new Map<string, Source | null>();
  /** RoutedIPs, by uid, that have named another one before, and were not served by the present one yet: until then what it says deletes nothing. With what they named before. */
  readonly #coming = new Map<string, Source>();
  /** RoutedIPs that are deleted, by uid: what is said from then on is too late, for whoever has heard of it. With the address that each had got by then, and whether its class
   *  has said since that this stays. */
  readonly #deleted = new Map<string, { readonly address: Json | undefined; mayStay: boolean }>();

  constructor(led: Pick<LedRoutedIPs, 'servedBy'>, isOpen: (namespace: string) => boolean) {
    this.#led = led;
    this.#isOpen = isOpen;
  }

  put(policy: PoolObject): void {
    const source = sourceKey(policy.ref.kind, policy.ref.namespace, policy.ref.name);
    if (fieldsOf(policy.spec).perNodeIPLimit === 0) {
      this.remove(policy.ref);
      return;
    }
    this.#seen.set(source, policy);
    this.#unusable.delete(source);
    for (const uid of this.#untold.keys()) if (this.#named.get(uid) === source && !this.#deleted.has(uid)) this.#untold.delete(uid);
    for (const uid of this.#deleted.keys()) this.#heed(uid);
  }

  remove({ kind, namespace, name }: ObjectRef): void {
    const source = sourceKey(kind, namespace, name);
    this.#unusable.add(source);
    for (const [uid, named] of this.#named) if (named === source) this.#noteUnlessServed(uid, source);
  }

  see(object: PoolObject): void {
    const { uid } = object.ref;
    this.#name(object);
    if (object.deleting && !this.#deleted.has(uid)) this.#deleted.set(uid, { address: fieldsOf(object.status).routedIP, mayStay: false });
    this.#heed(uid);
  }

  #name(object: PoolObject): void {
    const { uid } = object.ref;
    const source = sourceNamedIn(object);
    if (this.#isServed(object, source)) this.#coming.delete(uid);
    const former = this.#named.get(uid);
    if (former === source) return;
    if (former !== undefined) this.#coming.set(uid, former);
    this.#named.set(uid, source);
    if (this.#unusable.has(source) || this.#isRefused(source)) this.#noteUnlessServed(uid, source);
    else this.#untold.delete(uid);
  }

  #isServed({ status }: PoolObject, source: Source): boolean {
    const { class: shown, error, state } = fieldsOf(status);
    return state === 'Stable' && error === undefined && fieldsOf(shown).name === this.#seen.get(source)?.ref.name;
  }

  #noteUnlessServed(uid: string, source: Source): void {
    const servedBy = this.#led.servedBy(uid);
    if (servedBy !== source) this.#untold.set(uid, servedBy);
  }

  #heed(uid: string): void {
    const deleted = this.#deleted.get(uid);
    if (deleted && this.#saysRetain(uid)) deleted.mayStay = true;
  }

  #saysRetain(uid: string): boolean {
    const policy = this.#seen.get(this.#named.get(uid) ?? '');
    return policy !== undefined && fieldsOf(policy.spec).routedIPReclaimPolicy !== 'Delete';
  }

  /** It has the operator's credentials, which its namespace may not use. */
  #isRefused(source: Source): boolean {
    const policy = this.#seen.get(source);
    return (
      policy?.ref.kind === 'RoutedIPIssuer' && fieldsOf(policy.spec).fromSecretsRef === undefined && !this.#isOpen(policy.ref.namespace)
    );
  }

  /** The class says by now that the address stays which the object had got when it was deleted, and each of the processes knows it. One that cannot be used says nothing of what it
   *  has never served. */
  keeps({ ref: { uid } }: PoolObject, address: Address, processes: readonly Pick<OperatorProcess, 'cluster'>[]): boolean {
    const named = this.#named.get(uid) ?? '';
    const isSilent = this.#unusable.has(named) ? this.#untold.has(uid) : this.#isRefused(named) && this.#led.servedBy(uid) !== named;
    const isKept = this.#deleted.get(uid)?.address === address && this.#saysRetain(uid) && !isSilent;
    return isKept && processes.every(({ cluster: { watch } }) => watch.sees('policies') && watch.sees('objects'));
  }

  /** The class has said so at some time since. */
  mayStay({ ref: { uid } }: PoolObject): boolean {
    return this.#deleted.get(uid)?.mayStay === true;
  }

  /** As `mayDelete`, and what the RoutedIP names has said so since it names it and is served by it. Before that, what another one said of it may go on. One that has no address
   *  and asks for none may still get the one that is being made for it. One that was never its own is not deleted with it. */
  mustDelete(object: PoolObject): boolean {
    const { uid } = object.ref;
    const isToBeMade = [object.status, object.spec].every((each) => !fieldsOf(each).routedIP);
    const isOwn = isToBeMade || isShownOwn(object);
    return isOwn && this.mayDelete(object, isToBeMade) && !this.#untold.has(uid) && !this.#coming.has(uid);
  }

  /** The address was made for it, as its status says, or as was seen of one that was deleted before that. As long as its class has said nothing of it, what the one says that
   *  served it may go on. */
  mayDelete(object: PoolObject, isMade = false): boolean {
    const { uid } = object.ref;
    const sources = [sourceNamedIn(object), this.#untold.get(uid), this.#coming.get(uid)].filter(
      (source) => source && !this.#isRefused(source),
    );
    const said = sources.map((source) => this.#seen.get(source ?? ''));
    const isOurs = isMade || fieldsOf(object.status).addressOrigin === 'Created';
    return said.some((policy) => saysDelete(policy) && (isOurs || (isAdopting(object.marks) && letsDeleteAdopted(policy))));
  }
}

/** Its status shows that the address was made for it, or confirmed on a node for it. */
const isShownOwn = ({ status }: PoolObject): boolean => {
  const { addressOrigin, epoch, unconfirmed } = fieldsOf(status);
  return addressOrigin === 'Created' || (typeof epoch === 'number' && epoch > 0 && unconfirmed !== true);
};

const saysDelete = (policy: PoolObject | undefined): policy is PoolObject => fieldsOf(policy?.spec).routedIPReclaimPolicy === 'Delete';

/** With the operator's credentials an issuer has nothing deleted that others made. */
const letsDeleteAdopted = ({ ref, spec }: PoolObject): boolean =>
  ref.kind !== 'RoutedIPIssuer' || fieldsOf(spec).fromSecretsRef !== undefined;
