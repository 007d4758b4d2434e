import { isOfJobs } from '../../machines/model/provider-key.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { isCreating, listed, type PoolContext } from '../../machines/pool/context.ts';
import { asBegun, createdAt } from '../../machines/pool/creation.ts';
import { isFromGroup } from '../../machines/pool/ip-group-offer.ts';
import type { ActorRecord } from '../ports/records.ts';

/** What other pools have, according to the leader's records. Watches may lag behind these, and an object that is gone is not watched. */
export interface Beside {
  /** Addresses that they list, have been assigned or created, and those that they give back. */
  readonly addresses: readonly Address[];
  /** The object for which an address is being created that is not published yet, in the form shown to users; null for none. */
  readonly making: string | null;
}

type Cells = Iterable<readonly [ActorId, { readonly records: ReadonlyMap<ActorId, ActorRecord> }]>;

export function beside(own: ActorId, cells: Cells): Beside {
  const others = [...cells].flatMap(([id, { records }]) => {
    const record = id === own ? undefined : records.get(id);
    return record?.chart === 'pool' ? [record.snapshot.context as unknown as PoolContext] : [];
  });
  const making = others.find(isMaking)?.ref;
  return {
    addresses: others.flatMap(addressesOf),
    making: making ? `${making.kind} ${making.namespace}/${making.name}` : null,
  };
}

const addressesOf = (context: PoolContext): readonly Address[] =>
  [...listed(context), ...context.created, context.exposed?.bound ?? [], context.acquiring.givenBack ?? []].flat();

/** What was created will become known by itself. A call in doubt is resolved only by a list: pools that check one do not wait for each other. */
function isMaking(context: PoolContext): boolean {
  const { unpublished, inDoubtUntil } = context.acquiring;
  if (!isCreating(context.acquiring) || unpublished !== null || isFromGroup(asBegun(context))) return false;
  return inDoubtUntil === null || isOfJobs(createdAt(context));
}
