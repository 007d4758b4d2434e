import type { ActorId, Address } from '../../machines/model/types.ts';
import { entries, type PoolContext } from '../../machines/pool/context.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import type { ActorRecord } from '../ports/records.ts';
import type { Envelope } from '../runtime/turn.ts';
import { registryFor } from './claims.ts';
import type { ObservedPools } from './pool-cache.ts';
import type { Quota } from './quota.ts';
import { poolContextIn } from './record-view.ts';

type Records = ReadonlyMap<ActorId, ActorRecord>;

/** What the cell of an object receives about its spec, and about the owners of what it asks for. */
export function specFact(
  id: ActorId,
  pool: PoolObject,
  {
    pools,
    providers,
    quota,
  }: { readonly pools: ObservedPools; readonly providers: ProviderDirectory; readonly quota: Pick<Quota, 'roomOf' | 'retainedFor'> },
): Envelope['event'] {
  const room = quota.roomOf(id, pool);
  const retained = quota.retainedFor(id, pool);
  const nameOwner = pools.nameOwner(id);
  return {
    type: 'SPEC_OBSERVED',
    ...pools.specOf(pool, retained === null),
    generation: pool.generation,
    registry: { ...registryFor(pool, pools.providerOf(pool), providers), ...registryFor(pool, pools.accountOf(pool), providers) },
    conflicts: pools.conflicts(id),
    ...(nameOwner && { nameOwner }),
    ...(room && { room }),
    ...(retained && { retained }),
  };
}

/** Nothing was done for the RoutedIP that would have to be undone. */
export function isBare(id: ActorId, records: Records | null): boolean {
  const context = poolContextIn(records, id);
  return context?.exposed?.bound === null && context.acquiring.intent === null && !context.acquiring.intending;
}

/** It runs nothing yet, whatever spec it received. */
export const isUnprimed = (id: ActorId, records: Records | null): boolean =>
  ['Priming', 'Invalid'].includes(String(records?.get(id)?.snapshot.value)) &&
  entries(poolContextIn(records, id)?.members ?? {}).length === 0;

/** Addresses that it runs by its records and another object has by now, whether its own object still names them or not. */
export const lostBy = (id: ActorId, context: PoolContext | undefined, pools: Pick<ObservedPools, 'ownerOf'>): readonly Address[] =>
  entries(context?.members ?? {}).flatMap(([address, { retiring }]) =>
    retiring || [null, id].includes(pools.ownerOf(address)) ? [] : [address],
  );

/** Uid of the object that the records are about. */
export function uidOf(id: ActorId, records: Records): string | null {
  const context = records.get(id)?.snapshot.context as { readonly ref?: { readonly uid?: string } } | undefined;
  return context?.ref?.uid ?? null;
}
