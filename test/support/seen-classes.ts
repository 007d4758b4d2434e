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

  put(policy: PoolObject): void {
    if (fieldsOf(policy.spec).perNodeIPLimit !== 0) this.#classes.set(classNameIn(policy), policy);
  }

  /** The address was made for it, as its status says, or as was seen of one that was deleted before that. */
  mayDelete(object: PoolObject, isMade = false): boolean {
    const isOurs = isMade || isAdopting(object.marks) || fieldsOf(object.status).addressOrigin === 'Created';
    const policy = fieldsOf(this.#classes.get(classNameIn(object))?.spec);
    return policy.routedIPReclaimPolicy === 'Delete' && isOurs;
  }
}
